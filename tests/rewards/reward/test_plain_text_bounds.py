"""What stands beside a completion is cut like a completion, and the verdict says so."""

from typing import Any

import pytest

from spanreward import PoshReward, Sample, Verdict
from spanreward.rewards.reward.plain_text_reward import PlainTextReward, plain_sample
from spanreward.rewards.text.length import JUDGED_CHARACTERS, JUDGED_TOKENS

LONG = "A red kite. " * 90_000  # 1.1 MB


class Lengths(PlainTextReward):
    """Keeps the samples as they are read."""

    columns = ("reference", "question")
    one_of = ("context", "anchor")

    def assess_plain(self, samples: list[Sample]) -> list[Verdict]:  # type: ignore[override]
        self.read = samples
        return [Verdict(1.0, note="fine") for _ in samples]


def judged(sample: Sample, mode: Any = "default") -> tuple[Verdict, Sample]:
    """The verdict, and the sample as it was read."""
    reward = Lengths("lengths")
    reward.mode = mode
    (verdict,) = reward.assess([sample])
    (read,) = reward.read
    return verdict, read


def test_the_texts_of_a_row_are_cut() -> None:
    more = {"question": LONG, "context": LONG, "anchor": "a" * 9}
    sample = Sample("", "A kite.", references=(LONG, "A kite."), **more)
    verdict, read = judged(sample)
    assert list(map(len, read.references)) == [JUDGED_CHARACTERS, 7]
    assert len(read.question or "") == len(read.context or "") == JUDGED_CHARACTERS
    fine, *notes = verdict.note.split("; ")
    assert fine == "fine"
    for name, note in zip(("question", "context", "reference 1"), notes, strict=True):
        assert "10,000 of 1,080,000" in note
        assert name in note
    assert plain_sample(sample).references == read.references


def test_texts_of_many_signs_are_cut_at_fewer_characters() -> None:
    verdict, read = judged(Sample("", "A kite.", references="a! " * 4000))
    assert " 5,999 of " in verdict.note
    assert len(read.references[0]) == JUDGED_TOKENS // 2 * len("a! ") - 1


@pytest.mark.parametrize(
    ("count", "mode"), [(1, "default"), (800, "default"), (90_000, "published")]
)
def test_texts_of_usual_length_and_all_in_published_mode_stay(count: int, mode: str) -> None:
    text = "A red kite. " * count
    verdict, read = judged(Sample("", "A kite.", references=text, question=text), mode)
    assert (verdict.note, read.references, read.question) == ("fine", (text,), text)


def test_a_long_reference_is_judged_as_its_beginning_is() -> None:
    begun = "A red kite flies. " * 600  # 10,800 characters
    references = begun[:JUDGED_CHARACTERS], begun + LONG
    samples = [Sample("", "A red kite flies.", references=(text,)) for text in references]
    short, long = PoshReward("match").assess(samples)
    assert (short.score, short.parts, short.missed) == (long.score, long.parts, long.missed)
    assert "of the reference" in long.note
