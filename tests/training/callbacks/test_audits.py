"""The alarm of a cascade's audits: by hand, under chance, and where texts farm a student's
weakness.
"""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from transformers import TrainerControl, TrainerState, TrainingArguments

from experiments.scenes.cascade_judges import GullibleStudent, NoisyReferee
from spanreward.rewards import MatchJudge, PoshReward
from spanreward.rewards.experimental.cascade_judge import CascadeJudge
from spanreward.rewards.judges import Judge
from spanreward.training.callbacks.reward_health import Limits, RewardHealthCallback, fall, interval
from spanreward.training.grpo.recorder import Recorder

STEADY = [(40, 38)] * 10


def test_the_interval_is_wilsons() -> None:
    low, high = interval([(40, 30), (60, 60)])  # 90 of 100
    z = 1.959963984540054
    widened = 1 + z * z / 100
    middle, half = (0.9 + z * z / 200) / widened, z * (0.09 / 100 + (z / 200) ** 2) ** 0.5 / widened
    assert (low, high) == pytest.approx((middle - half, middle + half))
    assert interval([]) is interval([(0, 0)] * 3) is interval([(29, 0)]) is None


@pytest.mark.parametrize(
    ("late", "told"),
    [
        ([(40, 38)] * 10, ""),
        ([(40, 36)] * 10, ""),  # .87 to .93, after .93 to .97
        ([(400, 356)] * 10, ""),  # .88 to .90: below the start's interval, and within the margin
        ([(400, 344)] * 10, "85% to 87%"),
        ([(40, 30)] * 10, "71% to 79%"),
        ([(40, 40)] * 10, ""),
        ([(0, 0)] * 10, ""),  # nothing is audited
        ([(2, 0)] + [(3, 3)] * 9, ""),  # few say little
    ],
)
def test_a_fall_is_told_where_the_intervals_do_not_meet(late: Any, told: str) -> None:
    sentence = fall(STEADY + late, window=10, floor=0.5)
    assert bool(sentence) is bool(told)
    if told:
        assert sentence.startswith(
            f"the teacher agrees with the cascade's student on {told} of the audited questions"
        )


def test_the_floor_needs_no_start() -> None:
    bad = [(40, 20)] * 10
    assert "limit 70%" in fall(bad, window=10, floor=0.7)
    assert fall(bad, window=10, floor=0.5) == ""
    assert fall(bad[:9], window=10, floor=0.7) == ""  # the window is not full
    assert fall([], window=10, floor=0.7) == ""


def test_chance_alone_seldom_raises_it() -> None:
    """Runs of 100 steps whose agreement stays at .9: of 200, at most one in twenty."""
    random = np.random.default_rng(0)
    runs = 0
    for _ in range(200):
        audits = [(30, int(agreed)) for agreed in random.binomial(30, 0.9, size=100)]
        runs += any(fall(audits[:step], 10, 0.7) for step in range(10, 101, 5))
    assert runs <= 10


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
    assert "the policy may have found the student's weakness" in health.stopped
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
