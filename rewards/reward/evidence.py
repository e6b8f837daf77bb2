"""What the judge sees beside a text: the row's pictures, or the context that describes them.

seen(sample, "picture")        # (pictures, "") or ((), context)
"""

from typing import Literal

from PIL import Image

from spanreward.rewards.base.verdict import NotApplicable, Sample
from spanreward.rewards.files.pictures import opened

Evidence = Literal["picture", "context"]
EVIDENCE = ("picture", "context")


def evidence_columns(evidence: Evidence) -> tuple[str, ...]:
    """Returns the dataset columns of which the evidence needs one."""
    return ("context",) if evidence == "context" else ("image", "images", "context")


def seen(sample: Sample, evidence: Evidence) -> tuple[tuple[Image.Image, ...], str]:
    """Returns the pictures and "", or () and the context. Raises NotApplicable for a row that lacks both.

    A row without pictures is judged by its context. evidence "context" never shows a picture.
    """
    context = (sample.context or "").strip()
    if context and (evidence == "context" or not sample.images):
        return (), context
    if evidence == "context":
        raise NotApplicable("this row has no context, a text that says what is in the picture")
    if not sample.images:
        raise NotApplicable("this row has no picture, and no context in its place")
    return tuple(opened(image) for image in sample.images), ""
