"""The health callback takes one reward and one problem, and saves the policy where it ends a
training.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from spanreward import RewardHealthCallback
from spanreward.training.grpo.recorder import Recorder
from tests.support.tiny_trainer import Scored, make_trainer, scenes


def test_one_reward_and_one_problem_are_lists_of_one(tmp_path: Path) -> None:
    recorder = Recorder(Scored(lambda _: 0.5))
    assert RewardHealthCallback(recorder, stop_on="runaway").stop_on == {"runaway"}
    with pytest.raises(
        ValueError, match=r"watches Recorders, got \['Scored'\]: make reward = Recorder"
    ):
        RewardHealthCallback(Scored(lambda _: 0.5))  # type: ignore[arg-type]


def test_an_alarm_saves_the_policy(tmp_path: Path) -> None:
    settings = {"save_strategy": "steps", "save_steps": 100, "max_steps": 5}
    trainer = make_trainer(tmp_path, scenes(), [Scored(lambda _: 0.5)], **settings)
    health = RewardHealthCallback(trainer.recorders, stop_on="zero_variance")
    health.limits = replace(health.limits, window=2)
    trainer.add_callback(health)
    trainer.train()
    assert "have the same reward" in health.stopped
    assert (tmp_path / f"checkpoint-{trainer.state.global_step}").is_dir()
