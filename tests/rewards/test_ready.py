"""spanreward.posh and the others in TRL's own command, which takes rewards by their names."""

import json
from pathlib import Path

import pytest

import spanreward
from experiments.mistakes.mistakes import prepare
from spanreward.rewards.judges import Judge, MatchJudge
from spanreward.rewards.metric_names import METRIC_NAMES, check_metric
from spanreward.rewards.metrics import METRICS
from spanreward.rewards.ready import _shared_judge

TEXTS = ["A red circle.", "A blue circle."]
REFERENCES = ["A red circle."] * 2


def test_names_are_known_before_the_metrics_are_imported() -> None:
    assert set(METRIC_NAMES) == {*METRICS, "remote"}
    for name in ("posh", "mine.py:Colour"):
        check_metric(name)


def test_every_metric_is_ready_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPANREWARD_JUDGE", raising=False)
    monkeypatch.delenv("SPANREWARD_FILE", raising=False)
    assert {getattr(spanreward, name).__name__ for name in METRICS} == set(METRICS)
    expected = spanreward.PoshReward("match")([""] * 2, TEXTS, reference=REFERENCES)
    ids = [[1]] * 2
    assert spanreward.posh([""] * 2, TEXTS, completion_ids=ids, solution=REFERENCES) == expected
    assert spanreward.posh([""] * 2, TEXTS, solution=TEXTS, reference=REFERENCES) == expected


def test_the_environment_says_judge_options_and_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "reward.yaml"
    file.write_text("options: {score: recall}\ncolumns: {reference: caption}\n")
    monkeypatch.setenv("SPANREWARD_FILE", str(file))
    expected = spanreward.PoshReward("match", score="recall")([""] * 2, TEXTS, reference=REFERENCES)
    assert spanreward.posh([""] * 2, TEXTS, caption=REFERENCES, reference=TEXTS) == expected
    file.write_text("judgee: match\n")
    with pytest.raises(ValueError, match=r"reward.yaml: 'judgee': .*'judge'"):
        _ = spanreward.posh
    monkeypatch.delenv("SPANREWARD_FILE")
    monkeypatch.setenv("SPANREWARD_JUDGE", "vlm:MODEL")
    with pytest.raises(ValueError, match="unknown judge 'vlm:MODEL'"):
        _ = spanreward.posh


def test_metrics_share_their_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def counted(name: str, **options: object) -> Judge:
        made.append(name)
        return MatchJudge()

    monkeypatch.setattr("spanreward.rewards.ready.load_judge", counted)
    _shared_judge.cache_clear()
    monkeypatch.setenv("SPANREWARD_JUDGE", "encoder:FOLDER")
    for name in ("posh", "lave"):
        getattr(spanreward, name)
    assert made == ["encoder:FOLDER"]
    _shared_judge.cache_clear()


def test_two_steps_of_trl_grpo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grpo = pytest.importorskip("trl.scripts.grpo")
    prepare(tmp_path)
    (tmp_path / "data").mkdir()
    row = '{"prompt": "Describe it.", "solution": "A red circle and %d stars."}\n'
    rows = "".join(row % number for number in range(8))
    (tmp_path / "data" / "train.jsonl").write_text(rows)
    monkeypatch.delenv("SPANREWARD_JUDGE", raising=False)
    words = f"""
        --model_name_or_path {tmp_path}/reader --dataset_name {tmp_path}/data --reward_funcs spanreward.posh
        --output_dir {tmp_path}/out --max_steps 2 --per_device_train_batch_size 4 --num_generations 4
        --max_completion_length 8 --use_cpu true --bf16 false --report_to none --logging_steps 1
    """
    grpo.main(*grpo.make_parser().parse_args_and_config(words.split()))
    (state,) = (tmp_path / "out").glob("checkpoint-2/trainer_state.json")
    logged = json.loads(state.read_text())["log_history"]
    assert [line["step"] for line in logged if "rewards/posh/mean" in line] == [1, 2]
