"""A judge writes criteria: repeated ones and those that tell nothing apart are refused."""

import json
from typing import Any

import pytest

from spanreward import CriteriaReward, Failure, Sample, Status
from spanreward.rewards.experimental.criteria_writing import write_criteria
from tests.support.fakes import prompt_of
from tests.support.writing_judge import WritingJudge

REFERENCES = ("A red car by a tree.", "A red car stands by an oak.")
OTHER = "A dog runs by a tree."


def row(**more: Any) -> Sample:
    return Sample("Describe.", "", **{"context": "A car.", "references": REFERENCES, **more})


def meets(probe: Any) -> int:
    return 4 if probe.criterion.removeprefix("Says ").rstrip(".").lower() in probe.text else 2


def written(texts: Any, sample: Any = None, other: str = OTHER, rates: Any = meets) -> Any:
    judge = WritingJudge(texts if isinstance(texts, (str, Failure)) else json.dumps(texts), rates)
    return write_criteria(CriteriaReward(judge), [(sample or row(), other)])[0]


def test_what_tells_texts_apart_is_kept() -> None:
    listed = ["Says red.", "says RED", "Says oak.", "Says boat.", "Says tree", "Says by"]
    kept, refused = written(listed)
    # a tree: in one of two references, and in the other row's
    assert kept == ["Says red.", "Says oak.", "Says tree"]
    told = {"says RED": "already", "Says boat.": "no reference", "Says by": "every text"}
    assert refused.keys() == told.keys()
    assert all(words in refused[text] for text, words in told.items())


def test_without_another_row() -> None:
    listed = ["Says red.", "Says oak."]
    kept, refused = written(listed, other="")
    assert (kept, list(refused)) == (["Says oak."], ["Says red."])
    kept, refused = written(listed, row(references=REFERENCES[:1]), other="")
    assert (kept, list(refused)) == (["Says red."], ["Says oak."])


def test_without_references_only_repeated_ones_are_refused() -> None:
    def unasked(probe: Any) -> int:
        raise AssertionError

    kept, refused = written(["One.", "Two.", "one"], row(references=()), rates=unasked)
    assert (kept, list(refused)) == (["One.", "Two."], ["one"])


@pytest.mark.parametrize(
    "answer", ["Says red.", "[]", "[1]", '["  "]', '["a", ["b"]]', '{"a": 1}', '["..."]']
)
def test_no_list_is_a_failure(answer: str) -> None:
    assert written(answer).status is Status.UNPARSED


def test_failures_and_rows_that_lack_something_leave_the_others() -> None:
    down = Failure(Status.TIMEOUT, "down")
    assert written(down) == down
    assert written(["Says red."], rates=lambda probe: down) == down
    judge = WritingJudge('["Says red."]', meets)
    rows = [(row(context=None), OTHER), (row(), OTHER)]
    lacking, fine = write_criteria(CriteriaReward(judge), rows)
    assert lacking.status is Status.NOT_APPLICABLE
    assert "no picture" in lacking.message
    assert fine == (["Says red."], {})
    (question,) = judge.asked
    content = prompt_of(question)
    assert all(part in content for part in ("A car.", "Describe.", *REFERENCES, "JSON list"))
    assert OTHER not in content
