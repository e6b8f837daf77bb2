"""The answers of ../shared/field/answers.jsonl and meaning.jsonl by every measure of answers: what
each is worth, and what it should be.

for row in answer_cases(Path("../shared/field")):
    print(row.case, row.vqa_accuracy, row.token_f1, row.lave, row.right)
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.judges.judge import Failure, Question
from spanreward.rewards.judges.match.match_judge import MatchJudge
from spanreward.rewards.lave.reward import LaveReward
from spanreward.rewards.lave.vqa import token_f1, vqa_accuracy

PEOPLE = 10  # who gave a single answer of a row
KINDS = ("apart", "same")


@dataclass(frozen=True, slots=True)
class AnswerCase:
    """A case by name, what is right in words, and its three scores in [0, 1]; LAVE's is None where
    it has none.

    kind: "same" where the answer is a right one, "apart" where it is not. read, wanted: the answer
    and the right one as a judge that reads is shown them, "" where none is asked.
    """

    case: str
    right: str
    vqa_accuracy: float
    token_f1: float
    lave: float | None
    kind: str = "same"
    metric: str = ""
    read: str = ""
    wanted: str = ""


class ReadingJudge(MatchJudge):
    """Keeps the candidates that it is shown, and answers as `match`."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        for question in questions:
            content = str(question.messages[0]["content"])
            self.read.append(re.findall(r'Candidate answer: "(.*)"', content)[-1])
        return super().write_each(questions, max_tokens)


def answer_cases(folder: Path) -> list[AnswerCase]:
    """Returns a row per line of answers.jsonl in the folder.

    Raises FileNotFoundError where there is none.
    """
    return [_case(row) for row in _rows(folder / "answers.jsonl")]


def meaning_cases(folder: Path) -> list[AnswerCase]:
    """Returns a row per answer of meaning.jsonl in the folder.

    Raises FileNotFoundError where there is none.
    """
    rows = _rows(folder / "meaning.jsonl")
    return [_case(row) for row in rows if row["kind"] in KINDS]


def is_right(case: AnswerCase) -> bool:
    """Whether the metrics that the case names give it its due."""
    by_judge = "judge that reads" in case.metric
    if case.kind == "apart":
        scores = [case.vqa_accuracy, case.lave]
        return all(score is not None and score < 1 for score in scores) and (
            not by_judge or case.read.casefold() != case.wanted.casefold()
        )
    if by_judge:
        return case.read != "" or case.lave == 1.0
    return case.vqa_accuracy == 1.0 and case.lave == 1.0


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def _case(row: dict[str, Any]) -> AnswerCase:
    people = tuple(row["answers"])
    answers = people * PEOPLE if len(people) == 1 else people
    question, columns = row["question"], row.get("columns", {})
    sample = Sample("", row["completion"], question=question, answers=answers, columns=columns)
    read, score = _read(sample)
    right = Sample("", people[0], question=question, answers=answers, columns=columns)
    wanted, _ = _read(right)
    return AnswerCase(
        row["case"],
        row["right"],
        vqa_accuracy(sample.completion, answers, question, columns),
        token_f1(sample.completion, answers, question, columns),
        score,
        row.get("kind", "same"),
        row.get("metric", ""),
        read,
        wanted,
    )


def _read(sample: Sample) -> tuple[str, float | None]:
    """Returns the candidate that a judge is shown, "" if it is not asked, and LAVE's score."""
    judge = ReadingJudge()
    (verdict,) = LaveReward(judge).assess([sample])
    return (judge.read[0] if judge.read else ""), verdict.score
