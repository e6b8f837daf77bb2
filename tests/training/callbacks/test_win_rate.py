"""A win rate against an anchor, while SFT and GRPO train: what is logged, stopped and refused."""

import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from trl import SFTConfig, SFTTrainer

from experiments.scenes.parts import TINY, scenes_part
from spanreward import MatchJudge, PairwiseReward, PoshReward, WinRateCallback
from spanreward.rewards import Sample, Status, Verdict
from spanreward.training.callbacks.win_rate import WIN_RATE_KEY, head_to_head
from spanreward.training.data.load import load_data
from spanreward.training.evaluation.answer_scores.training_cost import Compute, training_of
from spanreward.training.evaluation.page.report import write_report
from spanreward.training.grpo.recorder import Recorder
from spanreward.training.policy import load_policy
from spanreward.training.run import run
from tests.support.dapo_run import quickstart
from tests.support.files import read_lines, write_lines
from tests.support.invented_report import invented_comparison, invented_examples
from tests.support.pair_judges import PairJudge
from tests.support.tiny_trainer import Scored, make_trainer, scenes

ROWS = list(load_data(scenes_part(count=6, split="test")))
ENDS = ("", "_low", "_high", "_difference", "_difference_low", "_difference_high", "_prompts")
KEYS = {f"{WIN_RATE_KEY}{end}" for end in ENDS}


def length(sample: Sample) -> float:
    return min(len(sample.completion) / 1000, 1.0)


def sft(path: Path, **settings: Any) -> SFTTrainer:
    model, processor = load_policy(TINY, seed=1)
    small = {"per_device_train_batch_size": 4, "learning_rate": 1e-2, "seed": 1, "max_length": None}
    quiet = {"report_to": "none", "bf16": False, "use_cpu": True, "save_strategy": "no"}
    args = SFTConfig(output_dir=str(path), **{**small, **quiet, **settings})
    data = load_data(scenes_part(count=8), True)
    return SFTTrainer(model, args, train_dataset=data, processing_class=processor)


def watched(trainer: Any, reward: Any = None, **options: Any) -> Any:
    """The trainer, with a win rate of a few tokens."""
    reward = reward or Recorder(Scored(length))
    trainer.add_callback(WinRateCallback(trainer, reward, ROWS, **{"max_tokens": 8, **options}))
    return trainer


def logged(trainer: Any) -> list[dict[str, float]]:
    return [line for line in trainer.state.log_history if WIN_RATE_KEY in line]


def curve(trainer: Any) -> list[tuple[float, float]]:
    return [(line["step"], line[WIN_RATE_KEY]) for line in logged(trainer)]


def test_an_anchor_of_other_rows_is_refused(tmp_path: Path) -> None:
    """The kept answers have the rows' numbers for ids, and their fingerprints."""
    trainer = sft(tmp_path, max_steps=1)
    rows = [{name: value for name, value in row.items() if name != "id"} for row in ROWS]
    trainer.add_callback(WinRateCallback(trainer, Scored(length), rows, max_tokens=4))
    trainer.train()
    for kept in sorted((tmp_path / "win_rate").iterdir()):
        WinRateCallback(trainer, Scored(length), rows, anchor=kept)
        with pytest.raises(ValueError, match=r"the data's '1': .* row_fingerprint"):
            WinRateCallback(trainer, Scored(length), rows[::-1], anchor=kept)


