"""The alarm of a cascade's audits where texts farm a student's weakness."""

import logging
from collections.abc import Sequence
from typing import Any

import pytest
from transformers import TrainerControl, TrainerState

from experiments.scenes.cascade_judges import GullibleStudent, NoisyReferee
from spanreward.rewards import MatchJudge, PoshReward
from spanreward.rewards.experimental.cascade_judge import CascadeJudge
from spanreward.rewards.judges import Judge
from spanreward.training.callbacks.reward_health import RewardHealthCallback
from spanreward.training.grpo.recorder import Recorder
from spanreward.training.health import Limits
from tests.support.steps import arguments, step_of

REFERENCE = "There is a small red star at the top edge. There is a large blue circle in the center."
HONEST = [f"{sentence}." for sentence in REFERENCE.rstrip(".").split(". ")]
FARMING = ["There is a star. A large green square is at the left edge."]
FARMING += ["A star and a small yellow triangle."]


def health_of(judge: Judge, tmp_path: Any) -> Any:
    """Returns the callback, what each step logged, and the step that it ended, if any."""
    recorder = Recorder(PoshReward(judge))
    health = RewardHealthCallback([recorder], limits=Limits(window=3), stop_on=["audit"])
    args = arguments(tmp_path)
    health.on_train_begin(args, TrainerState(), TrainerControl())
    lines: list[dict[str, float]] = []
    for number, texts in enumerate(STEPS, start=1):
        lines.append({})
        columns = {"reference": [REFERENCE] * len(texts), "log_metric": lines[-1].__setitem__}
        with step_of(health, args, number) as control:
            recorder(["Describe."] * len(texts), texts, **columns)
        if control.should_training_stop:
            return health, lines, number
    return health, lines, None


def step_texts(texts: Sequence[str], number: int) -> list[str]:
    """Texts that the reward has not seen: it asks no question twice."""
    of_step = enumerate([*texts] * 8)
    return [f"{text} Picture {number} has {place} things." for place, text in of_step]


STEPS = [step_texts(HONEST if number < 6 else FARMING, number) for number in range(12)]


def test_a_policy_that_farms_the_student_ends_the_run(
    tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    judge = CascadeJudge(GullibleStudent("a star"), NoisyReferee(), audit=0.3)
    with caplog.at_level(logging.WARNING):
        health, lines, ended = health_of(judge, tmp_path)
    assert ended is not None
    assert 6 < ended <= 9
    assert "the student's weakness" in health.stopped
    assert lines[-1]["health/audit_high"] < lines[2]["health/audit_low"]
    assert lines[0]["health/audit_low"] < lines[0]["health/audit_high"]


def test_the_same_texts_by_an_honest_student_raise_nothing(tmp_path: Any) -> None:
    judge = CascadeJudge(MatchJudge(), NoisyReferee(), audit=0.3)
    _, lines, ended = health_of(judge, tmp_path)
    assert ended is None
    assert lines[-1]["health/audit_high"] > 0.7
