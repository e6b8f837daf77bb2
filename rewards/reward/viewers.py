"""Refuses, before anything starts, a metric that shows pictures to a judge that reads text only.

    reward = HarmonicReward("match")
    unseeing(reward)            # "harmonic: the judge match reads text only, ..."
    check_seen(reward, samples) # a ValueError of that sentence, if the samples have pictures

A model whose files are not on this machine yet is taken to see: nothing is downloaded here. A
row's question says it later (`Judge.rate`).
"""

from collections.abc import Iterable

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.judges.judge import UNSEEING
from spanreward.rewards.reward.reward import Reward


def unseeing(reward: Reward) -> str:
    """Returns the sentence on a viewer of the reward that is known to read text only, "" if there
    is none.
    """
    for judge in reward.viewers:
        if judge.reads_text_only():
            cures = [UNSEEING.format(judge=judge)]
            if reward.in_words:
                cures.append(reward.in_words)
            return f"{reward.__name__}: {', or '.join(cures)}."
    return ""


def check_viewers(reward: Reward) -> None:
    """Raises ValueError for a reward with a viewer that is known to read text only."""
    sentence = unseeing(reward)
    if sentence:
        raise ValueError(sentence)


def check_seen(reward: Reward, samples: Iterable[Sample]) -> None:
    """Raises ValueError for a reward that would show pictures of these samples to a judge that is
    known to read text only. Pictures are not opened.
    """
    sentence = unseeing(reward)
    # rows without pictures can be judged by their context
    if sentence and any(reward.shows_pictures(sample) for sample in samples):
        raise ValueError(sentence)


def only_pictures(reward: Reward) -> bool:
    """Returns whether nothing can take the place of pictures in a row of the reward."""
    if not reward.one_of:
        return False
    return set(reward.one_of) <= {"image", "images"}
