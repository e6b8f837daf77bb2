r"""The letters of an answer that lists several of them, as answers to questions with several right
options do.

    letters_listed("A, C and D")            # ("A", "C", "D")
    letters_listed("(C) & (A)")             # ("A", "C"): a list has no order
    order_counts(["C, A, B"])               # True: this is an order, and no choice
    letters_listed("A C", joined=True)      # ("A", "C"), also "AC": where people answer with lists

A list is nothing but different letters and what joins them. In it "A" is a letter and no article.
"""

import re
from collections.abc import Iterable
from string import ascii_uppercase

# Possessive quantifiers (`++`) give nothing back, so that spaces without end cost linear time.
# one letter, perhaps with a bullet before it, in brackets or quotes, or with a point: "(A)", "- B."
_ITEM = r"(?:[-*\u2022]\s++)?[(\[\"'*_`]{0,4}[A-Za-z][)\]\"'*_`]{0,4}[.:]?"
JOINING = r"(?:and|plus|also|as|well|along|together|with)"
# commas and semicolons, those of Chinese texts too
_SIGN_BETWEEN = r"\s*+[,;&\u3001\uff0c\uff1b]\s*+"
# what joins two letters: a sign, a new line, or words such as "and"
_JOINT_OF_LETTERS = (
    rf"(?:{_SIGN_BETWEEN}(?i:{JOINING}\s++){{0,4}}|[^\S\n]*+\n\s*+|\s++(?i:{JOINING}\s++){{1,4}})"
)
_CLOSED_LIST = r"[\s.!]*"
_LETTER_LIST = re.compile(rf"{_ITEM}(?:{_JOINT_OF_LETTERS}{_ITEM})+{_CLOSED_LIST}")
_SPACED_LETTERS = re.compile(r"[(\[\"']{0,4}[A-Z](?:(?:\s++|\s*+[/+|]\s*+)[A-Z])+[\s.!)\]]*")
_TOGETHER = re.compile(r"[(\[\"']{0,4}[A-Z]{2,26}[\s.!)\]]*")
_LETTER = re.compile(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])")
MOST_LIST_CHARACTERS = 400  # characters of a list
ORDERED_LETTERS = 3  # letters that can be put in order, at least


def letters_listed(answer: str, joined: bool = False) -> tuple[str, ...]:
    """Returns the letters, sorted and in upper case; () for an answer that is no list of two or
    more.

    joined: whether capital letters with a space or nothing between them are a list too. Elsewhere
    they are a name ("TV") or a text that was spelled.
    """
    return tuple(sorted(letters_in_order(answer, joined)))


def letters_in_order(answer: str, joined: bool = False) -> tuple[str, ...]:
    """Returns what `letters_listed` does, in the answer's order."""
    text = answer.strip()
    # a hostile text must not keep the patterns busy
    if len(text) > MOST_LIST_CHARACTERS:
        return ()
    letters: list[str] = []
    if _LETTER_LIST.fullmatch(text) or (joined and _SPACED_LETTERS.fullmatch(text)):
        letters = [letter.upper() for letter in _LETTER.findall(text)]
    elif joined and _TOGETHER.fullmatch(text):
        letters = [letter for letter in text if letter.isalpha()]
    has_repetition = len(set(letters)) < len(letters)  # "AA" is a battery
    if len(letters) < 2 or has_repetition:
        return ()
    return tuple(letters)


def order_counts(answers: Iterable[str]) -> bool:
    """Whether people put letters in order, "C, A, B", and do not choose several: they list the
    alphabet's first letters, at least three, out of its order.
    """
    for answer in answers:
        letters = letters_in_order(answer)
        if len(letters) < ORDERED_LETTERS:
            continue
        first_letters = tuple(ascii_uppercase[: len(letters)])
        # "A, C, D" of four options is a choice, "A, B, C" may be one
        lists_first = tuple(sorted(letters)) == first_letters
        if lists_first and letters != first_letters:
            return True
    return False
