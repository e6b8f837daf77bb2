"""The answers of ../shared/field/answers.jsonl by every measure of answers: what each is worth, and
what it should be.

for row in answer_cases(Path("../shared/field")):
    print(row.case, row.vqa_accuracy, row.token_f1, row.lave, row.right)
"""

import json
from dataclasses import dataclass
from pathlib import Path

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.judges.match.match_judge import MatchJudge
from spanreward.rewards.lave.reward import LaveReward
from spanreward.rewards.lave.vqa import token_f1, vqa_accuracy


@dataclass(frozen=True, slots=True)
class AnswerCase:
    """A case by name, what is right in words, and its three scores in [0, 1]; LAVE's is None where
    it has none.
    """

    case: str
    right: str
    vqa_accuracy: float
    token_f1: float
    lave: float | None


def answer_cases(folder: Path) -> list[AnswerCase]:
    """Returns a row per line of answers.jsonl in the folder.

    Raises FileNotFoundError where there is none.
    """
    rows = [json.loads(line) for line in (folder / "answers.jsonl").read_text("utf-8").splitlines()]
    samples = [
        Sample("", r["completion"], question=r["question"], answers=tuple(r["answers"]))
        for r in rows
    ]
    return [
        AnswerCase(
            row["case"],
            row["right"],
            vqa_accuracy(sample.completion, sample.answers),
            token_f1(sample.completion, sample.answers),
            verdict.score,
        )
        for row, sample, verdict in zip(
            rows, samples, LaveReward(MatchJudge()).assess(samples), strict=True
        )
    ]
