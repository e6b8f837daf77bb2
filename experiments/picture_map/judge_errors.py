"""How often a judge errs about pictures of Scenes that it has not seen, by what it is asked.

    rows = errors_of(SeeingJudge("outputs/seeing-judge"), pictures=500)
    # [{"kind": "entity", "there": True, "questions": 1820, "wrong": .04}, ...]

The questions are PoSh's about texts with mistakes and texts of other pictures, and about decoys.
"""

import random
from collections import defaultdict
from typing import Any

from experiments.scenes.picture_judge import contents, shows
from experiments.scenes.picture_lessons import questions_about
from experiments.scenes.world import Split, draw, make_scenes
from spanreward.rewards.judges.judge import Failure, Judge, Question

MIDDLE = 3.0  # of the scale: above it the judge says yes
SPLIT: Split = "test"


def errors_of(judge: Judge, pictures: int, level: int = 1) -> list[dict[str, Any]]:
    """Returns a row for each kind of component and whether the picture shows it, and two for all
    kinds. Raises RuntimeError where the judge has no answer.
    """
    scenes = make_scenes(SPLIT, level, pictures)
    images = [draw(scene) for scene in scenes]
    asked = questions_about(scenes, images, random.Random(f"errors {SPLIT} {level}"))
    questions: list[Question] = []
    answers: list[tuple[str, bool]] = []
    for scene, image, probes in zip(scenes, images, asked, strict=True):
        reading = contents(scene)
        for probe in probes:
            # judges of Scenes read the probe, and none reads this text
            messages = [{"role": "user", "content": repr(probe)}]
            questions.append(Question(messages, (image,), probe))
            answers.append((probe.kind, shows(probe, reading)))
    counted: dict[tuple[str, bool], list[bool]] = defaultdict(list)
    for rating, (kind, there) in zip(judge.rate(questions), answers, strict=True):
        if isinstance(rating, Failure):
            raise RuntimeError(f"the judge did not answer: {rating.message}")
        is_wrong = (rating.mean > MIDDLE) != there
        counted[kind, there].append(is_wrong)
        counted["all", there].append(is_wrong)
    rows = []
    for (kind, there), wrong in sorted(counted.items()):
        share = round(sum(wrong) / len(wrong), 4)
        rows.append({"kind": kind, "there": there, "questions": len(wrong), "wrong": share})
    return rows


def markdown_lines(rows: list[dict[str, Any]]) -> list[str]:
    lines = ["| asked about | questions | wrong if it is there | wrong if it is not |"]
    lines.append("|---|---|---|---|")
    by_kind: dict[str, dict[bool, dict[str, Any]]] = defaultdict(dict)
    for row in rows:
        by_kind[row["kind"]][row["there"]] = row
    for kind, of_kind in by_kind.items():
        questions = sum(row["questions"] for row in of_kind.values())
        shares = [f"{of_kind[there]['wrong']:.1%}" for there in (True, False)]
        lines.append(f"| {kind} | {questions:,} | {' | '.join(shares)} |")
    return lines
