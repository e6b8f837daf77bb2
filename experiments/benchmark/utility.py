"""How many questions about a picture people's captions answer, their own picture's and another
one's (CapRL).

python -m experiments benchmark utility --people ../shared/data --json utility.json
"""

import argparse
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.caprl.reward import CaprlReward
from spanreward.rewards import Sample
from spanreward.rewards.judges import closing, load_judge
from spanreward.rewards.rows.tables import read_table

DESCRIPTION = """Takes the open pictures that have captions and questions with ten answers. own: the mean score of a
caption on its picture's questions. joined: of a picture's captions as one text. other: of a caption on the questions of
the picture before it. answered, answered_other: the share of the questions that the judge answers at all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--people", type=Path, required=True, metavar="FOLDER", help="the sets' folder"
    )
    parser.add_argument(
        "--judge",
        default="experiments/scenes/word_judge.py:WordJudge",
        help="who reads the captions (default: words)",
    )
    parser.add_argument("--captions", type=int, default=5, help="of a picture, at most (default 5)")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    rows = read_pictures(arguments.people / "coco_open_images/records.jsonl", arguments.captions)
    own = [sample for of_one in rows for sample in of_one]
    others = [
        replace(sample, columns=rows[n - 1][0].columns)
        for n, of_one in enumerate(rows)
        for sample in of_one
    ]
    joined = [
        replace(of_one[0], completion=" ".join(sample.completion for sample in of_one))
        for of_one in rows
    ]
    judge = load_judge(arguments.judge)
    with closing([judge]):
        verdicts = {
            name: CaprlReward(judge).judge_samples(samples)
            for name, samples in (("own", own), ("other", others), ("joined", joined))
        }
    scores = {
        name: [one.score for one in found if one.score is not None]
        for name, found in verdicts.items()
    }
    failed = {name: sum(one.score is None for one in found) for name, found in verdicts.items()}
    means = {name: fmean(found) for name, found in scores.items() if found}
    answered, answered_other = (
        fmean(one.parts["answered"] for one in verdicts[name] if "answered" in one.parts)
        for name in ("own", "other")
    )
    questions = sum(len(of_one[0].columns["quiz"]) for of_one in rows)
    counts = {"pictures": len(rows), "captions": len(own), "questions": questions}
    return {
        "judge": arguments.judge,
        **counts,
        **means,
        "answered": answered,
        "answered_other": answered_other,
        "failed": failed,
    }


def read_pictures(path: Path, most: int) -> list[list[Sample]]:
    """Per picture that has both, its captions as completions with all its questions.

    Raises OSError, ValueError.
    """
    rows = []
    for _, record in read_table(path):
        asked = [
            {"question": one["question"], "answers": one["answers"]} for one in record["vqav2"]
        ]
        if asked and record["captions"]:
            rows.append(
                [Sample("", text, columns={"quiz": asked}) for text in record["captions"][:most]]
            )
    return rows
