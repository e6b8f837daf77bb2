"""Pictures as a judge sees them: RGB, upright, within a size, each made ready once in a call.

    questions = ready(questions)                # their PIL images are Pictures now
    questions[0].images[0].image.mode           # RGB
    questions[0].images[0].key                  # equal pictures, equal keys

How they are converted is said in `rewards.pictures`. A picture that cannot be decoded is a Picture without an image:
questions about it are Failures, the others are asked. Nothing is opened or downloaded by name.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from PIL import Image

from rewards.judges.judge import Question
from rewards.pictures import loaded, shown_picture


@dataclass(frozen=True, slots=True, order=True)
class Picture:
    """key: 32 hex digits of the size and the pixels, "" where `trouble` says why there is no image."""

    key: str
    image: Image.Image | None = field(default=None, compare=False)
    trouble: str = field(default="", compare=False)


def ready(questions: Sequence[Question]) -> list[Question]:
    """The questions with Pictures for images; one that stands in several questions is decoded once.

    Raises ValueError for an image that is no PIL image.
    """
    pictures: dict[int, Picture] = {}
    for question in questions:
        for image in question.images:
            if not isinstance(image, Image.Image):
                raise ValueError(
                    f"a question's images are PIL images, got {type(image).__name__} {str(image)[:100]!r}: open it "
                    "with PIL.Image.open first; nothing is downloaded or opened by name here."
                )
            if id(image) not in pictures:
                pictures[id(image)] = picture(image)
    return [replace(question, images=tuple(pictures[id(image)] for image in question.images)) for question in questions]


def picture(image: Image.Image) -> Picture:
    """The image as a Picture. A file is decoded now; whatever is wrong with it is the Picture's trouble."""
    try:
        shown = shown_picture(loaded(image))
    except Exception as error:  # each format has its own for a damaged file
        return Picture("", trouble=f"a picture of {image.width} x {image.height} pixels is of no use: {error}")
    digest = hashlib.sha256(repr(shown.size).encode() + shown.tobytes())
    return Picture(digest.hexdigest()[:32], shown)
