"""Situations of training that people reported: trained, refused or stopped with a sentence."""

import re

import pytest

from experiments.trainings.command import enacted
from experiments.trainings.enacting import Case
from experiments.trainings.first_set import CASES

RIGHT = (
    r"trains: 2 steps",
    r"differ by 0 from left padding \(left on the right: [1-9]\.\d+, in [4-8] rows of 8\)",
    r"is not sampled; put in by hand: advantage 0, unusable 0.125; trains: 2 steps",
    r"stops after 5 steps: .*every completion was cut at max_completion_length \(1\)",
    r"picks by eval_reward; given eval_loss: refused: .*GRPO's loss is near 0 whatever was learnt",
    r"posh (0\.\d+) \(bare \1\), lave (1.000) \(bare \2\)",
    r"refused: train_dataset row 1: the prompt ends in an assistant's turn",
    r"is made; warns: span_coef=0.5 has no effect here: only SpanGRPOTrainer",
    r"refused: every reward has the weight 0.* / refused: .*the key 'trainer' stands twice",
    r"the last message is judged: 1.00 \(alone 1.00\)",
)
FIRST = [next(case for case in CASES if case.row == row) for row in range(len(RIGHT))]
LOOP = r"1 steps, 1 calls a row, 0 unaligned; 0 of [1-9]\d* spans on the tool's words"


@pytest.mark.parametrize("case", FIRST, ids=lambda case: case.enact.__name__)
def test_a_reported_situation_is_right_now(case: Case) -> None:
    ((_, now),) = enacted([case])
    assert re.match(RIGHT[case.row], now), now


def test_trls_own_loop_around_an_environment_trains() -> None:
    ((_, now),) = enacted(CASES[-1:])
    assert re.match(LOOP, now), now
