"""The rows of a batch: which ones need a judge, and what their completions lose for filler and unread text."""

from collections.abc import Callable, Sequence

from spanreward.rewards.base.checks import Mode
from spanreward.rewards.base.verdict import NotApplicable, Sample, Status, Verdict
from spanreward.rewards.pairwise.questions import Shown, show
from spanreward.rewards.reward.evidence import Evidence
from spanreward.rewards.text.filler import beside, find_filler, penalise_filler
from spanreward.rewards.text.length import judged_length, penalise_unread


def sort_rows(
    samples: Sequence[Sample], evidence: Evidence, check: Callable[[Sample], None]
) -> tuple[dict[int, Shown], dict[int, Verdict]]:
    """Returns what the judge sees of each usable row, and the verdicts without a judge, both by the row's number.

    Such verdicts are those on unusable rows and on empty completions. check(sample): raises NotApplicable for a row
    that lacks something else.
    """
    shown: dict[int, Shown] = {}
    verdicts: dict[int, Verdict] = {}
    for number, sample in enumerate(samples):
        try:
            check(sample)
            shown[number] = show(sample, evidence)
        except NotApplicable as reason:
            verdicts[number] = Verdict(None, Status.NOT_APPLICABLE, note=str(reason))
            continue
        if not judged(sample).strip():
            verdicts[number] = Verdict(0.0, Status.EMPTY, note="the completion says nothing")
    return shown, verdicts


def judged(sample: Sample) -> str:
    """Returns the judged part of the completion."""
    return sample.completion[: judged_length(sample.completion)]


def penalise(verdict: Verdict, sample: Sample, mode: Mode, cut: int = 0) -> Verdict:
    """Returns the verdict on the whole completion, from the verdict on its judged part.

    The judge did not read the last `cut` characters of that part. The score is multiplied by the share of the
    completion that was read and, in default mode, by the share that is no filler.
    """
    text = judged(sample)
    if mode == "default":
        verdict = penalise_filler(verdict, text, find_filler(text, beside(sample)), _unchanged)
    return penalise_unread(verdict, len(text) - cut, len(sample.completion), _unchanged)


def _unchanged(parts: dict[str, float], kept: float) -> dict[str, float]:
    """Returns the same parts: shares of votes and ratings of criteria stay as the judge gave them."""
    return dict(parts)
