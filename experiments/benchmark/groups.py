"""How well a group is ranked, and for how many questions: round-robin, ranking and scoring against
the truth.

python -m experiments benchmark groups --json groups.json
"""

import argparse
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.stats import spearmanr

from experiments.scenes.language import describe
from experiments.scenes.noisy_judge import NoisyJudge
from experiments.scenes.referee import judge_description
from experiments.scenes.world import COLORS, SHAPES, SIZES, Scene, Thing, make_scenes
from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.pairwise import PairwiseReward

DESCRIPTION = """Writes --groups groups of 8 descriptions of a scene each, terse ones and ones with planted mistakes,
has them judged by a judge that reads the truth with planted noise (experiments/scenes/noisy_judge.py), and compares the
rewards with the truth F1: the mean rank correlation within a group, and of its pairs of texts that differ in the truth
the share whose rewards say the opposite. Questions are those that were put to the judge: a ranking is written,
everything else is one token. The noise is drawn anew for every question, and no more of it for long ones."""
GROUP = 8
WAYS: dict[str, dict[str, Any]] = {
    "round-robin": {},
    "ranking": {"form": "batch"},
    "score": {"form": "score"},
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--groups", type=int, default=100, help="default 100")
    parser.add_argument(
        "--level", type=int, choices=(1, 2, 3), default=2, help="of the scenes (default 2)"
    )
    parser.add_argument(
        "--noise", type=float, nargs="+", default=[0.0, 0.05, 0.1, 0.2], help="default 0 .05 .1 .2"
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.groups < 1:
        raise ValueError(f"--groups must be 1 or more, got {arguments.groups}")
    groups = make_groups(arguments.groups, arguments.level)
    rows = [
        measure_way(groups, way, noise)
        for noise in track(arguments.noise, "noise", console=Console(stderr=True))
        for way in WAYS
    ]
    table = Table(
        title=f"{len(groups)} groups of {GROUP} descriptions of Scenes, level {arguments.level}"
    )
    for column in (
        "noise",
        "way",
        "questions a group",
        "rank correlation with the truth",
        "pairs upside down",
    ):
        table.add_column(column, justify="right")
    for row in rows:
        wrong = "-" if row["upside_down"] is None else f"{row['upside_down']:.3f}"
        numbers = (f"{row['questions']:.1f}", f"{row['spearman']:.3f}", wrong)
        table.add_row(f"{row['noise']:g}", row["way"], *numbers)
    Console(stderr=True).print(table)
    return {"groups": len(groups), "level": arguments.level, "rows": rows}


def measure_way(
    groups: Sequence[tuple[list[Sample], list[float]]], way: str, noise: float
) -> dict[str, Any]:
    """Questions a group, the mean Spearman correlation over groups whose rewards differ, and of the
    pairs that differ in both truth and reward the share in which the worse text has more.
    """
    judge = NoisyJudge(noise)
    reward = PairwiseReward(judge, evidence="context", **WAYS[way])
    correlations, right, wrong = [], 0, 0
    for samples, truths in groups:
        scores = [verdict.score or 0.0 for verdict in reward.assess(samples)]
        if len(set(scores)) > 1:
            correlations.append(float(spearmanr(scores, truths).statistic))
        better = np.subtract.outer(truths, truths) > 1e-9
        above = np.subtract.outer(scores, scores)
        right += int((better & (above > 0)).sum())
        wrong += int((better & (above < 0)).sum())
    questions = judge.usage.questions / len(groups)
    return {
        "noise": noise,
        "way": way,
        "questions": questions,
        "spearman": float(np.mean(correlations)),
        "upside_down": wrong / (right + wrong) if right + wrong else None,
    }


def make_groups(count: int, level: int) -> list[tuple[list[Sample], list[float]]]:
    """Groups of different descriptions of a scene each, and their truth F1; in each at least two
    values of it.
    """
    found = []
    for scene in make_scenes("test", level, count):
        generator = random.Random(f"group {scene.seed}")
        context = describe(scene, random.Random(f"context {scene.seed}"))
        texts: dict[str, float] = {}
        while len(texts) < GROUP:
            text = describe(
                mistaken(scene, generator),
                generator,
                generator.uniform(0.5, 1),
                generator.uniform(0.5, 1),
            )
            texts[text] = judge_description(text, scene).f1
        found.append(
            ([Sample("Describe.", text, context=context) for text in texts], list(texts.values()))
        )
    return [group for group in found if len(set(group[1])) > 1]


def mistaken(scene: Scene, generator: random.Random) -> Scene:
    """The scene with facts that are not so: each colour, size and shape is drawn anew with
    probability one fifth.
    """

    def drawn(fact: str, values: Sequence[str]) -> str:
        return generator.choice(values) if generator.random() < 0.2 else fact

    def changed(thing: Thing) -> Thing:
        shape, color, size = (
            drawn(thing.shape, SHAPES),
            drawn(thing.color, tuple(COLORS)),
            drawn(thing.size, SIZES),
        )
        return replace(thing, shape=shape, color=color, size=size)

    return replace(scene, objects=tuple(map(changed, scene.objects)))
