"""Refuses a metric that shows pictures to a judge that reads only text. The check comes before
anything starts.

    reward = HarmonicReward("match")
    unseeing_sentence(reward)   # "harmonic: the judge match reads text only, ..."
    check_seen(reward, samples) # raises ValueError with this sentence if the samples have pictures

The check downloads nothing. A model without files on this machine therefore passes. If that model
reads only text, each question with a picture fails later (`Judge.rate`).
"""

from collections.abc import Iterable

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.judges.judge import UNSEEING_MESSAGE
from spanreward.rewards.reward.reward import Reward


def unseeing_sentence(reward: Reward) -> str:
    """Returns a sentence about the first viewer of the reward that reads only text, or "".

    A viewer is a judge that is shown pictures. The sentence names ways to repair the reward:
    "harmonic: the judge match reads text only, ...: take one that sees, ..., or evidence='context'
    with a text that says what the picture shows."
    """
    for judge in reward.viewers:
        if judge.reads_text_only():
            message = UNSEEING_MESSAGE.format(judge=judge)
            option = reward.in_words  # the reward's option for texts in place of pictures, or ""
            if option:
                message += f", or {option}"
            return f"{reward.__name__}: {message}."
    return ""


def check_viewers(reward: Reward) -> None:
    """Raises ValueError if a viewer of the reward is known to read only text."""
    sentence = unseeing_sentence(reward)
    if sentence:
        raise ValueError(sentence)


def check_seen(reward: Reward, samples: Iterable[Sample]) -> None:
    """Raises ValueError if the reward would show pictures of these samples to a judge that is known
    to read only text. No picture is opened.
    """
    sentence = unseeing_sentence(reward)
    # rows without pictures are judged by their context, so they need no judge of pictures
    if sentence and any(reward.shows_pictures(sample) for sample in samples):
        raise ValueError(sentence)


def only_pictures(reward: Reward) -> bool:
    """Returns whether every row of the reward needs a picture, so that no other column can replace
    it.
    """
    if not reward.one_of:
        return False
    return set(reward.one_of) <= {"image", "images"}
