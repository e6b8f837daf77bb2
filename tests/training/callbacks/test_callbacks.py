"""The callbacks on a user's GRPOTrainer, for real."""

import logging
import re
from pathlib import Path
from typing import Any

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
)
from spanreward.training.data.load import load_data
from spanreward.training.grpo.recorder import Recorder
from spanreward.training.policy import load_policy
from tests.support.custom_trainer import WarmUpTrainer
from tests.support.files import read_lines
from tests.support.steps import arguments, step_of
from tests.support.tiny_trainer import COMMON, Scored

DATA = scenes_part(count=16)
LENGTH = "health/length_ratio"
HEALTH = {"saturated_fraction", "zero_variance_groups", "length_ratio", "degenerate_fraction"}


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


def test_a_users_own_trainer_with_our_rewards_and_callbacks(
    tmp_path: Path, dataset: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    def length(completions: list[Any], **columns: Any) -> list[float]:
        return [1.0] * len(completions)

    posh = Recorder(PoshReward(MatchJudge()))
    health, file = RewardHealthCallback([posh]), MetricsFile(tmp_path / "metrics.jsonl")
    callbacks = [SpanTableCallback([posh], every=2), health, file]
    trainer = grpo(tmp_path, dataset, [posh, length], callbacks)
    with caplog.at_level(logging.WARNING, "spanreward.training"):
        trainer.train()
    lines = [line for line in trainer.state.log_history if "reward" in line]
    assert [line["warm_up"] for line in lines] == [0.25, 0.5]
    for line in lines:
        assert {name[7:] for name in line if name.startswith("health/")} == HEALTH
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
