r"""The letters of an answer that lists several letters, as for a question with several right
options.

    letters_listed("A, C and D")            # ("A", "C", "D")
    letters_listed("(C) & (A)")             # ("A", "C"): a list has no order
    people_order_letters(["C, A, B"])       # True: these people put letters in order
    letters_listed("A C", joined=True)      # ("A", "C"); "AC" gives the same

A list has only different letters, and signs or words between the letters. In a list "A" is a letter
and no article.
"""

import re
from collections.abc import Iterable
from string import ascii_uppercase

# Possessive quantifiers (`++`) never backtrack, so that a long run of spaces takes linear time.
# one letter, perhaps with a bullet before it, in brackets or quotes, or with a point: "(A)", "- B."
_LIST_ITEM = r"(?:[-*\u2022]\s++)?[(\[\"'*_`]{0,4}[A-Za-z][)\]\"'*_`]{0,4}[.:]?"
JOINING_WORDS = r"(?:and|plus|also|as|well|along|together|with)"
# commas and semicolons, with the Chinese signs
_SIGN_BETWEEN = r"\s*+[,;&\u3001\uff0c\uff1b]\s*+"
# the text between two letters: a sign, a new line, or words such as "and"
_JOINT_OF_LETTERS = (
    rf"(?:{_SIGN_BETWEEN}(?i:{JOINING_WORDS}\s++){{0,4}}"
    rf"|[^\S\n]*+\n\s*+|\s++(?i:{JOINING_WORDS}\s++){{1,4}})"
)
_CLOSED_LIST = r"[\s.!]*"
_LETTER_LIST = re.compile(rf"{_LIST_ITEM}(?:{_JOINT_OF_LETTERS}{_LIST_ITEM})+{_CLOSED_LIST}")
_SPACED_LETTERS = re.compile(r"[(\[\"']{0,4}[A-Z](?:(?:\s++|\s*+[/+|]\s*+)[A-Z])+[\s.!)\]]*")
_JOINED_LETTERS = re.compile(r"[(\[\"']{0,4}[A-Z]{2,26}[\s.!)\]]*")
_LONE_LETTER = re.compile(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])")
MOST_LIST_CHARACTERS = 400  # longest list in characters
ORDERED_LETTERS = 3  # fewest letters that show an order


def letters_listed(answer: str, joined: bool = False) -> tuple[str, ...]:
    """Returns the letters of a list, sorted and in upper case. Returns () for an answer that is no
    list of two or more letters.

    joined: whether "A C", "A/C" and "AC" are lists too. For most questions such an answer is a name
    ("TV") or a spelled word.
    """
    return tuple(sorted(letters_in_order(answer, joined)))


def letters_in_order(answer: str, joined: bool = False) -> tuple[str, ...]:
    """Returns the letters of a list in the order of the answer, in upper case: ("C", "A") for
    "C, A". Returns () for an answer that is no list of two or more different letters.

    joined: whether "C A", "C/A" and "CA" are lists too (`letters_listed`).
    """
    text = answer.strip()
    # a hostile text must not keep the patterns busy
    if len(text) > MOST_LIST_CHARACTERS:
        return ()
    letters: list[str] = []
    if _LETTER_LIST.fullmatch(text) or (joined and _SPACED_LETTERS.fullmatch(text)):
        letters = [letter.upper() for letter in _LONE_LETTER.findall(text)]
    elif joined and _JOINED_LETTERS.fullmatch(text):
        letters = [letter for letter in text if letter.isalpha()]
    has_repetition = len(set(letters)) < len(letters)  # "AA" is a battery
    if len(letters) < 2 or has_repetition:
        return ()
    return tuple(letters)


def people_order_letters(answers: Iterable[str]) -> bool:
    """Whether people's answers put letters in order ("C, A, B") instead of choosing several
    letters.

    True if one answer lists the first letters of the alphabet, at least three, in another order
    than the alphabet's.
    """
    for answer in answers:
        letters = letters_in_order(answer)
        if len(letters) < ORDERED_LETTERS:
            continue
        first_letters = tuple(ascii_uppercase[: len(letters)])
        # "A, C, D" of four options is a choice, and "A, B, C" may be a choice
        lists_first = tuple(sorted(letters)) == first_letters
        if lists_first and letters != first_letters:
            return True
    return False
