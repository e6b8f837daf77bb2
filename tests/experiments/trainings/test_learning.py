"""What SFT learns in the situations that people reported."""

import re

import pytest

from experiments.trainings.command import enacted
from experiments.trainings.enacting import Case
from experiments.trainings.learning import CASES

RIGHT = {
    14: r"16 of 16 rows are trained on",
    15: (
        r"a template that ends in the eos: 4 of 4 answers stop; a new line: refused: the chat "
        r"template ends an assistant's turn with '\\n', .*; another token: refused: .*: set "
        r"trainer.eos_token to '<\|im_end\|>'"
    ),
    24: r"refused: row 1 of the data has answers .* set data.target to answers or to reference",
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.enact.__name__}-{case.policy}")
def test_what_sft_learns_is_said(case: Case) -> None:
    ((_, now),) = enacted([case])
    assert re.match(RIGHT[case.row], now), now
