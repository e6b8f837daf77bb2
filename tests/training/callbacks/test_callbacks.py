"""The callbacks on stock TRL trainers, for real: a user's GRPOTrainer and SFTTrainer, W&B offline,
TensorBoard.
"""

import json
import logging
import math
import re
from pathlib import Path
from typing import Any, Self

import pytest
import torch
from datasets import Dataset
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from trl import GRPOConfig, SFTConfig, SFTTrainer

from experiments.scenes.parts import TINY, scenes_of, scenes_part
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
from tests.support.tiny_trainer import COMMON, Scored, advantages_of, make_trainer

DATA = scenes_part(count=16)
HEALTH = {"saturated_fraction", "length_ratio", "degenerate_fraction", "zero_variance_groups"}


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
        if self.depth == 0:
            self.events.append("wake")
        self.depth += 1
        return self

    def __exit__(self, *args: Any) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.events.append("sleep")


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load_data(DATA)


@pytest.fixture(scope="module")
def scenes() -> dict[str, Any]:
    return {str(number): scene for number, scene in enumerate(scenes_of(DATA), start=1)}


def grpo(
    path: Path, dataset: Dataset, rewards: list[Any], callbacks: list[Any], **settings: Any
) -> WarmUpTrainer:
    model, processor = load_policy(TINY, seed=1)
    args = GRPOConfig(**{**COMMON, "output_dir": str(path), **settings})
    return WarmUpTrainer(
        model=model,
        processing_class=processor,
        reward_funcs=rewards,
        args=args,
        train_dataset=dataset,
        callbacks=callbacks,
    )


def sft(path: Path, **settings: Any) -> SFTTrainer:
    model, processor = load_policy(TINY, seed=1)
    settings = {
        k: v for k, v in COMMON.items() if k not in ("num_generations", "max_completion_length")
    } | settings
    args = SFTConfig(output_dir=str(path), max_length=None, **settings)
    return SFTTrainer(
        model=model, processing_class=processor, args=args, train_dataset=load_data(DATA, True)
    )


def test_a_users_own_trainer_with_our_rewards_and_callbacks(
    tmp_path: Path, dataset: Dataset, scenes: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    def length(completions: list[Any], **columns: Any) -> list[float]:
        return [1.0] * len(completions)

    judge = CountingJudge()
    posh = Recorder(PoshReward(judge))
    judge.start()
    health = RewardHealthCallback([posh])
    callbacks = [
        SpanTableCallback([posh], every=2),
        health,
        MetricsFile(tmp_path / "metrics.jsonl"),
    ]
    trainer = grpo(tmp_path, dataset, [posh, length], callbacks)
    with caplog.at_level(logging.WARNING, "spanreward.training"):
        trainer.train()
    lines = [line for line in trainer.state.log_history if "reward" in line]
    assert [line["warm_up"] for line in lines] == [0.25, 0.5]
    for line in lines:
        assert {
            name.removeprefix("health/") for name in line if name.startswith("health/")
        } == HEALTH
        assert line["posh/failed_fraction"] == 0
        assert line["health/zero_variance_groups"] == line["frac_reward_zero_std"]
        assert "posh/precision" in line
    written = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in written] == [1, 2, 2]
    assert written[0]["health/length_ratio"] == lines[0]["health/length_ratio"]
    assert [path.name for path in (tmp_path / "spans").iterdir()] == ["step-000002.html"]
    page = (tmp_path / "spans" / "step-000002.html").read_text(encoding="utf-8")
    assert page.count('<section class="example">') == 8
    assert "above its group" in page
    assert judge.events == ["start", *["wake", "sleep"] * 2]
    # an untrained policy may write anything; it is told once a process
    foreign = "spanreward.rewards.language.foreign"
    assert not [record for record in caplog.records if record.name != foreign]
    assert not health.stopped


def test_callbacks_change_nothing_of_the_training(tmp_path: Path, dataset: Dataset) -> None:
    weights = []
    for watched in (False, True):
        reward: Any = Scored(lambda sample: len(sample.completion) % 10 / 10)
        reward = Recorder(reward) if watched else reward
        callbacks = (
            [SpanTableCallback([reward], every=1), RewardHealthCallback([reward])]
            if watched
            else []
        )
        trainer = grpo(tmp_path / str(watched), dataset, [reward], callbacks)
        trainer.train()
        weights.append(
            torch.cat([parameter.detach().flatten() for parameter in trainer.model.parameters()])
        )
    assert torch.equal(*weights)


