"""Which parts of a text another part frames: a heading, a quotation, a question mark, a short piece
that takes back.

    framed(words)
    # of "There is a dog. Scratch that.": the words of the first sentence need {"scratch", ...}

A frame is found by its form. A quotation needs a reference with one; what follows a colon needs the
words before it; what stands before "scratch that", "I made it up" or "not really" needs a word of
these. "That is a dog" frames nothing if a reference has a dog.
"""

from bisect import bisect
from collections.abc import Iterator, Sequence

from spanreward.rewards.language.lemmas import lemma
from spanreward.rewards.language.words import (
    ADVERBS,
    FINITE,
    NEUTRAL,
    NOUNS,
    PICTURES,
    PLAIN,
    Word,
    word_set,
)

Needs = frozenset[frozenset[str]]
# pictures than the one that is described
OTHER_PICTURE = word_set("another other different next last previous every most")
QUOTE_SIGNS = word_set("\" \u201c \u201d `` ''")
POINTING_BACK = word_set("that this these those it above everything all none nothing i we")
WHOLE_TEXT = word_set("above everything all none nothing")
POINTING_FORWARD = word_set("following below")
CONTENT_POS = ("NOUN", "PROPN", "VERB", "ADJ", "ADV", "INTJ")
DENYING = word_set("no not n't never nowhere")
CONDITIONS = word_set("if unless whether lest")
POINTING = POINTING_BACK | POINTING_FORWARD
NEUTRAL_WORDS = PLAIN | ADVERBS | POINTING
TURNING = DENYING | CONDITIONS
DENIED_NEED = frozenset(
    ("not",)
)  # the need of what a text plainly denies, whatever a reference has
QUESTION_NEED = frozenset("?")  # a need that nothing meets
STOPPING_SIGNS = frozenset(".!?;:\n()[]\u2026")
SHORT_PIECE_WORDS = 6  # words of a piece that says something of the text


def framed(words: Sequence[Word]) -> Iterator[tuple[int, int, Needs]]:
    """Yields (start, end, needs) of the words that are framed. `words` is the whole text."""
    quotes = [place for place, word in enumerate(words) if word.text in QUOTE_SIGNS]
    for start, end in zip(quotes[::2], quotes[1::2], strict=False):
        yield start, end, frozenset((QUOTE_SIGNS,))
    heading: Needs = frozenset()
    previous = 0  # where the piece before this one begins
    for start, end, stop in pieces(words):
        tokens = [word for word in words[start:end] if any(map(str.isalnum, word.text))]
        content = frozenset(lemma(word.text.lower()) for word in tokens if has_content(word))
        needs = set(heading)
        for word in tokens:
            if is_of_another_picture(word):
                needs.add(frozenset((lemma(word.text.lower()),)))
        if needs:
            yield start, end, frozenset(needs)
        if stop == "?":
            opened = bisect(quotes, end)
            # in 'A sign says "Who?"' only the quotation asks
            asks_from = max(start, quotes[opened - 1]) if opened % 2 else start
            yield asks_from, end, frozenset((QUESTION_NEED,))
        denied = any(word.text.lower() in DENYING for word in tokens)
        if stop == ":":
            heading |= {DENIED_NEED} if denied else {frozenset((word,)) for word in content}
        elif stop in (".", "!", "?"):
            heading = frozenset()
        if content and len(tokens) <= SHORT_PIECE_WORDS and speaks_of_text(tokens):
            lowered = {word.text.lower() for word in tokens}
            need = DENIED_NEED if denied else content
            if lowered & POINTING_FORWARD:
                yield end, len(words), frozenset((need,))
            else:
                yield 0 if lowered & WHOLE_TEXT else previous, start, frozenset((need,))
        previous = start if tokens else previous


def is_of_another_picture(word: Word) -> bool:
    """Whether a word says that a picture is another one than that described: "the next image"."""
    of_picture = word.head.lemma in PICTURES
    return of_picture and (word.dep == "poss" or word.text.lower() in OTHER_PICTURE)


def has_content(word: Word) -> bool:
    """Whether a word is neither neutral nor one that only points to other words."""
    text = word.text.lower()
    fits = word.lemma in NEUTRAL or text in NEUTRAL_WORDS
    return text in TURNING or (word.pos in CONTENT_POS and not fits)


def speaks_of_text(words: Sequence[Word]) -> bool:
    """Whether a piece points to the text around it, or is neither a clause nor a thing ("not
    really").
    """
    pointing = []
    for word in words:
        if word.text.lower() in POINTING and word.dep not in ("det", "mark"):
            pointing.append(word)
    things = [word for word in words if word.pos in NOUNS]
    others = [word for word in things if word.dep != "attr" and word not in pointing]
    if pointing and not others:
        return True
    return not things and not any(word.tag in ("PRP", "EX", *FINITE) for word in words)


def pieces(words: Sequence[Word]) -> Iterator[tuple[int, int, str]]:
    """Yields (start, end, sign behind) of the pieces between full stops, colons, brackets, dashes
    and line breaks.
    """
    start = 0
    for place, word in enumerate(words):
        is_dash = word.text in ("-", "--", "\u2013", "\u2014")
        stands_apart = place > 0 and words[place - 1].end < word.start
        stops = not STOPPING_SIGNS.isdisjoint(word.text)
        is_sign = not any(map(str.isalnum, word.text))
        if (is_dash and stands_apart) or (stops and is_sign):
            yield start, place, word.text[0]
            start = place + 1
    yield start, len(words), ""
