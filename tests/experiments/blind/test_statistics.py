"""A judge corrected by a few people, and raters' agreement: by hand and published examples."""

import numpy as np
import pytest

from experiments.blind.correction import prediction_powered
from experiments.blind.reliability import krippendorff_alpha


@pytest.mark.parametrize(
    ("people", "rest", "agrees"), [(50, 500, 0.8), (50, 500, 0.55), (100, 2000, 0.9)]
)
def test_a_few_people_correct_a_biased_judge(people: int, rest: int, agrees: float) -> None:
    """The judge is wrong in one direction: alone it misses, corrected it covers."""
    rng = np.random.default_rng(5)
    covered, alone, width, of_people = 0, 0, 0.0, 0.0
    for _ in range(800):
        truth = rng.random(people + rest) < 0.6
        right, guessed = rng.random(people + rest) < agrees, rng.random(people + rest) < 0.9
        judged = np.where(right, truth, guessed)
        corrected = prediction_powered(truth[:people], judged[:people], judged[people:])
        covered += corrected.interval.low <= 0.6 <= corrected.interval.high
        naive = 1.96 * judged[people:].std() / rest**0.5
        alone += abs(judged[people:].mean() - 0.6) <= naive
        width += corrected.interval.high - corrected.interval.low
        of_people += 2 * 1.96 * truth[:people].std(ddof=1) / people**0.5
    assert 0.93 <= covered / 800 <= 0.97
    assert alone / 800 < covered / 800
    assert width < of_people  # what the judge is good for


def test_a_correction_at_the_edges() -> None:
    # this judge always says the same
    constant = prediction_powered([1, 0, 1, 0], [1, 1, 1, 1], [1] * 50)
    assert (constant.value, constant.trust) == (0.5, 0.0)
    # covariance with people .25, variance of the judge 13/44 * 31/44, four prompts against forty
    by_hand = prediction_powered([1, 0, 1, 1], [1, 0, 1, 1], [1, 0, 0, 0] * 10)
    assert by_hand.trust == 1.0  # .25 / .208 / 1.1 is above it
    # the judge made no error on what people saw: its mean stands
    assert by_hand.value == pytest.approx(0.25)
    with pytest.raises(ValueError, match="the same prompts, got 3 and 2"):
        prediction_powered([1, 0, 1], [1, 0], [1])
    with pytest.raises(ValueError, match="needs 3 prompts"):
        prediction_powered([1, 0], [1, 0], [1])


def test_alpha_of_krippendorffs_own_examples() -> None:
    """Krippendorff (2011), Computing Krippendorff's alpha-reliability, examples B and D."""
    yes_no = [[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]]
    assert krippendorff_alpha(yes_no) == pytest.approx(0.095, abs=5e-4)
    many = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    assert krippendorff_alpha(many) == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(many, "ordinal") == pytest.approx(0.815, abs=5e-4)
    assert krippendorff_alpha(many, "interval") == pytest.approx(0.849, abs=5e-4)


def test_alpha_where_nothing_can_be_said() -> None:
    assert krippendorff_alpha([]) is None
    assert krippendorff_alpha([[1, None], [None, 2]]) is None
    assert krippendorff_alpha([[1, 1], [1, 1]]) is None
    with pytest.raises(ValueError, match="got rows of"):
        krippendorff_alpha([[1], [1, 2]])
