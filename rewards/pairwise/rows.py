"""Which rows of a batch can be judged, and by what."""

from collections.abc import Callable, Sequence

from rewards.pairwise.charge import judged
from rewards.pairwise.questions import Evidence, Shown, show
from rewards.verdict import Sample, Status, Verdict


def sort_rows(
    samples: Sequence[Sample], evidence: Evidence, lacks: Callable[[Sample], str]
) -> tuple[dict[int, Shown], dict[int, Verdict]]:
    """By number: what the rows that lack nothing are judged by, and the verdicts that need no judge, on rows that lack
    something and on completions that say nothing.

    lacks: what else a row lacks, in one sentence, "" for nothing.
    """
    shown: dict[int, Shown] = {}
    verdicts: dict[int, Verdict] = {}
    for number, sample in enumerate(samples):
        found = show(sample, evidence)
        lacking = lacks(sample)
        if isinstance(found, str) or lacking:
            verdicts[number] = Verdict(None, Status.NOT_APPLICABLE, note=lacking or str(found))
            continue
        shown[number] = found
        if not judged(sample).strip():
            verdicts[number] = Verdict(0.0, Status.EMPTY, note="the completion says nothing")
    return shown, verdicts
