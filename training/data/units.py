"""In what the numbers of people's marks count: characters, or the units of another tool.

    check_units([Mark("line 1: ", "🚢🚢 A green heron.", 7, 12)], "mistakes")
    # a ValueError: in UTF-16 units it would be [5, 10] = 'green'

JavaScript and Java count UTF-16 units, and tools such as Label Studio do so too. An emoji has two.
Others count bytes. Then every mark behind such a character is shifted, and begins or ends within a
word.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

# Units other than characters: Python's encoding, and the bytes of one unit. Of several that fit,
# the first is named.
ENCODINGS = {"UTF-16 units": ("utf-16-le", 2), "UTF-8 bytes": ("utf-8", 1)}
MAX_WORD_CHARACTERS = 40  # characters of a word that a message has on each side
# Letters of languages that write no spaces, or glue particles to a word: Thai to Burmese, Khmer,
# kana and Chinese, Hangul. There a place between two letters may end a word.
UNSPACED = re.compile(
    "[\u0e00-\u109f\u1780-\u17ff\u3040-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)


@dataclass(frozen=True, slots=True)
class Mark:
    """Numbers [start, end) that mark words of a text, in a unit that is not known yet.

    Attributes:
        name: what a message about it begins with.
        text: the text that is marked.
        start, end: the numbers as they are written.
        words: what the tool says they are, "" where it does not.
    """

    name: str
    text: str
    start: int
    end: int
    words: str = ""

    def fits(self, place: tuple[int, int] | None) -> bool:
        """Returns whether the characters [start, end) are the mark's words, or whole words where
        the tool does not say which words they are. place: None does not fit.
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
        """Returns the characters that the numbers are in a unit of ENCODINGS; None where one of
        them lies within a character or past the end.
        """
        start = character_at(self.text, self.start, unit)
        end = character_at(self.text, self.end, unit)
        if start is None or end is None:
            return None
        return start, end

    @property
    def place(self) -> tuple[int, int]:
        return self.start, self.end


def check_units(marks: Sequence[Mark], column: str) -> list[Mark]:
    """Returns the marks that are parts of words in every unit. Raises ValueError where some are
    whole words in another unit only, and where they are not the words that they are said to be.
    """
    wrong = [mark for mark in marks if not mark.fits(mark.place)]
    # a mark that fits in another unit tells what the numbers are
    for mark in wrong:
        for unit in ENCODINGS:
            place = mark.counted_in(unit)
            if place is not None and mark.fits(place):
                raise _other_unit(mark, place, unit, marks, column)
    # the others are in characters, and somebody has marked a part of a word
    parts = []
    for mark in wrong:
        if mark.end > len(mark.text):
            continue  # whoever takes the places refuses it
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
    """Returns the error for a mark that fits in this unit alone. place: its characters [start, end)
    then. marks: all of the file; that all of them fit then is told too.
    """
    # one mark may fit by chance, and all of them hardly
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
    """Returns what is wrong with a mark that does not fit, for a sentence about it."""
    if mark.end > len(mark.text):
        return f"ends past its text of {len(mark.text)} characters"
    for verb, place in (("begins", mark.start), ("ends", mark.end)):
        if within_word(mark.text, place):
            # a text without spaces may be one long word, which a message does not quote whole
            first = max(0, place - MAX_WORD_CHARACTERS)
            before = re.search(r"(?<!\w)\w*+\Z", mark.text[first:place])
            behind = re.match(r"\w*", mark.text[place : place + MAX_WORD_CHARACTERS])
            if before is not None and behind is not None:
                return f"{verb} inside the word {before.group() + behind.group()!r}"
    marked = mark.text[mark.start : mark.end]
    return f"is {marked!r}, and not {mark.words!r}"


def character_at(text: str, place: int, unit: str) -> int | None:
    """Returns how many characters the first `place` units of the text are; None where that is no
    whole number of them.
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
    """Returns whether a letter stands on both sides of a place in the text, or a digit."""
    if not 0 < place < len(text):
        return False
    sides = text[place - 1 : place + 1]
    if UNSPACED.search(sides):
        return False
    # "3cm" is two words: a letter beside a digit
    return sides.isalpha() or sides.isdigit()
