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

SPOILT = -9998.0  # vLLM writes -9999 for minus infinity
NEARLY_ALL = 0.95  # of the probability: a token with so much is the judge's clear answer
# How tokenizers spell a space before a word.
SPACES_OF_TOKENIZERS = " \u0120\u2581"


def why_no_distribution(
    first: Sequence[tuple[str, float]], words: Sequence[str], scale: Sequence[str]
) -> str:
    """Returns why the log-probabilities are no distribution over tokens, or "" if they are one.

    first: the tokens with their log-probabilities. words: the text of each token.
    """
    # In a batch with a question that asks for exact ids, vLLM may return a single real
    # log-probability. The rest is about -9999.
    real = [logprob for _, logprob in first if logprob > SPOILT]
    is_one_of_several = len(first) > 1 and len(real) == 1
    if is_one_of_several and real[0] < math.log(NEARLY_ALL):
        return "all but one log-probability are those of no token: let nobody else ask it"
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

    first: the tokens with their log-probabilities. words: the text of each token.
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
