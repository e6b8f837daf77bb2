"""Evidence for the rows of a batch, and penalties for filler and unread text.

evidence_of_sample(sample, "picture")   # (pictures, "") or ((), context)
penalise_row(verdict, sample, "default")
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from PIL import Image

from spanreward.rewards.base.checks import Mode
from spanreward.rewards.base.verdict import NotApplicable, Sample, Verdict
from spanreward.rewards.rows.pictures import MAX_PIXELS, MOST_PICTURES, opened_picture, with_box
from spanreward.rewards.text.filler import find_filler, penalise_filler, text_beside_completion
from spanreward.rewards.text.length import judged_length, penalise_unread

Box = tuple[float, float, float, float]
Evidence = Literal["picture", "context"]
EVIDENCE = ("picture", "context")


def evidence_columns(evidence: Evidence | Literal["prompt"]) -> tuple[str, ...]:
    """Returns the dataset columns that can hold the evidence. A row needs one of these columns.

    "picture" gives ("image", "images", "context"), because a context can replace a picture.
    "prompt" gives (), because the prompt alone is enough.
    """
    if evidence == "prompt":
        return ()
    if evidence == "context":
        return ("context",)
    return ("image", "images", "context")


def evidence_of_sample(
    sample: Sample, evidence: Evidence, box: Box | None = None
) -> tuple[tuple[Image.Image, ...], str]:
    """Returns the evidence that the judge sees: (pictures, "") or ((), context).

    The context is a text that describes the picture. It replaces the pictures in a row without
    pictures. With evidence "context" the judge always sees the context, never a picture.

    box: a region (x0, y0, x1, y1) of the first picture, see `open_pictures`.

    Raises NotApplicable for a row without the evidence, and for pictures that cannot be used.
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
    """Returns a row's pictures, decoded and scaled for judges.

    Args:
        pictures: as `opened_picture` takes them, such as PIL images or paths.
        box: (x0, y0, x1, y1) in pixels of the first picture. A red box is drawn there.

    Raises NotApplicable for more than MOST_PICTURES pictures, and for a picture that cannot be
    used.
    """
    if len(pictures) > MOST_PICTURES:
        raise NotApplicable(f"this row has {len(pictures)} pictures, and may have {MOST_PICTURES}")
    images: list[Image.Image] = []
    for number, picture in enumerate(pictures):
        if box is not None and number == 0:
            # the box is in pixels of the unscaled picture, which `with_box` scales then
            unscaled = opened_picture(picture)
            images.append(with_box(unscaled, box))
        else:
            images.append(opened_picture(picture, pixels=MAX_PIXELS))
    return tuple(images)


def judged_beginning(sample: Sample) -> str:
    """Returns the judged part of the completion: its beginning, up to a length limit."""
    return sample.completion[: judged_length(sample.completion)]


def penalise_row(
    verdict: Verdict,
    sample: Sample,
    mode: Mode,
    cut: int = 0,
    lowest: Mapping[str, float] | None = None,
) -> Verdict:
    """Returns the verdict on the whole completion, given the verdict on its judged part: the score
    0.8 becomes 0.4 if the judge read half of the characters.

    The score is multiplied by the share of the completion's characters that the judge read. In
    default mode the score is also multiplied by the share of the judged part without filler. Parts
    in `lowest` shrink with the score. Other parts, such as shares of votes, stay the same.

    Args:
        sample: the sample with the whole completion.
        cut: the number of characters at the end of the judged part that the judge did not read.
        lowest: the lowest value of each part that shrinks, such as {"f1": 0.0}. See
            `penalise_filler`.
    """
    text = judged_beginning(sample)
    lowest = lowest or {}
    if mode == "default":
        filler = find_filler(text, text_beside_completion(sample))
        verdict = penalise_filler(verdict, len(text), filler, lowest)
    characters_read = len(text) - cut
    return penalise_unread(verdict, characters_read, len(sample.completion), lowest)
