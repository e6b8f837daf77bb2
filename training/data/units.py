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
OFFSET_ENCODINGS = {"UTF-16 units": ("utf-16-le", 2), "UTF-8 bytes": ("utf-8", 1)}
MAX_WORD_CHARACTERS = 40  # a message quotes at most so many characters on each side of a place
# Letters of languages without spaces between words, or with particles attached to words: Thai to
# Burmese, Khmer, kana and Chinese, Hangul. In these languages, a word may end between two letters.
UNSPACED_LETTERS = re.compile(
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

    @property
    def numbers(self) -> tuple[int, int]:
        """The numbers of the file as a pair, (start, end)."""
        return self.start, self.end

    def fits(self, characters: tuple[int, int] | None) -> bool:
        """Returns whether the mark makes sense if it marks these `characters`, [start, end).

        The characters must be equal to `words`. If `words` is "", the characters must not begin or
        end inside of a word. characters: None, or numbers outside of the text, give False.
        """
        if characters is None:
            return False
        start, end = characters
        if not 0 <= start < end <= len(self.text):
            return False
        if self.words:
            marked = self.text[start:end]
            return marked.split() == self.words.split()
        begins_within = within_word(self.text, start)
        ends_within = within_word(self.text, end)
        return not begins_within and not ends_within

    def characters_if_counted_in(self, unit: str) -> tuple[int, int] | None:
        """Returns the characters [start, end) that are marked if the mark's numbers count `unit`.

        Example: in "🚢 A dog.", the numbers [5, 8) count UTF-16 units if "dog" is marked, which is
        the characters [4, 7).

        Returns None if a number is inside of a character or past the text's end. unit: a key of
        OFFSET_ENCODINGS.
        """
        start = character_at(self.text, self.start, unit)
        end = character_at(self.text, self.end, unit)
        if start is None or end is None:
            return None
        return start, end


def check_units(marks: Sequence[Mark], column: str) -> list[Mark]:
    """Returns the marks that begin or end inside of a word. A caller may warn of these marks.

    A mark is read in three units: characters, UTF-16 units and UTF-8 bytes. If the mark fits its
    text (`Mark.fits`) in characters, nothing is wrong. If the mark fits only in one of the other
    units, the file probably counts this unit, and ValueError is raised. If the mark fits in no
    unit, people may have marked a part of a word, and the mark is returned.

    Example: in "A reddish dog.", the mark [2, 5) is "red" in all three units, and is returned. In
    "🚢 A dog.", the mark [5, 8) is "og." in characters and "dog" in UTF-16 units, and raises.

    Also raises ValueError for a mark that fits in no unit and has `words`, because the characters
    then differ from the words. marks: all marks of a file. column: the name of the marks' column,
    for messages.
    """
    misfits = [mark for mark in marks if not mark.fits(mark.numbers)]
    # raise if a mark that does not fit in characters fits in another unit
    for mark in misfits:
        for unit in OFFSET_ENCODINGS:
            characters = mark.characters_if_counted_in(unit)
            if characters is not None and mark.fits(characters):
                raise _other_unit(mark, characters, unit, marks, column)
    # no misfit fits in another unit, so the numbers of the file count characters
    within_words = []
    for mark in misfits:
        if mark.end > len(mark.text):
            continue  # the caller raises for a mark past the text's end
        if mark.words:
            marked = mark.text[mark.start : mark.end]
            raise ValueError(
                f"{mark.name}a mark of {column!r} says {mark.words!r}, and its characters "
                f"{[*mark.numbers]} are {marked!r}"
            )
        within_words.append(mark)
    return within_words


def _other_unit(
    mark: Mark,
    characters: tuple[int, int],
    unit: str,
    marks: Sequence[Mark],
    column: str,
) -> ValueError:
    """Returns the error for a mark that fits in `unit` and not in characters.

    characters: the characters [start, end) that are marked if the mark's numbers count `unit`.
    marks: all marks of the file. If all of these marks fit in `unit`, the message adds so.
    """
    # a single mark may fit in `unit` by chance, but hardly all marks of a file
    everywhere = ""
    all_fit = all(other.fits(other.characters_if_counted_in(unit)) for other in marks)
    if len(marks) > 1 and all_fit:
        everywhere = f", as would all {len(marks)} marks"
    start, end = characters
    encoding, size = OFFSET_ENCODINGS[unit]
    # the message has Python code that turns a number n of units into a number of characters
    count = "n" if size == 1 else f"{size} * n"
    problem = _why_unfit(mark)
    return ValueError(
        f"{mark.name}a mark of {column!r}, {[*mark.numbers]}, {problem}: in {unit} it would be "
        f"the characters {[start, end]} = {mark.text[start:end]!r}{everywhere}; give characters, "
        f"len(text.encode('{encoding}')[:{count}].decode('{encoding}')) for n {unit}"
    )


def _why_unfit(mark: Mark) -> str:
    """Returns why a mark does not fit its text, such as "begins inside the word 'heron'".

    The text is the predicate of an error message, whose subject is the mark. mark: a mark for which
    `Mark.fits` is False.
    """
    if mark.end > len(mark.text):
        return f"ends past its text of {len(mark.text)} characters"
    if within_word(mark.text, mark.start):
        return f"begins inside the word {_word_around(mark.text, mark.start)!r}"
    if within_word(mark.text, mark.end):
        return f"ends inside the word {_word_around(mark.text, mark.end)!r}"
    # the mark begins and ends between words, so it must differ from the words that the file gives
    marked = mark.text[mark.start : mark.end]
    return f"is {marked!r}, and not {mark.words!r}"


def _word_around(text: str, place: int) -> str:
    """Returns the word that has letters on both sides of a place, to be quoted in a message.

    Example: the place 9 of "A green heron." is inside of "heron". At most MAX_WORD_CHARACTERS
    characters are returned from each side of the place, because a text without spaces may be a
    single long word.

    place: the index of the first character after the place.
    """
    lowest_start = max(0, place - MAX_WORD_CHARACTERS)
    start = place
    while start > lowest_start and _is_in_words(text[start - 1]):
        start -= 1
    highest_end = min(len(text), place + MAX_WORD_CHARACTERS)
    end = place
    while end < highest_end and _is_in_words(text[end]):
        end += 1
    return text[start:end]


def _is_in_words(character: str) -> bool:
    """Returns whether words consist of such characters: letters, digits and "_"."""
    return character.isalnum() or character == "_"


def character_at(text: str, place: int, unit: str) -> int | None:
    """Returns the number of characters in the first `place` units of the text.

    Example: an emoji is one character and two UTF-16 units. In "🚢 sails", the first 3 UTF-16 units
    are the 2 characters "🚢 ", and the first unit alone gives None.

    Returns None if the units end inside of a character, if the text has fewer units, or if `place`
    is negative. Also returns None if half an emoji (a lone surrogate) is among the units: then it
    is not clear how a tool counted.

    unit: a key of OFFSET_ENCODINGS.
    """
    encoding, unit_bytes = OFFSET_ENCODINGS[unit]
    # Half an emoji matters only among the first `place` units. So the whole text is encoded with
    # "surrogatepass", which accepts half an emoji anywhere.
    all_bytes = text.encode(encoding, "surrogatepass")
    byte_count = place * unit_bytes
    if place < 0 or byte_count > len(all_bytes):
        return None
    first_bytes = all_bytes[:byte_count]  # of the first `place` units
    try:
        # without "surrogatepass": raises if half an emoji, or a cut character, is in these bytes
        return len(first_bytes.decode(encoding))
    except UnicodeDecodeError:
        return None


def within_word(text: str, place: int) -> bool:
    """Returns whether a place is inside of a word or number: the characters before and behind the
    place are two letters, or two digits. In languages without spaces, the result is False.

    place: the index of the character behind the place. Example: in "a red cup", the place 3 is
    inside of "red", and the place 2 is not.
    """
    if not 0 < place < len(text):
        return False
    sides = text[place - 1 : place + 1]
    if UNSPACED_LETTERS.search(sides):
        return False
    # a letter next to a digit, as in "3cm", begins a new word
    return sides.isalpha() or sides.isdigit()
