"""What honest, blind and people's texts earn on their own row and on others, and what asking that costs.

python -m experiments benchmark contrast --people ../shared/data --json contrast.json
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, quantiles
from typing import Any

from rich.console import Console
from rich.table import Table

from experiments.agreement.caption_sets import load_flickr8k_expert
from experiments.hacking.payoffs import description_cases
from spanreward.rewards import PoshReward
from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.judges import closing, load_judge
from spanreward.rewards.reward.contrast import contrasts

DESCRIPTION = """The contrast of a text is its score on its own row less its score on one other row. honest: half of the
descriptions of Scenes are complete, half terse. blind: texts that are the same for every picture. people: a caption of
Flickr8k against the other captions of its picture. share: how much of what a text earns is left with contrast_coef=1.
asked: questions to the judge, with the other row as a multiple of those without."""
BLIND = (
    "There is a thing in the picture.",
    "There is a red circle in the center.",
    "A circle, a square, a triangle and a star.",
    "Two people stand in front of a building.",
    "A picture of something on the left and on the right of the middle.",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--judge", default="match", help="who answers PoSh's questions (default match)")
    parser.add_argument("--texts", type=int, default=100, help="texts of each kind (default 100)")
    parser.add_argument("--people", type=Path, metavar="FOLDER", help="the sets' folder: people's captions too")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.texts < 2:
        raise ValueError(f"--texts must be 2 or more, got {arguments.texts}")
    cases = description_cases(arguments.texts)
    honest = [case.sample for case in cases]
    kinds = {
        "honest": honest,
        "honest, terse": [case.sample for case in cases if case.terse],
        "blind": [replace(one, completion=BLIND[n % len(BLIND)]) for n, one in enumerate(honest)],
    }
    if arguments.people:
        images = load_flickr8k_expert(arguments.people)[: arguments.texts]
        kinds["people"] = [Sample("", one.references[0], references=tuple(one.references[1:])) for one in images]
    found = {}
    for name, samples in kinds.items():
        judge = load_judge(arguments.judge)
        with closing([judge]):
            found[name] = contrast_of(PoshReward(judge), samples)
    table = Table("texts", "score", "contrast", "lowest tenth", "share", "asked", title="Contrast")
    for name, one in found.items():
        table.add_row(name, *(f"{one[key]:.3f}" for key in ("score", "contrast", "lowest_tenth", "share", "asked")))
    Console(stderr=True).print(table)
    return {"judge": arguments.judge, "texts": arguments.texts, "kinds": found}


def contrast_of(reward: PoshReward, samples: Sequence[Sample]) -> dict[str, float]:
    verdicts = reward.judge_samples(samples)
    before = reward.judge.usage.questions
    values = list(contrasts(reward, samples, verdicts, range(len(samples)), others=1).values())
    score = fmean(verdict.score for verdict in verdicts if verdict.score is not None)
    return {
        "score": score,
        "contrast": fmean(values),
        "lowest_tenth": quantiles(values, n=10)[0],
        "share": fmean(values) / score if score else 0.0,
        "asked": reward.judge.usage.questions / before,
    }
