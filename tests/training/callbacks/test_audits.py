"""The alarm of a cascade's audits where texts farm a student's weakness."""

import logging
from collections.abc import Sequence
from typing import Any

import pytest
from transformers import TrainerControl, TrainerState, TrainingArguments

from experiments.scenes.cascade_judges import GullibleStudent, NoisyReferee
from spanreward.rewards import MatchJudge, PoshReward
from spanreward.rewards.experimental.cascade_judge import CascadeJudge
from spanreward.rewards.judges import Judge
from spanreward.training.callbacks.reward_health import RewardHealthCallback
from spanreward.training.grpo.recorder import Recorder
from spanreward.training.health import Limits

REFERENCE = "There is a small red star at the top edge. There is a large blue circle in the center."
HONEST = [
    "There is a small red star at the top edge.",
    "There is a large blue circle in the center.",
]
FARMING = [
    "There is a star. A large green square is at the left edge.",
    "A star and a small yellow triangle.",
]


def health_of(
    judge: Judge, steps: Sequence[Sequence[str]], tmp_path: Any, stop_on: Sequence[str] = ()
) -> Any:
    """Returns the callback, what each step logged, and the step that it ended, if any."""
    recorder = Recorder(PoshReward(judge))
    health = RewardHealthCallback([recorder], limits=Limits(window=3), stop_on=stop_on)
    args = TrainingArguments(output_dir=str(tmp_path), use_cpu=True, bf16=False)
    health.on_train_begin(args, TrainerState(), TrainerControl())
    lines: list[dict[str, float]] = []
    for number, texts in enumerate(steps, start=1):
        state, control = TrainerState(global_step=number), TrainerControl()
        lines.append({})
        health.on_step_begin(args, state, control)
        prompts, references = ["Describe."] * len(texts), [REFERENCE] * len(texts)
        recorder(prompts, texts, reference=references, log_metric=lines[-1].__setitem__)
        health.on_step_end(args, state, control)
        if control.should_training_stop:
            return health, lines, number
    return health, lines, None


def step_texts(texts: Sequence[str], number: int) -> list[str]:
    """Texts that the reward has not seen: it asks no question twice."""
    return [
        f"{text} Picture {number} has {place} things." for place, text in enumerate([*texts] * 8)
    ]


def test_a_policy_that_farms_the_student_ends_the_run(
    tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    steps = [step_texts(HONEST if number < 6 else FARMING, number) for number in range(12)]
    judge = CascadeJudge(GullibleStudent("a star"), NoisyReferee(), audit=0.3)
    with caplog.at_level(logging.WARNING):
        health, lines, ended = health_of(judge, steps, tmp_path, stop_on=["audit"])
    assert ended is not None
    assert 6 < ended <= 9
    assert "the student's weakness" in health.stopped
    assert lines[-1]["health/audit_high"] < lines[2]["health/audit_low"]
    assert lines[0]["health/audit_low"] < lines[0]["health/audit_high"]


def test_the_same_texts_by_an_honest_student_raise_nothing(tmp_path: Any) -> None:
    steps = [step_texts(HONEST if number < 6 else FARMING, number) for number in range(12)]
    judge = CascadeJudge(MatchJudge(), NoisyReferee(), audit=0.3)
    _, lines, ended = health_of(judge, steps, tmp_path, stop_on=["audit"])
    assert ended is None
    assert lines[-1]["health/audit_high"] > 0.7


def test_without_a_cascade_nothing_is_logged(tmp_path: Any) -> None:
    _, lines, ended = health_of(MatchJudge(), [step_texts(HONEST, 0)], tmp_path, stop_on=["audit"])
    assert ended is None
    assert not [name for name in lines[0] if "audit" in name]
