"""Reads the list of differences in a judge's answer. Each quote is looked up in its text, and a
difference with a quote that is not in its text is refused.

answer = '[{"text": "red", "reference": "blue", "type": "color", "severity": 2}]'
differences, refused = read_differences(answer, "A red car.", ["A blue car."])
first = differences[0]
first.place, first.lacking, first.weight           # (2, 5), {0: (2, 6)}, 0.67
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from spanreward.rewards.reward.row_reward import SentencePlace
from spanreward.rewards.text.filler import NOT_LATIN
from spanreward.rewards.text.plain_text import plain_text
from spanreward.rewards.text.quoting import one_line
from spanreward.rewards.text.written_list import WORD_BEHIND, read_list

# The weight of a difference, by the number or a name of its severity.
WEIGHTS_OF_SEVERITIES = {
    **dict.fromkeys(("1", "slight", "minor"), 1 / 3),
    **dict.fromkeys(("2", "clear", "moderate"), 2 / 3),
    **dict.fromkeys(("3", "severe", "major"), 1.0),
}
# "3", "3 (severe)", "severe"
SEVERITY_PATTERN = re.compile(
    rf"({'|'.join(WEIGHTS_OF_SEVERITIES)})(?:\.0+)?(?:\W+[a-z]+)?\W*", re.IGNORECASE
)
MAX_QUOTED_WORDS = 40  # of a quote; further words are not looked up
MAX_KIND_CHARACTERS = 40  # of the judge's name for a difference


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between a text and its references.

    Args:
        weight: in (0, 1], by severity.
        place: the characters [start, end) of the wrong words in the text. None if the text leaves
            something out.
        lacking: the characters [start, end) of the quoted words in each reference that has them, by
            the reference's number, from 0 on.
        kind: the judge's name for the difference, such as "color".
    """

    weight: float
    place: SentencePlace | None
    lacking: dict[int, SentencePlace]
    kind: str


def read_differences(
    answer: str, text: str, references: Sequence[str]
) -> tuple[list[Difference], int] | None:
    """Returns the differences in a judge's answer, and the number of refused differences. The
    result is None if the answer is no list of differences.

    Example: for the text "A red car.", the quote "red" gives a difference at the characters [2, 5),
    and the quote "green" is refused. A difference is also refused if it has no quote, if it is
    repeated, or if it quotes the same words from the text and from a reference.
    """
    entries = read_list(answer)
    if entries is None:
        return None
    plain_text_and_origin = _plain_lower_case(text)
    plain_references = list(map(_plain_lower_case, references))
    differences: list[Difference] = []
    for entry in entries:
        quotes = _quotes_of(entry)
        if quotes is None:
            return None
        # If the judge quotes a word twice, the second quote is looked up at another place.
        used = {difference.place for difference in differences}
        place = find_words(quotes.words, *plain_text_and_origin, used)
        lacking: dict[int, SentencePlace] = {}
        for number, plain_reference in enumerate(plain_references):
            reference_place = find_words(quotes.reference_words, *plain_reference)
            if reference_place:
                lacking[number] = reference_place
        # refuse a quote that is in no text
        if quotes.words and place is None:
            continue
        if quotes.reference_words and not lacking:
            continue
        # refuse a difference without a quote, between equal quotes, or repeated
        is_repeated = any(
            earlier.place == place and earlier.lacking == lacking for earlier in differences
        )
        if is_repeated or quotes.words == quotes.reference_words:
            continue
        differences.append(Difference(quotes.weight, place, lacking, quotes.kind))
    refused = len(entries) - len(differences)
    return differences, refused


class _Quotes(NamedTuple):
    """The values of one difference, as the judge wrote it, before its quotes are looked up.

    words, reference_words: the words quoted from the text and from a reference; empty without a
    quote. weight: in (0, 1], by severity. kind: the judge's name for the difference.
    """

    words: list[str]
    reference_words: list[str]
    weight: float
    kind: str


def _quotes_of(entry: Any) -> _Quotes | None:
    """Returns the quotes, the weight and the kind of an entry of the judge's list; None if the
    entry is no difference: without a severity, or with a quote that is no text.

    Example: {"text": "red", "reference": "blue", "type": "color", "severity": 2} gives the words
    ["red"] and ["blue"], the weight 2/3 and the kind "color".
    """
    fields = _fields_of(entry)
    severity = SEVERITY_PATTERN.fullmatch(str(fields.get("severity")))
    if severity is None:
        return None
    quote = fields.get("text") or ""
    reference_quote = fields.get("reference") or ""
    if not isinstance(quote, str) or not isinstance(reference_quote, str):
        return None
    kind = one_line(str(fields.get("type") or "difference"))[:MAX_KIND_CHARACTERS]
    weight = WEIGHTS_OF_SEVERITIES[severity[1].casefold()]
    return _Quotes(_quoted_words(quote), _quoted_words(reference_quote), weight, kind)


def _fields_of(entry: Any) -> dict[str, Any]:
    """Returns the values of an object by key, with the keys in lower case and without signs, or {}
    for any other value. `{"**Severity**": 2}` gives `{"severity": 2}`.
    """
    if not isinstance(entry, dict):
        return {}
    fields: dict[str, Any] = {}
    for key, value in entry.items():
        letters = "".join(WORD_BEHIND.findall(str(key)))
        fields[letters.casefold()] = value
    return fields


def _quoted_words(quote: str) -> list[str]:
    """Returns the words of a quote, converted as `_plain_lower_case` converts the text."""
    plain, _ = _plain_lower_case(quote)
    return WORD_BEHIND.findall(plain)[:MAX_QUOTED_WORDS]


def _plain_lower_case(text: str) -> tuple[str, Sequence[int]]:
    """Returns the plain text in lower case, and for each of its characters the offset in `text`.

    Lower case comes first, because a capital letter may look Latin while its small letter does not.
    """
    # The capital I with a dot is replaced first. No other letter becomes two characters in lower
    # case, and two characters would shift all offsets after the letter.
    one_for_one = text.replace("\u0130", "I")
    return plain_text(one_for_one.lower())


def find_words(
    words: Sequence[str],
    plain: str,
    origin: Sequence[int],
    used: Collection[Any] = (),
) -> SentencePlace | None:
    """Returns the range (start, end) of characters where the words first occur one after another,
    or None. A range in `used` is skipped.

    Example: the words ["red", "car"] are at [2, 10) in "A red, car!". The returned range is in the
    text as written.

    plain: the plain text in lower case. origin: for each character of the plain text, the offset in
    the text as written.
    """
    if not words:
        return None
    pattern = r"[\W_]+".join(map(re.escape, words))
    if not NOT_LATIN.search("".join(words)):
        # Only whole words match. Scripts such as Chinese do not separate words, so this is for
        # Latin only.
        pattern = rf"(?<![^\W_]){pattern}(?![^\W_])"
    for match in re.finditer(pattern, plain):
        start = origin[match.start()]
        end = origin[match.end() - 1] + 1
        place = (start, end)
        if place not in used:
            return place
    return None
