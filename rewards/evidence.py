"""What the judge sees beside a text: the row's pictures, or the context that describes them.

seen(sample, "picture")        # (pictures, ""), ((), context) or a sentence on what the row lacks
"""

from typing import Literal

from PIL import Image

from spanreward.rewards.pictures import PictureError, opened
from spanreward.rewards.verdict import Sample

Evidence = Literal["picture", "context"]
EVIDENCE = ("picture", "context")


def evidence_columns(evidence: Evidence) -> tuple[str, ...]:
    """Returns the dataset columns of which the evidence needs one."""
    return ("context",) if evidence == "context" else ("image", "images", "context")


def seen(sample: Sample, evidence: Evidence) -> tuple[tuple[Image.Image, ...], str] | str:
    """Returns the pictures and "", or () and the context, or one sentence on what the row lacks.

    A row without pictures is judged by its context. evidence "context" never shows a picture.
    """
    context = (sample.context or "").strip()
    if context and (evidence == "context" or not sample.images):
        return (), context
    if evidence == "context":
        return "this row has no context, a text that says what is in the picture"
    if not sample.images:
        return "this row has no picture, and no context in its place"
    pictures = pictures_of(sample)
    return pictures if isinstance(pictures, str) else (pictures, "")


def pictures_of(sample: Sample) -> tuple[Image.Image, ...] | str:
    """Returns the row's pictures, () for none, or one sentence on why one of them cannot be shown."""
    try:
        return tuple(opened(image) for image in sample.images)
    except PictureError as error:
        return str(error)
