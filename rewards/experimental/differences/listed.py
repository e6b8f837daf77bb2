"""The differences in a judge's answer. Each quote is looked up in its text, and one that is not
there is refused.

answer = '[{"text": "red", "reference": "blue", "type": "color", "severity": 2}]'
differences, refused = read_differences(answer, "A red car.", ["A blue car."])
first = differences[0]
first.place, first.lacking, first.weight           # (2, 5), {0: (2, 6)}, 0.67
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from spanreward.rewards.reward.row_reward import Place
from spanreward.rewards.text.filler import NOT_LATIN
from spanreward.rewards.text.plain_text import plain_text
from spanreward.rewards.text.quoting import one_line
from spanreward.rewards.text.written_list import WORD_BEHIND, read_list

# by a severity's number and names
WEIGHTS = {
    **dict.fromkeys(("1", "slight", "minor"), 1 / 3),
    **dict.fromkeys(("2", "clear", "moderate"), 2 / 3),
    **dict.fromkeys(("3", "severe", "major"), 1.0),
}
# "3", "3 (severe)", "severe"
SEVERITY = re.compile(rf"({'|'.join(WEIGHTS)})(?:\.0+)?(?:\W+[a-z]+)?\W*", re.IGNORECASE)
MAX_QUOTED_WORDS = 40  # of a quote; more are not looked up
MAX_KIND_CHARACTERS = 40  # of the judge's word for a difference


@dataclass(frozen=True, slots=True)
class Difference:
    """weight: in (0, 1], by severity. place: the wrong words' characters [start, end) in the text,
    None for what it leaves out. lacking: those of the reference's words, by the reference's number.
    kind: the judge's word for it.
    """

    weight: float
    place: Place | None
    lacking: dict[int, Place]
    kind: str


def read_differences(
    answer: str, text: str, references: Sequence[str]
) -> tuple[list[Difference], int] | None:
    """Returns the differences, and how many others were refused: those with a quote that is in no
    text, with no quote, with the same words from both texts, and repeated ones. None where the
    answer is no list of differences.
    """
    entries = read_list(answer)
    if entries is None:
        return None
    plain = _plain(text)
    plain_references = list(map(_plain, references))
    differences: list[Difference] = []
    for entry in entries:
        fields = _fields_of(entry)
        quote = fields.get("text") or ""
        reference_quote = fields.get("reference") or ""
        severity = SEVERITY.fullmatch(str(fields.get("severity")))
        if not (severity and isinstance(quote, str) and isinstance(reference_quote, str)):
            return None
        words, reference_words = _quoted_words(quote), _quoted_words(reference_quote)
        used = {difference.place for difference in differences}
        place = find_words(words, *plain, used)
        lacking: dict[int, Place] = {}
        for number, plain_reference in enumerate(plain_references):
            reference_place = find_words(reference_words, *plain_reference)
            if reference_place:
                lacking[number] = reference_place
        is_quoted = bool(words) == bool(place) and bool(reference_words) == bool(lacking)
        is_repeated = (place, lacking) in [
            (earlier.place, earlier.lacking) for earlier in differences
        ]
        if is_quoted and not is_repeated and words != reference_words:
            kind = one_line(str(fields.get("type") or "difference"))[:MAX_KIND_CHARACTERS]
            weight = WEIGHTS[severity[1].casefold()]
            differences.append(Difference(weight, place, lacking, kind))
    return differences, len(entries) - len(differences)


def _fields_of(entry: Any) -> dict[str, Any]:
    """Returns the values of an object by key, in lower case and without signs; {} for none."""
    fields: dict[str, Any] = {}
    if isinstance(entry, dict):
        for key, value in entry.items():
            fields["".join(WORD_BEHIND.findall(str(key))).casefold()] = value
    return fields


def _quoted_words(quote: str) -> list[str]:
    plain, _ = _plain(quote)
    return WORD_BEHIND.findall(plain)[:MAX_QUOTED_WORDS]


def _plain(text: str) -> tuple[str, Sequence[int]]:
    """Returns the plain text, in lower case first: a letter that looks Latin may not in the other
    case.
    """
    return plain_text(text.replace("\u0130", "I").lower())  # only that letter would become two


def find_words(
    words: Sequence[str], plain: str, origin: Sequence[int], used: Collection[Any] = ()
) -> Place | None:
    """Returns where the words first stand in a row outside the `used` places, or None. plain,
    origin: of `_plain`.
    """
    if not words:
        return None
    pattern = r"[\W_]+".join(map(re.escape, words))
    if not NOT_LATIN.search("".join(words)):
        # whole words; other scripts do not part them by spaces
        pattern = rf"(?<![^\W_]){pattern}(?![^\W_])"
    for match in re.finditer(pattern, plain):
        place = origin[match.start()], origin[match.end() - 1] + 1
        if place not in used:
            return place
    return None
