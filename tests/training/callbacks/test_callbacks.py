"""The callbacks on a user's GRPOTrainer, for real, with W&B offline."""

import logging
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import pytest
import torch
from datasets import Dataset
from transformers import TrainerControl, TrainerState
from trl import GRPOConfig

from experiments.scenes.parts import TINY, scenes_part
from spanreward import (
    MatchJudge,
    MetricsFile,
    PoshReward,
    RewardHealthCallback,
    SpanTableCallback,
    Status,
    Verdict,
)
from spanreward.training.data.load import load_data
from spanreward.training.grpo.recorder import Recorder
from spanreward.training.policy import load_policy
from tests.support.custom_trainer import WarmUpTrainer
from tests.support.files import read_lines
from tests.support.steps import arguments, step_of
from tests.support.tiny_trainer import COMMON, Scored, advantages_of, make_trainer

DATA = scenes_part(count=16)
LENGTH = "health/length_ratio"
HEALTH = {"health/saturated_fraction", "health/zero_variance_groups"}
HEALTH |= {LENGTH, "health/degenerate_fraction"}


class CountingJudge(MatchJudge):
    """Knows whether it was started, awake and closed."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[str] = []
        self.depth = 0

    def start(self) -> None:
        self.events.append("start")

    def close(self) -> None:
        self.events.append("close")

    def __enter__(self) -> Self:
        self.events += ["wake"] if self.depth == 0 else []
        self.depth += 1
        return self

    def __exit__(self, *args: Any) -> None:
        self.depth -= 1
        self.events += ["sleep"] if self.depth == 0 else []


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load_data(DATA)


def grpo(
    path: Path, dataset: Dataset, rewards: list[Any], callbacks: list[Any], **settings: Any
) -> WarmUpTrainer:
    model, processor = load_policy(TINY, seed=1)
    args = GRPOConfig(**{**COMMON, "output_dir": str(path), **settings})
    parts: Any = {"model": model, "processing_class": processor, "train_dataset": dataset}
    return WarmUpTrainer(reward_funcs=rewards, args=args, callbacks=callbacks, **parts)


def scored(score: float = 0.5, name: str = "scored") -> Recorder:
    return Recorder(Scored(lambda sample: score, name))


def by_length() -> Scored:
    return Scored(lambda sample: len(sample.completion) % 10 / 10)


def values(lines: Iterable[dict[str, Any]], key: str) -> list[Any]:
    """What those lines that have the key say."""
    return [line[key] for line in lines if key in line]


def test_a_users_own_trainer_with_our_rewards_and_callbacks(
    tmp_path: Path, dataset: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    def length(completions: list[Any], **columns: Any) -> list[float]:
        return [1.0] * len(completions)

    judge = CountingJudge()
    posh = Recorder(PoshReward(judge))
    health, file = RewardHealthCallback([posh]), MetricsFile(tmp_path / "metrics.jsonl")
    callbacks = [SpanTableCallback([posh], every=2), health, file]
    trainer = grpo(tmp_path, dataset, [posh, length], callbacks)
    with caplog.at_level(logging.WARNING, "spanreward.training"):
        trainer.train()
    lines = [line for line in trainer.state.log_history if "reward" in line]
    assert [line["warm_up"] for line in lines] == [0.25, 0.5]
    for line in lines:
        assert {name for name in line if name.startswith("health/")} == HEALTH
        assert line["posh/failed_fraction"] == 0
        assert line["health/zero_variance_groups"] == line["frac_reward_zero_std"]
        assert "posh/precision" in line
    written = read_lines(tmp_path / "metrics.jsonl")
    assert [line["step"] for line in written] == [1, 2, 2]
    assert written[0][LENGTH] == lines[0][LENGTH]
    assert [path.name for path in (tmp_path / "spans").iterdir()] == ["step-000002.html"]
    page = (tmp_path / "spans" / "step-000002.html").read_text(encoding="utf-8")
    assert page.count('<section class="example">') == 8
    assert "above its group" in page
    assert judge.events == ["wake", "sleep"] * 2
    # an untrained policy may write anything; it is told once a process
    foreign = "spanreward.rewards.language.foreign"
    assert not [record for record in caplog.records if record.name != foreign]
    assert not health.stopped


def test_callbacks_change_nothing_of_the_training(tmp_path: Path, dataset: Dataset) -> None:
    weights = []
    reward = Recorder(by_length())
    watching = [SpanTableCallback([reward], every=1), RewardHealthCallback([reward])]
    for asked, callbacks in ((by_length(), []), (reward, watching)):
        trainer = grpo(tmp_path / str(len(callbacks)), dataset, [asked], callbacks)
        trainer.train()
        weights.append(torch.cat([one.detach().flatten() for one in trainer.model.parameters()]))
    assert torch.equal(*weights)


def test_a_recorder_is_taken_by_span_grpo_as_it_is_and_knows_the_advantages(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    reward = Recorder(Scored(lambda sample: 0.25 if "star" in sample.completion else 0.75))
    trainer = make_trainer(tmp_path, dataset, [reward])
    texts = ["A star.", "A square.", "A square.", "A square."] * 2
    advantages_of(trainer, dataset, texts, monkeypatch)
    assert trainer.recorders == [reward]
    low = (0.25 - 0.625) / (0.25 + 1e-4)
    assert reward.advantages == pytest.approx([low, *[0.125 / (0.25 + 1e-4)] * 3] * 2, rel=1e-5)
    reward([""] * 8, ["A star."] * 8)
    assert reward.advantages is None


def test_a_dead_judge_stops_a_stock_trainer_in_one_sentence(
    tmp_path: Path, dataset: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    dead = Verdict(None, Status.TIMEOUT, note="no answer within 5 s")
    reward = Recorder(Scored(lambda sample: dead))
    health = RewardHealthCallback([reward])
    callbacks = [health, SpanTableCallback([reward], every=1)]
    trainer = grpo(tmp_path, dataset, [reward], callbacks, max_steps=3)
    with caplog.at_level(logging.WARNING, "spanreward.training"):
        trainer.train()
    assert trainer.state.global_step == 1
    assert health.stopped.startswith("100% of the batch's")
    assert "(limit 50%)" in health.stopped
    assert health.stopped.endswith(": no answer within 5 s")
    (error,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert error.getMessage() == f"training stops at step 1: {health.stopped}"
    page = (tmp_path / "spans" / "step-000001.html").read_text(encoding="utf-8")
    assert "8 could not be judged" in page
    assert page.count("timeout: not counted") == 2


@pytest.mark.parametrize("kind", [SpanTableCallback, RewardHealthCallback])
@pytest.mark.parametrize(("asked", "unasked"), [([0], "other"), ([], "asked and other")])
def test_recorders_that_no_trainer_asks_are_named_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: Any, asked: list[int], unasked: str
) -> None:
    recorders = [scored(name="asked"), scored(name="other")]
    callback = kind(recorders)
    callback.on_train_begin(arguments(tmp_path), TrainerState(), TrainerControl())
    with caplog.at_level(logging.WARNING, "spanreward.training"):
        for step in (1, 2):
            with step_of(callback, arguments(tmp_path), step):
                for number in asked:
                    recorders[number]([""], ["A star."])
    (record,) = caplog.records
    told = f"{kind.__name__} .* by {unasked} in step 1: .*nothing to watch"
    assert re.match(told, record.getMessage())


@pytest.mark.parametrize("kind", [SpanTableCallback, RewardHealthCallback])
@pytest.mark.parametrize("recorders", [[], [Scored(lambda sample: 0.5)]])
def test_a_reward_that_records_nothing_is_refused(kind: Any, recorders: list[Any]) -> None:
    told = rf"{kind.__name__} watches Recorders.*reward = Recorder\(PoshReward"
    with pytest.raises(ValueError, match=told):
        kind(recorders)


def test_wandb_offline_holds_the_numbers_and_the_page(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb = pytest.importorskip("wandb")
    from tests.support.wandb_file import history

    for name, value in {"MODE": "offline", "SILENT": "true", "CONSOLE": "off"}.items():
        monkeypatch.setenv(f"WANDB_{name}", value)
    for name in ("DIR", "DATA_DIR", "CACHE_DIR", "CONFIG_DIR"):
        monkeypatch.setenv(f"WANDB_{name}", str(tmp_path))
    reward = Recorder(PoshReward(MatchJudge()))
    callbacks = [SpanTableCallback([reward], every=2), RewardHealthCallback([reward])]
    to = {"report_to": "wandb", "run_name": "callbacks"}
    trainer = grpo(tmp_path / "run", dataset, [reward], callbacks, **to)
    try:
        trainer.train()
    finally:
        wandb.finish()
        wandb.teardown()  # its process has written all when it has ended, not before
    rows = history(tmp_path / "wandb")
    seen = [row for row in rows if f"train/{LENGTH}" in row]
    assert values(seen, f"train/{LENGTH}") == values(trainer.state.log_history, LENGTH)
    assert [row["train/global_step"] for row in seen] == [1, 2]
    (page,) = [row for row in rows if "spans.path" in row]
    assert page["spans._type"] == "html-file"
    assert page["train/global_step"] == 2
