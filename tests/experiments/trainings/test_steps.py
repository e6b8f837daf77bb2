"""What a step of RL does in the situations that people reported."""

import re

import pytest

from experiments.trainings.command import enacted
from experiments.trainings.enacting import Case
from experiments.trainings.steps import CASES

RIGHT = {
    # each recipe clips: losses differ, and the ratio leaves the region
    10: r"(.*losses differ by up to (?!0,)[\d.e-]+, clip_ratio/high_mean up to 0\.\d+(; )?){2}$",
    11: r"the others keep (0\.(7[5-9]|[89])|1\.).* of their differences, the cut one is last",
    12: r"at 0\.5 refused: top_entropy_quantile=0\.5 .*; at 1 .*, the word's by -",
    13: r"SpanGRPOTrainer: refused: a reward compares the 8 completions of a prompt",
    16: r"16 steps of 60: 16 steps moved weights without a reward",
    17: r"3 of 8 fail: gradient (\d\.\d+), without it \1; warns: watched could not judge",
    18: r"trains: 4 steps of 4, not stopped",
    19: r"0 completions judged, then: refused: no parameter of the policy requires a gradient",
    20: r"KL at step 1 is 1\.\d; warns: the KL before the first update is 1\.\d+ and should be 0",
    21: r"trains: 2 steps",
    22: r"0 of 6 prompts .*; warns: .* the run asks other prompts than the uninterrupted one",
    23: r"2 steps, .*; warns: boom could not judge a completion, .* 'completions'",
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.enact.__name__)
def test_what_a_step_does_is_right_or_said(case: Case) -> None:
    ((_, now),) = enacted([case])
    assert re.match(RIGHT[case.row], now), now
