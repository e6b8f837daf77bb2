"""Rows of drawn scenes, and a reward that judges descriptions of them in place of what a policy
without training wrote.

spanreward train ... --set data.path=rows.jsonl rewards.0.metric=tests/gpu/phases/described.py:Described
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from experiments.scenes.language import describe
from experiments.scenes.world import Scene, draw, make_scenes
from spanreward.rewards import PoshReward, Sample, Verdict

SIZE = 768, 576
# a row has two of them, for a text of about 150 words
SCENES = make_scenes("train", level=3, count=128)


def text(row: int, generator: Random, kept: float = 1.0) -> str:
    scenes: list[Scene] = SCENES[2 * row : 2 * row + 2]
    return " ".join(describe(scene, generator, kept, kept) for scene in scenes)


def pictures(folder: Path, count: int) -> Path:
    """Writes rows.jsonl and a picture of SIZE for each row."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for row in range(count):
        draw(SCENES[2 * row]).resize(SIZE).save(folder / f"{row}.png")
        lines.append(json.dumps({"image": f"{row}.png", "reference": text(row, Random(row))}))
    (folder / "rows.jsonl").write_text("\n".join(lines) + "\n")
    return folder / "rows.jsonl"


def described() -> str:
    """What a recipe calls the reward."""
    return f"{Path(__file__)}:Described"


class Described(PoshReward):
    """PoSh of a description that leaves a tenth out, another one for each completion."""

    count = 0

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        said = []
        for sample in samples:
            self.count += 1
            said.append(
                replace(
                    sample, completion=text(int(sample.id or 0) % 64, Random(self.count), kept=0.9)
                )
            )
        # they lie on another text
        return [replace(verdict, spans=()) for verdict in super().assess(said)]