def test_a_full_disk_ends_no_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(path: Path, text: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("spanreward.training.callbacks.win_rate.write_whole", full)
    trainer = watched(sft(tmp_path, max_steps=1), every=2)
    trainer.train()
    assert [step for step, _ in curve(trainer)] == [0, 1]
    assert "answers of step 1 are not kept: [Errno 28]" in caplog.text


@pytest.mark.parametrize("kind", ["sft", "grpo"])
def test_both_trainers_log_a_curve_and_keep_the_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    steps = {"max_steps": 3, "logging_steps": 2}
    trainer = (
        sft(tmp_path, **steps)
        if kind == "sft"
        else make_trainer(tmp_path, scenes(8), [Scored(length)], **steps)
    )
    watched(trainer, every=2, max_tokens=12).train()
    told = "win rate by scored: 3 times, .* 6 prompts .* 12 tokens"
    assert re.search(told, capsys.readouterr().err)
    assert [step for step, _ in curve(trainer)] == [0, 2, 3]
    lines = logged(trainer)
    for line in lines:
        assert line.keys() >= KEYS
        low, rate, high = (line[f"{WIN_RATE_KEY}{end}"] for end in ("_low", "", "_high"))
        assert 0 <= low <= rate <= high <= 1
    first = [lines[0][f"{WIN_RATE_KEY}{end}"] for end in ("", "_difference", "_prompts")]
    assert first == [0.5, 0.0, 6.0]
    # and its own log is whole
    assert [line["step"] for line in trainer.state.log_history if "loss" in line] == [2]
    kept = {step: read_lines(tmp_path / f"win_rate/step-00000{step}.jsonl") for step in (0, 2, 3)}
    for answers in kept.values():
        assert [line["id"] for line in answers] == [row["id"] for row in ROWS]
    before, after = (np.array([len(line["completion"]) for line in kept[n]]) for n in (0, 3))
    gaps = after / 1000 - before / 1000
    assert lines[-1][f"{WIN_RATE_KEY}_difference"] == pytest.approx(gaps.mean())
    assert lines[-1][WIN_RATE_KEY] == pytest.approx((0.5 + 0.5 * np.sign(gaps)).mean())


def test_it_changes_nothing_of_the_training(tmp_path: Path) -> None:
    """The same losses, rewards and weights with it and without."""
    found = []
    for name in ("with", "without"):
        trainer = make_trainer(tmp_path / name, scenes(8), [Scored(length)], max_steps=3)
        if name == "with":
            watched(trainer, every=1, max_tokens=12)
        trainer.train()
        lines = [line for line in trainer.state.log_history if "loss" in line]
        same = ("loss", "reward", "grad_norm", "completions/mean_length", "entropy")
        weights = [weight.sum().item() for weight in trainer.model.parameters()]
        found.append(([{key: line[key] for key in same} for line in lines], weights))
    assert len(found[0][0]) == 3
    assert found[0] == found[1]


def test_a_pairwise_reward_against_a_file(tmp_path: Path) -> None:
    """The judge prefers the anchor, which is the reference, wherever it is shown."""
    data = load_data(scenes_part(count=8, split="test"))
    rows = [{**row, "context": row["reference"][0]} for row in data]
    lines = [{"id": row["id"], "completion": row["context"]} for row in rows]
    anchor = write_lines(tmp_path / "anchor.jsonl", lines)
    texts = {row["context"] for row in rows}
    judge = PairJudge(lambda probe: "A" if probe.first in texts else "B")
    reward = PairwiseReward(judge, anchor="anchor", evidence="context")
    trainer = make_trainer(tmp_path / "out", scenes(8), [Scored(length)], max_steps=3)
    more: Any = {"every": 1, "anchor": anchor, "max_tokens": 12, "stop": True}
    callback = WinRateCallback(trainer, reward, rows, **more)
    trainer.add_callback(callback)
    trainer.train()
    assert curve(trainer) == [(0, 0.0), (1, 0.0)]  # it never stops before a step
    assert callback.stopped.startswith("the anchor wins: ")
    assert " is 0.00, 0." in callback.stopped
    assert trainer.state.global_step == 1
    # both orders, and the anchor is asked nothing alone
    assert [len(asked) for asked in judge.asked] == [16, 16]
    assert (tmp_path / "out" / "checkpoint-1").is_dir()


def test_a_failed_judge_is_left_out_and_never_a_loss(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    late = Verdict(None, Status.TIMEOUT, note="no answer")
    failing = Scored(lambda sample: late if sample.id in "12" else length(sample))
    trainer = make_trainer(tmp_path, scenes(8), [Scored(length)], max_steps=1)
    watched(trainer, failing, every=1).train()
    assert [line[f"{WIN_RATE_KEY}_prompts"] for line in logged(trainer)] == [4.0, 4.0]
    assert sum("prompts without a score" in record.getMessage() for record in caplog.records) == 1


def test_a_resumed_run_compares_with_the_same_anchor(tmp_path: Path) -> None:
    settings = {"max_steps": 2, "save_strategy": "steps", "save_steps": 1}
    made = [make_trainer(tmp_path, scenes(8), [Scored(length)], **settings) for _ in range(2)]
    trainer, again = (watched(one, every=1) for one in made)
    trainer.train()
    again.train(resume_from_checkpoint=str(tmp_path / "checkpoint-1"))
    assert curve(again) == curve(trainer)


PROMPT = {"prompt": ROWS[0]["prompt"]}


@pytest.mark.parametrize(
    ("reward", "rows", "more", "message"),
    [
        (Scored(length), ROWS, {"every": 0}, r"every >= 1 .*got 0 and 6"),
        (Scored(length), ROWS[:1], {}, r"got 50 and 1"),
        (Scored(length), ROWS, {"prompts": 1}, r"got 50 and 1"),
        (PairwiseReward(MatchJudge()), ROWS, {}, r'PairwiseReward anchor="anchor"'),
        (PoshReward(MatchJudge()), [PROMPT] * 2, {}, r"column 'reference'"),
        (Scored(length), [{"prompt": "Describe."}] * 2, {}, r"row 1 needs a prompt"),
        (Scored(length), [{**ROWS[0], "images": [1, 2]}] * 2, {}, r"row 1 needs a prompt"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_the_training(
    tmp_path: Path, reward: Any, rows: Any, more: Any, message: str
) -> None:
    trainer = make_trainer(tmp_path, scenes(8), [Scored(length)])
    with pytest.raises(ValueError, match=message):
        WinRateCallback(trainer, reward, rows, **more)


def test_the_numbers_by_hand() -> None:
    found = head_to_head(np.array([0.2, -0.1, 0.0, math.nan, 0.3]), [0, 1, 2, 3, 4])
    assert (found[WIN_RATE_KEY], found[f"{WIN_RATE_KEY}_prompts"]) == (0.625, 4.0)
    assert found[f"{WIN_RATE_KEY}_difference"] == pytest.approx(0.1)
    lost = head_to_head(np.array([-0.5, -0.5]), [0, 1])
    assert lost[WIN_RATE_KEY] == 0.0
    assert lost[f"{WIN_RATE_KEY}_high"] > 0.5  # two prompts are no evidence
    assert head_to_head(np.array([-0.5] * 12), list(range(12)))[f"{WIN_RATE_KEY}_high"] < 0.5
    # of one picture
    assert head_to_head(np.array([-0.5] * 12), [0] * 12).keys() == {f"{WIN_RATE_KEY}_prompts"}
    assert head_to_head(np.full(3, math.nan), [0, 1, 2]) == {f"{WIN_RATE_KEY}_prompts": 0.0}


def test_every_rank_has_as_many_rows(tmp_path: Path) -> None:
    trainer = make_trainer(tmp_path, scenes(8), [Scored(length)])
    callback = WinRateCallback(trainer, Scored(length), ROWS)
    shares = []
    for rank in range(4):
        accelerator = SimpleNamespace(num_processes=4, process_index=rank)
        callback.trainer = SimpleNamespace(accelerator=accelerator)  # type: ignore[assignment]
        shares.append(callback._row_numbers_of_rank())
    assert shares == [[0, 4], [1, 5], [2, 0], [3, 1]]


WIN_RATE = {"metric": "posh", "judge": "match", "every": 1, "prompts": 4, "max_tokens": 8}


@pytest.mark.parametrize("algorithm", ["sft", "dapo"])
def test_a_recipe_asks_for_it_and_a_comparison_draws_it(tmp_path: Path, algorithm: str) -> None:
    changes = (f"win_rate={WIN_RATE}", "validation={options: {split: test}}", "trainer.max_steps=1")
    run(quickstart(algorithm, tmp_path / "out", *changes))
    found = training_of(str(tmp_path / "out"))
    assert [line[0] for line in found["win_rate"]] == [0, 1]
    assert found["win_rate"][0][1] == 0.5
    assert all(low <= rate <= high for _, rate, low, high in found["win_rate"])
    side = {"sft": Compute(1, None, [found]), "dapo": Compute(1, None, [{}])}
    comparison = replace(invented_comparison(), compute=side)
    write_report(tmp_path / "report.html", comparison, invented_examples())
    page = (tmp_path / "report.html").read_text()
    assert page.count("<polyline") == 1
    assert "While they trained" in page
    assert "win_rate" not in page


def test_a_damaged_curve_is_named(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text("algorithm: sft\n")
    line = {"step": 1, "eval_win_rate": "high", "eval_win_rate_low": 0}
    write_lines(tmp_path / "metrics.jsonl", [line])
    with pytest.raises(ValueError, match=r"eval_win_rate 'high', .* finite number"):
        training_of(str(tmp_path))
