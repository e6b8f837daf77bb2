"""Sides whose answers are partly the failures of whoever was asked: no verdict on them.

    found = failures_of(setup, evaluation.answers)      # {"api": Failures([NoAnswer(...)], 24)}
    found["api"].sentence       # "8 of 24 answers look like failures, not answers: ..."

A verdict on such a side would be one on a rate limit. What is named is what
rewards/text/no_answers.py finds. One text for many rows counts in files of answers alone: a policy
that answered here wrote it itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from spanreward.rewards.rows.sample import row_sample
from spanreward.rewards.rows.tables import is_table
from spanreward.rewards.text.no_answers import NoAnswer, in_a_sentence, no_answers
from spanreward.training.evaluation.answer_scores.evaluate import Answers
from spanreward.training.evaluation.answer_scores.several import every_sample
from spanreward.training.evaluation.answers.setup import Setup

REMEDY = (
    "Ask these rows again, or drop them from the data; where the model itself writes so, that is "
    "what to report of it"
)


@dataclass(frozen=True, slots=True)
class Failures:
    """What of a side's answers looks like failures.

    Attributes:
        found: the texts that do, with the rows that have them.
        answers: how many answers the side has.
    """

    found: Sequence[NoAnswer]
    answers: int

    @property
    def sentence(self) -> str:
        return in_a_sentence(self.found, self.answers, "answers")


def failures_of(setup: Setup, answers: Answers) -> dict[str, Failures]:
    """Returns, by side, what looks like failures; sides without any are left out."""
    rows = setup.prompts.rows
    failures: dict[str, Failures] = {}
    for side, side_answers in answers.items():
        side_failures: list[NoAnswer] = []
        count = 0
        # a run that stands beside several seeds counts once
        names = setup.sides[side]
        runs = dict(zip(names, side_answers, strict=False))
        for run, run_answers in runs.items():
            # of each sample its row and the row's id
            samples = []
            ids = []
            for row, answer in zip(rows, run_answers, strict=False):
                for sample in every_sample([answer]):
                    samples.append(row_sample(row, sample.text))
                    ids.append(str(row.get("id")))
            # a policy that answered here and repeats itself has not failed to answer
            side_failures += no_answers(samples, ids, repeated=is_table(run))
            count += len(list(every_sample(run_answers)))
        if side_failures:
            failures[side] = Failures(side_failures, count)
    return failures


def warnings_of(failures: Mapping[str, Failures]) -> Iterator[str]:
    """Yields a warning for every side with failures."""
    for side, side_failures in failures.items():
        sentence = side_failures.sentence
        yield f"{side}: {sentence}. No verdict on {side} before that is mended. {REMEDY}"


def waits_for(later: str, earlier: str, failures: Mapping[str, Failures]) -> str:
    """Returns why the verdict on two sides waits, "" where it does not."""
    clauses = []
    for side in (later, earlier):
        if side in failures:
            clauses.append(f"of {side}, {failures[side].sentence}")
    return "; ".join(clauses)
