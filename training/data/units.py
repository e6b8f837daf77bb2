"""Checks that the numbers of people's marks count characters, and not another unit.

    check_units([Mark("line 1: ", "🚢🚢 A green heron.", 7, 12)], "mistakes")
    # a ValueError: in UTF-16 units it would be [5, 10] = 'green'

JavaScript, Java and tools such as Label Studio count UTF-16 units, of which an emoji has two. Some
tools count bytes. If such numbers are read as characters, every mark after an emoji is shifted, and
mostly begins or ends inside of a word. That is how a wrong unit is found.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

# Units other than characters: (Python's encoding, bytes per unit). If several units fit, a message
# names the first.
ENCODINGS = {"UTF-16 units": ("utf-16-le", 2), "UTF-8 bytes": ("utf-8", 1)}
MAX_WORD_CHARACTERS = 40  # a message quotes at most so many characters on each side of a place
# Letters of languages without spaces between words, or with particles attached to words: Thai to
# Burmese, Khmer, kana and Chinese, Hangul. In these languages, a word may end between two letters.
UNSPACED = re.compile(
    "[\u0e00-\u109f\u1780-\u17ff\u3040-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)


@dataclass(frozen=True, slots=True)
class Mark:
    """Numbers [start, end) that mark words of a text, in a unit that is not known yet.

    Attributes:
        name: the beginning of messages about this mark, such as "line 1: ".
        text: the marked text.
        start, end: the numbers as the file holds them.
        words: the marked words, if the tool has written the words too; otherwise "".
    """

    name: str
    text: str
    start: int
    end: int
    words: str = ""

    def fits(self, place: tuple[int, int] | None) -> bool:
        """Returns whether the mark makes sense if it marks the characters `place`, [start, end).

        The characters must be equal to `words`. If `words` is "", the characters must not begin or
        end inside of a word. place: None, or a place outside of the text, gives False.
        """
        if place is None:
            return False
        start, end = place
        if not 0 <= start < end <= len(self.text):
            return False
        if self.words:
            marked = self.text[start:end]
            return marked.split() == self.words.split()
        begins_within = within_word(self.text, start)
        ends_within = within_word(self.text, end)
        return not begins_within and not ends_within

    def counted_in(self, unit: str) -> tuple[int, int] | None:
        """Returns the marked characters [start, end) if the mark's numbers count `unit`, a key of
        ENCODINGS. Returns None if a number is inside of a character or past the text's end.
        """
        start = character_at(self.text, self.start, unit)
        end = character_at(self.text, self.end, unit)
        if start is None or end is None:
            return None
        return start, end

    @property
    def place(self) -> tuple[int, int]:
        """The numbers as a pair, (start, end)."""
        return self.start, self.end


def check_units(marks: Sequence[Mark], column: str) -> list[Mark]:
    """Returns the marks that begin or end inside of a word in every unit.

    marks: all marks of a file. column: the name of the marks' column, for messages. Raises
    ValueError if a mark fits only in another unit than characters. Also raises ValueError for a
    mark whose `words` differ from its characters in every unit.
    """
    wrong = [mark for mark in marks if not mark.fits(mark.place)]
    # if a mark fits in another unit, the numbers of the file count this unit
    for mark in wrong:
        for unit in ENCODINGS:
            place = mark.counted_in(unit)
            if place is not None and mark.fits(place):
                raise _other_unit(mark, place, unit, marks, column)
    # the other numbers count characters, and mark a part of a word
    parts = []
    for mark in wrong:
        if mark.end > len(mark.text):
            continue  # the caller raises for a mark past the text's end
        if mark.words:
            marked = mark.text[mark.start : mark.end]
            raise ValueError(
                f"{mark.name}a mark of {column!r} says {mark.words!r}, and its characters "
                f"{[*mark.place]} are {marked!r}"
            )
        parts.append(mark)
    return parts


def _other_unit(
    mark: Mark,
    place: tuple[int, int],
    unit: str,
    marks: Sequence[Mark],
    column: str,
) -> ValueError:
    """Returns the error for a mark that fits in `unit` and not in characters.

    place: the marked characters [start, end), if the mark's numbers count `unit`. marks: all marks
    of the file. If all of these marks fit in `unit`, the message adds so.
    """
    # a single mark may fit in `unit` by chance, but hardly all marks of a file
    everywhere = ""
    all_fit = all(other.fits(other.counted_in(unit)) for other in marks)
    if len(marks) > 1 and all_fit:
        everywhere = f", as would all {len(marks)} marks"
    start, end = place
    encoding, size = ENCODINGS[unit]
    count = "n" if size == 1 else f"{size} * n"
    return ValueError(
        f"{mark.name}a mark of {column!r}, {[*mark.place]}, {_fault(mark)}: in {unit} it would be "
        f"the characters {[start, end]} = {mark.text[start:end]!r}{everywhere}; give characters, "
        f"len(text.encode('{encoding}')[:{count}].decode('{encoding}')) for n {unit}"
    )


def _fault(mark: Mark) -> str:
    """Returns the fault of a mark that does not fit, such as "begins inside the word 'heron'"."""
    if mark.end > len(mark.text):
        return f"ends past its text of {len(mark.text)} characters"
    for verb, place in (("begins", mark.start), ("ends", mark.end)):
        if within_word(mark.text, place):
            # a text without spaces may be a single long word, so only a part of a word is quoted
            first = max(0, place - MAX_WORD_CHARACTERS)
            before = re.search(r"(?<!\w)\w*+\Z", mark.text[first:place])
            behind = re.match(r"\w*", mark.text[place : place + MAX_WORD_CHARACTERS])
            if before is not None and behind is not None:
                return f"{verb} inside the word {before.group() + behind.group()!r}"
    marked = mark.text[mark.start : mark.end]
    return f"is {marked!r}, and not {mark.words!r}"


def character_at(text: str, place: int, unit: str) -> int | None:
    """Returns the number of characters in the first `place` units of the text; None if these units
    end inside of a character, or if the text has fewer units.

    unit: a key of ENCODINGS. Example: 2 UTF-16 units of an emoji give 1.
    """
    encoding, size = ENCODINGS[unit]
    content = text.encode(encoding, "surrogatepass")  # a text may hold half an emoji
    bytes_before = place * size
    if place < 0 or bytes_before > len(content):
        return None
    try:
        return len(content[:bytes_before].decode(encoding))
    except UnicodeDecodeError:
        return None


def within_word(text: str, place: int) -> bool:
    """Returns whether the place is inside of a word or number: the characters before and behind the
    place are two letters, or two digits. In languages without spaces, the result is False.
    """
    if not 0 < place < len(text):
        return False
    sides = text[place - 1 : place + 1]
    if UNSPACED.search(sides):
        return False
    # a letter next to a digit, as in "3cm", begins a new word
    return sides.isalpha() or sides.isdigit()
