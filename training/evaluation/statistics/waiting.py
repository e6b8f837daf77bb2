"""Finds sides whose answers are partly failures of an API or a script. Such sides get no verdict.

    found = failures_of(setup, evaluation.answers)  # {"api": Failures([NoAnswer(...)], 24)}
    found["api"].sentence  # "8 of 24 answers look like failures, not answers: ..."

A verdict on such a side would be a verdict on a rate limit. rewards/text/no_answers.py recognises
failures by their form, such as an error message, or by one text for many rows. One text for many
rows counts in files of answers alone: a policy that was sampled here wrote its repeated text
itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spanreward.rewards.rows.sample import row_sample
from spanreward.rewards.rows.tables import is_table
from spanreward.rewards.text.no_answers import NoAnswer, in_a_sentence, no_answers
from spanreward.training.evaluation.answer_scores.answer import JudgedAnswer
from spanreward.training.evaluation.answer_scores.evaluate import AnswersOfSides
from spanreward.training.evaluation.answer_scores.several import every_sample
from spanreward.training.evaluation.answers.setup import Setup

WAITING_REMEDY = (
    "Ask these rows again, or drop them from the data; where the model itself writes so, that is "
    "what to report of it"
)


@dataclass(frozen=True, slots=True)
class Failures:
    """The answers of one side that look like failures.

    Attributes:
        found: the texts that look like failures, with their rows.
        answers: the number of all answers of the side.
    """

    found: Sequence[NoAnswer]
    answers: int

    @property
    def sentence(self) -> str:
        """A sentence such as "8 of 24 answers look like failures, not answers: ..."."""
        return in_a_sentence(self.found, self.answers, "answers")


def failures_of(setup: Setup, answers: AnswersOfSides) -> dict[str, Failures]:
    """Returns, by side, the answers that look like failures. Sides without such answers are left
    out.
    """
    failures: dict[str, Failures] = {}
    for side, side_answers in answers.items():
        side_failures: list[NoAnswer] = []
        count = 0
        # a run that is repeated for several seeds counts once
        runs = dict(zip(setup.sides[side], side_answers, strict=True))
        for run, run_answers in runs.items():
            side_failures += _failures_of_run(setup.prompts.rows, run, run_answers)
            count += len(list(every_sample(run_answers)))
        if side_failures:
            failures[side] = Failures(side_failures, count)
    return failures


def _failures_of_run(
    rows: Sequence[Mapping[str, Any]], run: str, answers: Sequence[JudgedAnswer]
) -> list[NoAnswer]:
    """Returns the texts of a run that look like failures, with the ids of their rows.

    rows: the prompts' rows. run: the run's folder, hub id or file of answers. answers: the run's
    answer to each prompt, which may have several samples.
    """
    samples = []
    ids = []  # the id of the row of each sample
    for row, answer in zip(rows, answers, strict=True):
        for sample in every_sample([answer]):
            samples.append(row_sample(row, sample.text))
            ids.append(str(row.get("id")))
    # repeated texts count in files alone: a policy that was sampled here wrote its text itself
    return no_answers(samples, ids, repeated=is_table(run))


def warnings_of(failures: Mapping[str, Failures]) -> Iterator[str]:
    """Yields a warning for every side with answers that look like failures."""
    for side, side_failures in failures.items():
        sentence = side_failures.sentence
        yield f"{side}: {sentence}. No verdict on {side} before that is mended. {WAITING_REMEDY}"


def waits_for(later: str, earlier: str, failures: Mapping[str, Failures]) -> str:
    """Returns the reason why two sides get no verdict yet; "" if the two sides get a verdict."""
    clauses = []
    for side in (later, earlier):
        if side in failures:
            clauses.append(f"of {side}, {failures[side].sentence}")
    return "; ".join(clauses)
