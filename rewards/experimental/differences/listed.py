"""The differences in a judge's answer. Each quote is looked up in its text, and one that is not
there is refused.

answer = '[{"text": "red", "reference": "blue", "type": "color", "severity": 2}]'
found, refused = read_differences(answer, "A red car.", ["A blue car."])
found[0].place, found[0].lacking, found[0].weight           # (2, 5), {0: (2, 6)}, 0.67
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

NAMES = (("1 slight minor", 1 / 3), ("2 clear moderate", 2 / 3), ("3 severe major", 1.0))
WEIGHTS = {name: weight for names, weight in NAMES for name in names.split()}
# "3", "3 (severe)", "severe"
SEVERITY = re.compile(rf"({'|'.join(WEIGHTS)})(?:\.0+)?(?:\W+[a-z]+)?\W*", re.IGNORECASE)
QUOTED = 40  # words of a quote; more are not looked up


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
    read, *others = [_plain(one) for one in (text, *references)]
    found: list[Difference] = []
    entries = read_list(answer)
    if entries is None:
        return None
    for entry in entries:
        pairs = entry.items() if isinstance(entry, dict) else ()
        given = {"".join(WORD_BEHIND.findall(str(key))).casefold(): value for key, value in pairs}
        quotes = [given.get(key) or "" for key in ("text", "reference")]
        severity = SEVERITY.fullmatch(str(given.get("severity")))
        if not severity or not all(isinstance(quote, str) for quote in quotes):
            return None
        said, wanted = (WORD_BEHIND.findall(_plain(quote)[0])[:QUOTED] for quote in quotes)
        place = find_words(said, *read, {one.place for one in found})
        lacking = {}
        for number, other in enumerate(others):
            place_there = find_words(wanted, *other)
            if place_there:
                lacking[number] = place_there
        repeated = any((place, lacking) == (one.place, one.lacking) for one in found)
        if (
            not (said == wanted or repeated)
            and bool(said) == bool(place)
            and bool(wanted) == bool(lacking)
        ):
            kind = one_line(str(given.get("type") or "difference"))[:40]
            found.append(Difference(WEIGHTS[severity[1].casefold()], place, lacking, kind))
    return found, len(entries) - len(found)


def _plain(text: str) -> tuple[str, Sequence[int]]:
    """Returns the plain text, in lower case first: a letter that looks Latin may not in the other
    case.
    """
    return plain_text(text.replace("\u0130", "I").lower())  # only that letter would become two


def find_words(
    words: Sequence[str], plain: str, origin: Sequence[int], taken: Collection[Any] = ()
) -> Place | None:
    """Returns where the words first stand in a row outside the `taken` places, or None. plain,
    origin: of `_plain`.
    """
    edges = ("", "") if NOT_LATIN.search("".join(words)) else (r"(?<![^\W_])", r"(?![^\W_])")
    matches = re.finditer(r"[\W_]+".join(map(re.escape, words)).join(edges), plain) if words else ()
    places = ((origin[match.start()], origin[match.end() - 1] + 1) for match in matches)
    return next((place for place in places if place not in taken), None)
