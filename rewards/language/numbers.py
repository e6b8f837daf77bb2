"""Numbers in digits and in words, in one spelling per number.

number_in_digits("1,500.00")        # "1500"
number_in_words(["twenty", "one"])  # ("21", 2): two words were read
"""

from collections.abc import Sequence
from decimal import Decimal

from spanreward.rewards.language.words import DIGITS_OF_WORDS

_TEENS = "eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"


def _small_numbers() -> dict[str, int]:
    """Returns the numbers below a hundred that are one word: a dict from the word to the number."""
    numbers = {word: int(digit) for word, digit in DIGITS_OF_WORDS.items()}
    for number, word in enumerate(_TEENS.split(), start=11):
        numbers[word] = number
    for tens, word in enumerate(_TENS.split(), start=2):
        numbers[word] = 10 * tens
    return numbers


SMALL_NUMBERS = _small_numbers()
# words that multiply the number before the word: "two hundred"
NUMBER_SCALES = {
    "dozen": 12,
    "hundred": 100,
    "thousand": 1000,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
NUMBER_WORDS = frozenset((*SMALL_NUMBERS, *NUMBER_SCALES))
MOST_DIGITS_OF_NUMBER = 15  # most digits before a word such as "million"


def number_in_digits(written: str) -> str:
    """Returns the shortest spelling of a number in digits. "1,500.00" gives "1500", and "00.50"
    gives "0.5".

    Two kinds of numbers only lose their commas: numbers with several points ("1.2.30", a version),
    and numbers without a point ("007", a room).

    written: digits with commas and points.
    """
    digits = written.replace(",", "")
    if digits.count(".") > 1:
        return digits
    if "." not in digits:
        return digits
    digits = digits.rstrip("0").rstrip(".")
    without_zeros = digits.lstrip("0")
    # put one zero back: ".5" becomes "0.5", and the empty rest of "0.0" becomes "0"
    if without_zeros[:1] in ("", "."):
        return f"0{without_zeros}"
    return without_zeros


def number_in_words(words: Sequence[str]) -> tuple[str, int]:
    """Returns the number at the beginning of a list of words, in digits, and the count of its
    words: ["two", "hundred", "dogs"] gives ("200", 2). Returns ("", 0) if the list begins with no
    number.

    words: in lower case. The first word may be in digits: "1.5 million".
    """
    total = Decimal(0)  # the finished parts: "two million" of "two million five thousand"
    part = Decimal(0)  # the number that the next scale multiplies
    word_limit = Decimal("Infinity")  # the number of the next word must be less than this
    scale_limit = Decimal("Infinity")  # the next scale must be less than this
    count = 0
    for place, word in enumerate(words):
        value = _value_of_word(word, place)
        if word == "hundred":
            hundred = Decimal(NUMBER_SCALES[word])
            # "two hundred hundred" is two numbers
            if not 0 < part < hundred or word_limit == hundred:
                break
            part *= hundred
            word_limit = hundred
        elif word in NUMBER_SCALES:
            factor = Decimal(NUMBER_SCALES[word])
            # "two thousand million" is two numbers
            if part <= 0 or factor >= scale_limit:
                break
            total += part * factor
            part = Decimal(0)
            word_limit = factor
            scale_limit = factor
        elif value is not None and value < word_limit:
            # "twenty zero" is two numbers
            if value == 0 and place > 0:
                break
            part += value
            is_tens = value >= 20 and value % 10 == 0
            # after "twenty" a number below ten may follow; after "five" or digits no number may
            # follow
            word_limit = Decimal(0)
            if is_tens and word in SMALL_NUMBERS:
                word_limit = Decimal(10)
        elif place == 0 and _is_one(words):
            part = Decimal(1)
            word_limit = Decimal(0)
        elif (
            word == "and"
            and words[place - 1] in NUMBER_SCALES
            and _continues_number(words[place + 1 :], word_limit)
        ):
            # the "and" belongs to the number only together with the next word
            continue
        else:
            break
        count = place + 1
    if not count:
        return "", 0
    return number_in_digits(f"{total + part:f}"), count


def _is_one(words: Sequence[str]) -> bool:
    """Whether words begin with an "a" that means one: "a hundred"."""
    return words[0] == "a" and len(words) > 1 and words[1] in NUMBER_SCALES


def _value_of_word(word: str, place: int) -> Decimal | None:
    """Returns the number that a word adds, None for a word that is no number or is a scale.

    place: the index of the word in the number. Digits count only at the start.
    """
    if word in SMALL_NUMBERS:
        return Decimal(SMALL_NUMBERS[word])
    digits = word.replace(".", "", 1)
    if place == 0 and digits.isdecimal() and len(digits) <= MOST_DIGITS_OF_NUMBER:
        return Decimal(word)
    return None


def _continues_number(words: Sequence[str], word_limit: Decimal) -> bool:
    """Whether the first word is a number that continues the number before it: "five" in "two
    hundred and five".

    word_limit: the number of the word must be less than this.
    """
    if not words or words[0] not in SMALL_NUMBERS:
        return False
    return 0 < SMALL_NUMBERS[words[0]] < word_limit
