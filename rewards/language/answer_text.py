"""Normal forms of answers, so that two spellings of one answer compare as equal.

    normalise_answer("Two dogs.")   # "2 dogs"
    normalise_answer("dont know, maybe")    # "don't know maybe"
    answer_words("The café's dogs") # ["cafe", "dogs"]

`normalise_answer` follows the official VQA evaluation. `answer_words` gives the words for looser
matching.

`normalise_answer` removes a punctuation mark if the mark touches a space somewhere in the answer,
or if the answer has a number like 1,000. Otherwise a space replaces the mark. Number words up to
ten become digits. A contraction without its apostrophe gets the apostrophe back.
"""

import re
import unicodedata
from functools import lru_cache
from itertools import product

from spanreward.rewards.language.words import ARTICLES, DIGITS_OF_WORDS

OFFICIAL_PUNCTUATION = ';/[]"{}()=+\\_-><@`,?!'
DIGITS_OF_NUMBERS = DIGITS_OF_WORDS | {"none": "0"}
_THOUSANDS = re.compile(r"\d,\d")
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_PERIOD = re.compile(r"\.(?!\d)")
_ANSWER_TEXT_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")

# The contractions of the official table.
_CONTRACTED_FORMS = """
    ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't hadn't've hasn't
    haven't he'd he'd've he's how'd how'll how's isn't it'd it'd've it'll ma'am mightn't mightn't've
    might've mustn't must've needn't not've o'clock oughtn't shan't she'd've should've shouldn't
    shouldn't've somebody'd've somebody'll somebody's someone'd someone'd've someone'll someone's
    something'd something'd've something'll that's there'd there'd've there're there's they'd
    they'd've they'll they're they've 'twas wasn't we'd've we've weren't what'll what're what's
    what've when's where'd where's where've who'd who'd've who'll who's who've why'll why're why's
    won't would've wouldn't wouldn't've y'all you'd you'd've you'll you're you've
"""


def _without_apostrophes() -> dict[str, str]:
    """Returns a dict from each spelling of a contraction without some apostrophes to the
    contraction: "dont" gives "don't".
    """
    contractions = {}
    for form in _CONTRACTED_FORMS.split():
        count = form.count("'")
        # each apostrophe is kept or dropped: "couldnt've", "couldn'tve", "couldntve"
        for marks in product(("'", ""), repeat=count):
            spelling = form.replace("'", "{}").format(*marks)
            if spelling != form:
                contractions[spelling] = form
    return contractions


CONTRACTIONS = _without_apostrophes()
NEGATED_VERBS = frozenset(form for form in _CONTRACTED_FORMS.split() if form.endswith("n't"))


@lru_cache(maxsize=4096)
def normalise_answer(answer: str) -> str:
    """Returns the answer in the form in which the official VQA evaluation compares answers: "Two
    dogs." gives "2 dogs". The quirks of the evaluation are kept.
    """
    source = answer.replace("\n", " ").replace("\t", " ").strip()
    text = source
    has_thousands = _THOUSANDS.search(source) is not None
    for mark in OFFICIAL_PUNCTUATION:
        # the official code looks for spaces in the answer as written, before any mark is removed
        touches_space = f"{mark} " in source or f" {mark}" in source
        is_removed = touches_space or has_thousands
        text = text.replace(mark, "" if is_removed else " ")
    words = []
    for written_word in _PERIOD.sub("", text).lower().split():
        word = DIGITS_OF_NUMBERS.get(written_word, written_word)
        if word not in ARTICLES:
            words.append(CONTRACTIONS.get(word, word))
    return " ".join(words)


def answer_words(answer: str) -> list[str]:
    """Returns the words of the answer in order: in lower case, without accents, articles,
    punctuation and a final "'s". Number words become digits.
    """
    # NFKD writes each accent as a separate character behind its letter
    decomposed = unicodedata.normalize("NFKD", answer)
    plain = "".join(c for c in decomposed if not unicodedata.combining(c))
    plain = _GROUPED.sub("", plain)  # "1,000" is one word
    words = []
    for written_word in _ANSWER_TEXT_WORD.findall(plain.lower()):
        word = written_word.replace("\u2019", "'").removesuffix("'s")
        if word not in ARTICLES:
            words.append(DIGITS_OF_NUMBERS.get(word, word))
    return words
