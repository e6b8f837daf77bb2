"""Scenes by the names that recipes use, for experiments and tests, which start in any folder.

load_data(scenes_part(level=2, count=16)), load_policy(TINY, seed=0)
scenes_of(scenes_part(level=2, count=16))        # what is on the pictures, in the dataset's order
"""

from pathlib import Path
from typing import Any

from experiments.scenes.world import Scene, make_scenes
from spanreward.training.recipe import FilePart

SCENES = f"{Path(__file__).with_name('rows.py')}:scenes"
TINY = f"{Path(__file__).with_name('policy.py')}:tiny"
WORDS = f"{Path(__file__).with_name('word_judge.py')}:WordJudge"
TRUTH = f"{Path(__file__).with_name('truth.py')}:Truth"
SEEING = f"{Path(__file__).with_name('seeing_judge.py')}:SeeingJudge"
PICTURES = f"{Path(__file__).with_name('picture_judge.py')}:PictureJudge"


def scenes_part(**options: Any) -> FilePart:
    """A recipe's data block with these options of `rows.scenes`."""
    return FilePart(source=SCENES, options=options)


def scenes_of(part: FilePart) -> list[Scene]:
    """The contents of the block's pictures. For the referee only: no reward sees them."""
    asked = part.options
    scenes = make_scenes(
        asked.get("split", "train"),
        asked.get("level", 1),
        asked.get("count", 4096),
        asked.get("seed", 0),
    )
    return scenes[: part.count]
