"""What a text earns beyond what it would earn on other rows."""

import pytest

from spanreward.rewards import LaveReward, MatchJudge, PoshReward, Sample
from spanreward.rewards.reward.contrast import contrasts, others_of

TEXTS = ("A red circle is above a blue square.", "A dog runs on the grass.", "Two men hold a flag.")
SAMPLES = [Sample("", text, references=(text,)) for text in TEXTS]


def test_a_text_that_fits_its_row_alone_has_a_contrast() -> None:
    reward = PoshReward(MatchJudge())
    own = reward.judge_samples(SAMPLES)
    values = contrasts(reward, SAMPLES, own, range(3))
    assert len(values) == 3
    assert min(values.values()) > 0.5


def test_a_text_that_knows_nothing_has_none() -> None:
    reward = PoshReward(MatchJudge())
    blind = [Sample("", "There is a thing.", references=one.references) for one in SAMPLES]
    assert contrasts(reward, blind, reward.judge_samples(blind), range(3)) == pytest.approx(
        dict.fromkeys(range(3), 0.0), abs=0.02
    )


def test_answers_keep_their_text_and_take_the_other_rows_question() -> None:
    reward = LaveReward(MatchJudge(), rationale=False)
    answers = [Sample("", word, question="What?", answers=(word,)) for word in ("dog", "cat", "dog")]
    assert contrasts(reward, answers, reward.judge_samples(answers), [0]) == {0: 1.0}


def test_rows_with_the_same_references_are_no_others() -> None:
    assert others_of([SAMPLES[0], SAMPLES[0], SAMPLES[1], SAMPLES[1]], 0) == [SAMPLES[1]]
    reward = PoshReward(MatchJudge())
    assert contrasts(reward, SAMPLES[:1], reward.judge_samples(SAMPLES[:1]), [0]) == {}
