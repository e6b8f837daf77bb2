"""The rows of a batch: which ones need a judge, and what their completions lose for filler and unread text.

shown, verdicts = sort_rows(samples, lambda sample: seen(sample, "picture"))      # by the row's number
penalise(verdict, sample, "default")
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from spanreward.rewards.base.checks import Mode
from spanreward.rewards.base.verdict import NotApplicable, Sample, Status, Verdict
from spanreward.rewards.text.filler import beside, find_filler, penalise_filler
from spanreward.rewards.text.length import judged_length, penalise_unread

Shown = TypeVar("Shown")


def judged(sample: Sample) -> str:
    """Returns the judged part of the completion."""
    return sample.completion[: judged_length(sample.completion)]


def sort_rows(
    samples: Sequence[Sample], show: Callable[[Sample], Shown], lowest: Mapping[str, float] | None = None
) -> tuple[dict[int, Shown], dict[int, Verdict]]:
    """Returns what the judge sees of each usable row, and the verdicts without a judge, both by the row's number.

    Such verdicts are those on unusable rows and on empty completions. show(sample): raises NotApplicable for an
    unusable row. lowest: the parts of the verdict on an empty completion.
    """
    shown: dict[int, Shown] = {}
    verdicts: dict[int, Verdict] = {}
    for number, sample in enumerate(samples):
        try:
            shown[number] = show(sample)
        except NotApplicable as reason:
            verdicts[number] = Verdict(None, Status.NOT_APPLICABLE, note=str(reason))
            continue
        if not judged(sample).strip():
            verdicts[number] = Verdict(0.0, Status.EMPTY, dict(lowest or {}), note="the completion says nothing")
    return shown, verdicts


def penalise(
    verdict: Verdict, sample: Sample, mode: Mode, cut: int = 0, lowest: Mapping[str, float] | None = None
) -> Verdict:
    """Returns the verdict on the whole completion, from the verdict on its judged part.

    The judge did not read the last `cut` characters of that part. The score is multiplied by the share of the
    completion that was read and, in default mode, by the share that is no filler. lowest: see `penalise_filler`; other
    parts, such as shares of votes, stay as the judge gave them.
    """
    text = judged(sample)
    if mode == "default":
        verdict = penalise_filler(verdict, text, find_filler(text, beside(sample)), lowest or {})
    return penalise_unread(verdict, len(text) - cut, len(sample.completion), lowest or {})
