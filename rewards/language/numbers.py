"""Numbers as written in digits and in words, in one spelling each.

number_in_digits("1,500.00")        # "1500"
number_in_words(["twenty", "one"])  # ("21", 2): two words were read
"""

from collections.abc import Sequence
from decimal import Decimal

from spanreward.rewards.language.words import DIGITS

_TEENS = "eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
SMALL_NUMBERS = {word: int(digit) for word, digit in DIGITS.items()}
SMALL_NUMBERS |= {word: number for number, word in enumerate(_TEENS.split(), 11)}
SMALL_NUMBERS |= {word: 10 * number for number, word in enumerate(_TENS.split(), 2)}
SCALES = {
    "dozen": 12,
    "hundred": 100,
    "thousand": 1000,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
NUMBER_WORDS = frozenset((*SMALL_NUMBERS, *SCALES))
MOST_DIGITS_OF_NUMBER = 15  # digits of a number that a word such as "million" multiplies


def number_in_digits(written: str) -> str:
    """Returns the shortest spelling of the same value. Numbers with several points, as of versions,
    and with a leading zero, as of rooms, stay as they are.
    """
    digits = written.replace(",", "")
    if digits.count(".") > 1:
        return digits
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
        whole = digits.lstrip("0")
        return f"0{whole}" if whole[:1] in ("", ".") else whole
    return digits


def number_in_words(words: Sequence[str]) -> tuple[str, int]:
    """Returns the number that lower-case words begin with, in digits, and how many of them say it;
    ("", 0) where they begin with none. The first one may have digits: "1.5 million".
    """
    total, part, read = Decimal(0), Decimal(0), 0
    room = scale = Decimal("Infinity")  # the next word must say less
    for place, word in enumerate(words):
        value = _value(word, place)
        if word in SCALES:
            factor = Decimal(SCALES[word])
            if word == "hundred":
                fits = 0 < part < factor and room != factor
                grown = part * factor
            else:
                fits = part > 0 and factor < scale
                grown = Decimal(0)
            if not fits:
                break
            if word != "hundred":
                total, scale = total + part * factor, factor
            part, room = grown, factor
        elif value is not None and value < room and (value > 0 or place == 0):
            part += value
            room = Decimal(10) if value >= 20 and value % 10 == 0 else Decimal(0)
            if word not in SMALL_NUMBERS:
                room = Decimal(0)
        elif word == "a" and place == 0 and words[1:2] and words[1] in SCALES:
            part, room = Decimal(1), Decimal(0)
        elif word == "and" and words[place - 1] in SCALES and _adds(words[place + 1 :], room):
            continue
        else:
            break
        read = place + 1
    if not read:
        return "", 0
    return number_in_digits(f"{total + part:f}"), read


def _value(word: str, place: int) -> Decimal | None:
    """Returns what a word adds by itself. Digits count at the start alone."""
    if word in SMALL_NUMBERS:
        return Decimal(SMALL_NUMBERS[word])
    digits = word.replace(".", "", 1)
    if place == 0 and digits.isdecimal() and len(digits) <= MOST_DIGITS_OF_NUMBER:
        return Decimal(word)
    return None


def _adds(words: Sequence[str], room: Decimal) -> bool:
    return bool(words) and words[0] in SMALL_NUMBERS and 0 < SMALL_NUMBERS[words[0]] < room