def test_a_recorder_is_taken_by_span_grpo_as_it_is_and_knows_the_advantages(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    reward = Recorder(Scored(lambda sample: 0.25 if "star" in sample.completion else 0.75))
    trainer = make_trainer(tmp_path, dataset, [reward])
    advantages_of(
        trainer, dataset, ["A star.", "A square.", "A square.", "A square."] * 2, monkeypatch
    )
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
    trainer = grpo(
        tmp_path, dataset, [reward], [health, SpanTableCallback([reward], every=1)], max_steps=3
    )
    with caplog.at_level(logging.WARNING, "spanreward.training"):
        trainer.train()
    assert trainer.state.global_step == 1
    assert health.stopped.startswith("100% of the batch's")
    assert "(limit 50%)" in health.stopped
    assert health.stopped.endswith(": no answer within 5 s")
    assert [
        record.getMessage() for record in caplog.records if record.levelno == logging.ERROR
    ] == [f"training stops at step 1: {health.stopped}"]
    page = (tmp_path / "spans" / "step-000001.html").read_text(encoding="utf-8")
    assert "8 could not be judged" in page
    assert page.count("timeout: not counted") == 2


def test_a_callback_that_sees_nothing_says_what_to_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trainer = sft(tmp_path, max_steps=2)
    trainer.add_callback(SpanTableCallback([Recorder(Scored(lambda sample: 0.5))], every=1))
    with caplog.at_level(logging.WARNING, "spanreward.training"):
        trainer.train()
    (record,) = caplog.records
    assert re.match("SpanTableCallback .* by scored in step 1", record.getMessage())
    assert "nothing to watch" in record.getMessage()


def test_the_recorder_that_no_trainer_asks_is_named(
    tmp_path: Path, dataset: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    asked = Recorder(Scored(lambda sample: 0.5, name="asked"))
    other = Recorder(Scored(lambda sample: 0.5, name="other"))
    health = RewardHealthCallback([asked, other])
    trainer = make_trainer(tmp_path, dataset, [asked], stock=True, max_steps=3)
    trainer.add_callback(health)
    with caplog.at_level(logging.WARNING, "spanreward.training"):
        trainer.train()
    (record,) = caplog.records
    assert re.match("RewardHealthCallback .* by other in step 1", record.getMessage())


@pytest.mark.parametrize("kind", [SpanTableCallback, RewardHealthCallback])
@pytest.mark.parametrize("recorders", [[], [Scored(lambda sample: 0.5)]])
def test_a_reward_that_records_nothing_is_refused(kind: Any, recorders: list[Any]) -> None:
    with pytest.raises(
        ValueError, match=rf"{kind.__name__} watches Recorders.*reward = Recorder\(PoshReward"
    ):
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
    trainer = grpo(
        tmp_path / "run", dataset, [reward], callbacks, report_to="wandb", run_name="callbacks"
    )
    try:
        trainer.train()
    finally:
        wandb.finish()
        wandb.teardown()  # its process has written all when it has ended, not before
    rows = history(tmp_path / "wandb")
    logged = [line for line in trainer.state.log_history if "health/length_ratio" in line]
    seen = [row for row in rows if "train/health/length_ratio" in row]
    assert [row["train/health/length_ratio"] for row in seen] == [
        line["health/length_ratio"] for line in logged
    ]
    assert [row["train/global_step"] for row in seen] == [1, 2]
    (page,) = [row for row in rows if "spans.path" in row]
    assert page["spans._type"] == "html-file"
    assert page["train/global_step"] == 2


def test_tensorboard_holds_the_numbers(tmp_path: Path, dataset: Dataset) -> None:
    reward = Recorder(Scored(lambda sample: len(sample.completion) % 10 / 10))
    callbacks = [SpanTableCallback([reward], every=1), RewardHealthCallback([reward])]
    trainer = grpo(tmp_path, dataset, [reward], callbacks, report_to="tensorboard", max_steps=1)
    trainer.train()
    (folder,) = (tmp_path / "runs").iterdir()
    events = EventAccumulator(str(folder)).Reload()
    (length,) = events.Scalars("train/health/length_ratio")
    (line,) = [line for line in trainer.state.log_history if "health/length_ratio" in line]
    assert math.isclose(length.value, line["health/length_ratio"], rel_tol=1e-6)


def test_trackio_holds_the_numbers(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = pytest.importorskip("trackio.sqlite_storage")
    # the environment is read at import, long ago
    monkeypatch.setattr(storage, "TRACKIO_DIR", tmp_path / "trackio")
    reward = Recorder(Scored(lambda sample: len(sample.completion) % 10 / 10))
    settings = {
        "report_to": "trackio",
        "project": "callbacks",
        "run_name": "health",
        "max_steps": 1,
    }
    trainer = grpo(tmp_path, dataset, [reward], [RewardHealthCallback([reward])], **settings)
    trainer.train()
    logged = [
        line["health/length_ratio"]
        for line in trainer.state.log_history
        if "health/length_ratio" in line
    ]
    lines = storage.SQLiteStorage.get_logs("callbacks", "health")
    assert [
        line["train/health/length_ratio"] for line in lines if "train/health/length_ratio" in line
    ] == logged
