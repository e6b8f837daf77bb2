"""Checks the log-probabilities of a server's answer, and groups them by the entries of a scale.

    why_no_distribution(answer.first, words, ("1", "2"))  # "" if a rating can be read
    places_by_entry([" 1", "2", "1"], ("1", "2"))         # {"1": [0, 2], "2": [1]}

`answer.first` has the likeliest tokens at the first position, each with its natural
log-probability.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from spanreward.rewards.judges.encoding.chat import MIN_MASS

SPOILT = -9998.0  # no log-probability is so small; vLLM writes -9999 for minus infinity
NEARLY_ALL = 0.95  # of the probability: a token with so much is the judge's clear answer
# How tokenizers spell a space before a word.
SPACES_OF_TOKENIZERS = " \u0120\u2581"


def why_no_distribution(
    first: Sequence[tuple[str, float]], words: Sequence[str], scale: Sequence[str]
) -> str:
    """Returns why the log-probabilities are no distribution over tokens, or "" if they are one.

    [("4", -0.7), ("5", -9999.0), ("3", -9999.0)] is no distribution: "4" has half of the
    probability, and no other token has the other half.

    first: the tokens as the server writes them, with their natural log-probabilities. words: the
    texts of the same tokens.
    """
    # vLLM answers several questions in one batch. If another question in the batch asks for the
    # log-probabilities of certain token ids, vLLM may spoil this answer: only one token keeps its
    # log-probability, and every other token gets about -9999.
    real = [logprob for _, logprob in first if logprob > SPOILT]
    only_one_is_real = len(first) > 1 and len(real) == 1
    # (If the one token has nearly all of the probability, the others may truly have none.)
    if only_one_is_real and real[0] < math.log(NEARLY_ALL):
        return (
            "all log-probabilities but one are spoilt, as by questions of another client: give the "
            "judge a server of its own"
        )
    repeated = repeated_word(first, words, scale)
    if repeated:
        return f"the judge gave the token {repeated!r} twice, which is no distribution"
    return ""


def repeated_word(
    first: Sequence[tuple[str, float]],
    words: Sequence[str],
    scale: Sequence[str],
) -> str:
    """Returns a word with an entry of the scale that is listed twice with equal probability, or ""
    if there is no such word.

    For [("4", -0.7), ("4", -0.7)] the word is "4": the server has listed one token twice. Two
    different tokens with the same text would hardly have exactly the same probability.

    first: the tokens as the server writes them, with their natural log-probabilities. words: the
    texts of the same tokens.
    """
    counts: Mapping[tuple[str, float], int] = Counter(first)
    for word, pair in zip(words, first, strict=True):
        _, logprob = pair
        # Unlikely tokens are not compared: rounding may give them equal probabilities.
        is_twice = counts[pair] > 1 and logprob >= math.log(MIN_MASS)
        if is_twice and any(entry in word for entry in scale):
            return word
    return ""


def places_by_entry(words: Sequence[str], scale: Sequence[str]) -> dict[str, list[int]]:
    """Returns for each entry of the scale the places of the tokens that spell the entry, with or
    without a space before it. A place is a token's index in `words`.

    The words [" 1", "2", "1"] and the scale ("1", "2") give {"1": [0, 2], "2": [1]}. Several tokens
    may spell one entry, and their probabilities are then added up.

    words: the text of each token.
    """
    places: dict[str, list[int]] = {}
    for entry in scale:
        places[entry] = []
    for place, word in enumerate(words):
        entry = word.lstrip(SPACES_OF_TOKENIZERS)
        if entry in places:
            places[entry].append(place)
    return places
