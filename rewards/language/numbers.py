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
    """Returns the numbers below a hundred that are one word, as a dict: "twenty" gives 20."""
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
    number = _GrowingNumber()
    count = 0
    for place, word in enumerate(words):
        # an "and" belongs to the number only together with the next word
        if word == "and" and place > 0 and _joins_number(words, place, number.value_limit):
            continue
        if not number.add(word, _value_of_word(words, place)):
            break
        count = place + 1
    if not count:
        return "", 0
    return number_in_digits(f"{number.finished + number.part:f}"), count


class _GrowingNumber:
    """The number of the words that are read so far: after "two million five hundred", `finished` is
    2,000,000 and `part` is 500.

    Attributes:
        finished: the parts that a scale has ended, such as "two million".
        part: the words after the last scale. The next scale multiplies this number.
        value_limit: the next number, such as "five", must be less than this: than 10 after
            "twenty", and than 1000 after "two thousand".
        scale_limit: the next scale, such as "million", must be less than this. Only a scale sets
            this limit: 1000 after "two thousand", and still 1000 after "two thousand twenty".
    """

    def __init__(self) -> None:
        self.finished = Decimal(0)
        self.part = Decimal(0)
        self.value_limit = Decimal("Infinity")
        self.scale_limit = Decimal("Infinity")
        self.is_empty = True

    def add(self, word: str, value: Decimal | None) -> bool:
        """Adds a word to the number. Returns False for a word that cannot continue the number, such
        as "thirty" after "twenty". Such a word does not change the number.

        value: the number that the word adds, None for a scale and for a word that is no number.
        """
        if word == "hundred":
            is_added = self._add_hundred()
        elif word in NUMBER_SCALES:
            is_added = self._add_scale(Decimal(NUMBER_SCALES[word]))
        elif value is not None:
            is_added = self._add_value(value, word in SMALL_NUMBERS)
        else:
            is_added = False
        self.is_empty = self.is_empty and not is_added
        return is_added

    def _add_hundred(self) -> bool:
        """Multiplies the part by a hundred: "two hundred". Returns False if the part is not a
        number below a hundred, because "two hundred hundred" is two numbers.
        """
        hundred = Decimal(NUMBER_SCALES["hundred"])
        # only a "hundred" sets this limit; after "0.5 hundred" the part is still below a hundred
        follows_hundred = self.value_limit == hundred
        if not 0 < self.part < hundred or follows_hundred:
            return False
        self.part *= hundred
        self.value_limit = hundred
        return True

    def _add_scale(self, scale: Decimal) -> bool:
        """Finishes the part with a scale: "two thousand". Returns False if the scale cannot follow,
        because "two thousand million" is two numbers.
        """
        if self.part <= 0 or scale >= self.scale_limit:
            return False
        self.finished += self.part * scale
        self.part = Decimal(0)
        self.value_limit = scale
        self.scale_limit = scale
        return True

    def _add_value(self, value: Decimal, is_word: bool) -> bool:
        """Adds a number such as "twenty" or "five" to the part. Returns False if the number cannot
        follow, because "five twenty" and "twenty zero" are two numbers.

        is_word: False for a number in digits.
        """
        is_late_zero = value == 0 and not self.is_empty
        if value >= self.value_limit or is_late_zero:
            return False
        self.part += value
        # after "twenty" a number below ten may follow; after "five" or digits no number may follow
        is_tens = value >= 20 and value % 10 == 0
        self.value_limit = Decimal(10 if is_tens and is_word else 0)
        return True


def _value_of_word(words: Sequence[str], place: int) -> Decimal | None:
    """Returns the number that a word adds, None for a word that is no number or is a scale: 20 for
    "twenty", None for "million". The "a" of "a hundred" is 1.

    place: the index of the word. Digits and "a" count only as the first word.
    """
    word = words[place]
    if word in SMALL_NUMBERS:
        return Decimal(SMALL_NUMBERS[word])
    if place > 0:
        return None
    if word == "a" and len(words) > 1 and words[1] in NUMBER_SCALES:
        return Decimal(1)
    digits = word.replace(".", "", 1)
    is_number = digits.isdecimal() and len(digits) <= MOST_DIGITS_OF_NUMBER
    return Decimal(word) if is_number else None


def _joins_number(words: Sequence[str], place: int, limit: Decimal) -> bool:
    """Whether an "and" joins two parts of one number, as in "two hundred and five".

    place: the index of the "and". limit: the number after the "and" must be less than this.
    """
    following = words[place + 1] if place + 1 < len(words) else ""
    if words[place - 1] not in NUMBER_SCALES or following not in SMALL_NUMBERS:
        return False
    return 0 < SMALL_NUMBERS[following] < limit
