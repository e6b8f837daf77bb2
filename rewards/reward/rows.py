"""The rows of a batch: what a judge sees of them, and what completions lose for filler and unread
text.

seen(sample, "picture")        # (pictures, "") or ((), context)
penalise(verdict, sample, "default")
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from PIL import Image

from spanreward.rewards.base.checks import Mode
from spanreward.rewards.base.verdict import NotApplicable, Sample, Verdict
from spanreward.rewards.rows.pictures import MAX_PIXELS, MOST_PICTURES, opened, with_box
from spanreward.rewards.text.filler import beside, find_filler, penalise_filler
from spanreward.rewards.text.length import judged_length, penalise_unread

Box = tuple[float, float, float, float]
Evidence = Literal["picture", "context"]
EVIDENCE = ("picture", "context")


def evidence_columns(evidence: Evidence | Literal["prompt"]) -> tuple[str, ...]:
    """Returns the dataset columns that hold evidence. A row needs one of them, and none for
    "prompt".
    """
    if evidence == "prompt":
        return ()
    if evidence == "context":
        return ("context",)
    return ("image", "images", "context")


def seen(
    sample: Sample, evidence: Evidence, box: Box | None = None
) -> tuple[tuple[Image.Image, ...], str]:
    """Returns the pictures and "", or () and the context. Raises NotApplicable for a row that lacks
    both, and as `open_pictures` does.

    A row without pictures is judged by its context. evidence "context" never shows a picture. box:
    see `open_pictures`.
    """
    context = (sample.context or "").strip()
    if context and (evidence == "context" or not sample.images):
        return (), context
    if evidence == "context":
        raise NotApplicable("this row has no context, a text that says what is in the picture")
    if not sample.images:
        raise NotApplicable("this row has no picture, and no context in its place")
    return open_pictures(sample.images, box), ""


def open_pictures(pictures: Sequence[Any], box: Box | None = None) -> tuple[Image.Image, ...]:
    """Returns a row's pictures as judges see them, decoded one at a time.

    box: is drawn on the first one. Raises NotApplicable for more than MOST_PICTURES, and for one
    that cannot be used.
    """
    if len(pictures) > MOST_PICTURES:
        raise NotApplicable(f"this row has {len(pictures)} pictures, and may have {MOST_PICTURES}")
    images: list[Image.Image] = []
    for picture in pictures:
        if box is not None and not images:  # it counts pixels of the whole picture
            images.append(with_box(opened(picture), box))
        else:
            images.append(opened(picture, pixels=MAX_PIXELS))
    return tuple(images)


def judged(sample: Sample) -> str:
    """Returns the judged part of the completion."""
    return sample.completion[: judged_length(sample.completion)]


def penalise(
    verdict: Verdict,
    sample: Sample,
    mode: Mode,
    cut: int = 0,
    lowest: Mapping[str, float] | None = None,
) -> Verdict:
    """Returns the verdict on the whole completion, from the verdict on its judged part.

    The judge did not read the last `cut` characters of that part. The score is multiplied by the
    share of the completion that was read and, in default mode, by the share that is no filler.
    lowest: see `penalise_filler`; other parts, such as shares of votes, stay as the judge gave
    them.
    """
    text = judged(sample)
    lowest = lowest or {}
    if mode == "default":
        filler = find_filler(text, beside(sample))
        verdict = penalise_filler(verdict, len(text), filler, lowest)
    characters_read = len(text) - cut
    return penalise_unread(verdict, characters_read, len(sample.completion), lowest)
