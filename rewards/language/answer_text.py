"""Answers made comparable: the normalisation of the official VQA evaluation, and words for loose matching.

    normalise("Two dogs.")          # "2 dogs"
    normalise("dont know, maybe")   # "don't know maybe"
    answer_words("The café's dogs") # ["cafe's", "dogs"]

The official steps, in their order: line breaks and tabs become spaces; punctuation is dropped where it touches a space
or the answer has a number like 1,000, and is a space elsewhere; periods that no digit follows are dropped; lower case;
number words up to ten become digits; the articles go; contractions without their apostrophe get it back.
"""

import re
import unicodedata
from functools import lru_cache
from itertools import product

PUNCTUATION = ';/[]"{}()=+\\_-><@`,?!'
ARTICLES = frozenset({"a", "an", "the"})
_NUMBER_WORDS = "zero one two three four five six seven eight nine ten"
NUMBERS = {word: str(number) for number, word in enumerate(_NUMBER_WORDS.split())} | {"none": "0"}
_THOUSANDS = re.compile(r"\d,\d")
_PERIOD = re.compile(r"\.(?!\d)")
_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")

# The forms that the official table restores. Of some it lists every way to lose an apostrophe, of others none.
_CONTRACTED = """ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't hadn't've hasn't haven't
he'd he'd've he's how'd how'll how's isn't it'd it'd've it'll ma'am mightn't mightn't've might've mustn't must've
needn't not've o'clock oughtn't shan't she'd've should've shouldn't shouldn't've somebody'd've somebody'll somebody's
someone'd someone'd've someone'll someone's something'd something'd've something'll that's there'd there'd've there're
there's they'd they'd've they'll they're they've 'twas wasn't we'd've we've weren't what'll what're what's what've
when's where'd where's where've who'd who'd've who'll who's who've why'll why're why's won't would've wouldn't
wouldn't've y'all you'd you'd've you'll you're you've"""


def _restored() -> dict[str, str]:
    """{form without some of its apostrophes: the form}."""
    table = {}
    for form in _CONTRACTED.split():
        pieces = form.split("'")
        for joints in product(("'", ""), repeat=len(pieces) - 1):
            lost = "".join(piece + joint for piece, joint in zip(pieces, (*joints, ""), strict=True))
            if lost != form:
                table[lost] = form
    return table


CONTRACTIONS = _restored()


@lru_cache(maxsize=4096)
def normalise(answer: str) -> str:
    """The answer as the official VQA evaluation compares it."""
    text = answer.replace("\n", " ").replace("\t", " ").strip()
    dropped = bool(_THOUSANDS.search(text))
    source = text
    for mark in PUNCTUATION:
        touches = f"{mark} " in source or f" {mark}" in source
        text = text.replace(mark, "" if touches or dropped else " ")
    words = [NUMBERS.get(word, word) for word in _PERIOD.sub("", text).lower().split()]
    return " ".join(CONTRACTIONS.get(word, word) for word in words if word not in ARTICLES)


def answer_words(answer: str) -> list[str]:
    """Lower-case words without accents, articles and punctuation, number words as digits; in order, repeats kept."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", answer) if not unicodedata.combining(c))
    words = (word.replace("\u2019", "'").removesuffix("'s") for word in _WORD.findall(plain.lower()))
    return [NUMBERS.get(word, word) for word in words if word not in ARTICLES]
