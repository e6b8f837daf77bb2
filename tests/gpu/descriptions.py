"""The texts that the judges of tests/gpu are timed on."""

import random

from experiments.scenes.language import describe
from experiments.scenes.world import make_scenes
from spanreward.rewards import Sample


def descriptions(count: int) -> list[Sample]:
    """Descriptions of drawn scenes, each against that of another scene."""
    generator = random.Random(0)
    texts = [describe(scene, generator) for scene in make_scenes("train", level=3, count=2 * count)]
    pairs = zip(texts[:count], texts[count:], strict=True)
    return [
        Sample("Describe the picture.", completion, references=(reference,))
        for completion, reference in pairs
    ]
