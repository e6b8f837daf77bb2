"""Why the judge rated as it did, in its own words (only HarmonicEval's judges say so).

reasons(rewards, samples, verdicts)[0]      # {"harmonic_clarity": "It is clear."}
"""

import logging
from collections.abc import Sequence

from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.reward import Explaining, Reward
from spanreward.rewards.verdict import Sample, Status, Verdict

log = logging.getLogger(__name__)


def reasons(
    rewards: Sequence[Reward], samples: Sequence[Sample], verdicts: Sequence[Sequence[Verdict]]
) -> list[dict[str, str]]:
    """Returns, per sample, why it was judged so: {"harmonic_clarity": the judge's words, or why there are none}.
    verdicts: each reward's; the first ones are those of the samples. A judge that breaks does not end the comparison.
    """
    told: list[dict[str, str]] = [{} for _ in samples]
    for reward, judged in zip(rewards, verdicts, strict=True):
        if isinstance(reward, Explaining) and samples:
            name = reward.__name__
            try:
                found = reward.explain(samples, judged[: len(samples)])
            except Exception as error:
                log.exception("%s could not say why", name)
                found = [{"": Failure(Status.ERROR, f"{type(error).__name__}: {error}")} for _ in samples]
            for entry, why in zip(told, found, strict=True):
                entry |= {f"{name}_{what}".rstrip("_"): in_words(reason) for what, reason in why.items()}
    return told


def in_words(reason: str | Failure) -> str:
    if isinstance(reason, Failure):
        return f"no reason: {reason.message}"
    return reason.strip() or "no reason: the judge wrote nothing"
