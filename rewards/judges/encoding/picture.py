"""Pictures as a judge sees them: RGB, upright, and of limited size (rewards/files/pictures.py converts them).

    questions = ready(questions)                # their images are now Pictures
    questions[0].images[0].image.mode           # RGB
    questions[0].images[0].key                  # equal for equal pictures

An image that cannot be decoded becomes a Picture without an image; only questions about it become Failures.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from PIL import Image

from spanreward.rewards.files.pictures import loaded, shown_picture
from spanreward.rewards.judges.judge import Question


@dataclass(frozen=True, slots=True, order=True)
class Picture:
    """key: 32 hex digits of the size and the pixels; "" if there is no image. trouble: says why there is none."""

    key: str
    image: Image.Image | None = field(default=None, compare=False)
    trouble: str = field(default="", compare=False)


def ready(questions: Sequence[Question]) -> list[Question]:
    """Returns the questions with Pictures in place of PIL images. An image of several questions is decoded once.

    Raises ValueError for an image that is not a PIL image.
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
    """Decodes the image into a Picture. An error becomes the Picture's `trouble`."""
    try:
        shown = shown_picture(loaded(image))
    except Exception as error:  # each format raises its own kind for a damaged file
        return Picture("", trouble=f"a picture of {image.width} x {image.height} pixels is of no use: {error}")
    digest = hashlib.sha256(repr(shown.size).encode() + shown.tobytes())
    return Picture(digest.hexdigest()[:32], shown)
