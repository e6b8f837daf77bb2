"""The parts of a text that another part frames: a heading, a quotation, a question mark, or a short
piece that takes back other text.

    framed_parts(words)
    # of "There is a dog. Scratch that.": the words of the first sentence need {"scratch", ...}

A framed word counts as a claim only if a reference has the frame too. For this the frame gives the
word a need (claims.py). In a quotation a word needs a quotation mark. After a colon a word needs
the words before the colon. Before "scratch that", "I made it up" or "not really" a word needs a
word of the short piece. Before "That is a dog" a word needs a dog, which does no harm if a
reference has a dog.
"""

from bisect import bisect
from collections.abc import Iterator, Sequence

from spanreward.rewards.language.lemmas import lemma_of_word
from spanreward.rewards.language.words import (
    ADVERBS,
    FINITE_VERB_TAGS,
    NEUTRAL_VERBS,
    NOUN_TAGS,
    PICTURE_NOUNS,
    PLAIN_WORDS,
    Word,
    word_set,
)

ClaimNeeds = frozenset[frozenset[str]]
# before "picture" these words mean a picture other than the described picture: "the next image"
OTHER_PICTURE = word_set("another other different next last previous every most")
QUOTE_SIGNS = word_set("\" \u201c \u201d `` ''")
POINTING_BACK = word_set("that this these those it above everything all none nothing i we")
WHOLE_TEXT = word_set("above everything all none nothing")
POINTING_FORWARD = word_set("following below")
CONTENT_POS = ("NOUN", "PROPN", "VERB", "ADJ", "ADV", "INTJ")
DENYING_WORDS = word_set("no not n't never nowhere")
CONDITION_WORDS = word_set("if unless whether lest")
POINTING_WORDS = POINTING_BACK | POINTING_FORWARD
NEUTRAL_WORDS = PLAIN_WORDS | ADVERBS | POINTING_WORDS
TURNING_WORDS = DENYING_WORDS | CONDITION_WORDS
# the need of a word that the text plainly denies: no reference supports the word
DENIED_NEED = frozenset(("not",))
QUESTION_NEED = frozenset("?")  # the need of a word in a question: no reference supports the word
STOPPING_SIGNS = frozenset(".!?;:\n()[]\u2026")
SHORT_PIECE_WORDS = 6  # most words of a piece that comments on the text


def framed_parts(words: Sequence[Word]) -> Iterator[tuple[int, int, ClaimNeeds]]:
    """Yields (start, end, needs) for each frame: the words of words[start:end] get these needs. A
    need is a set of base forms, of which a reference must have one so that the word counts as a
    claim. Of "There is a dog. Scratch that.", the first sentence gets the need {"scratch"}.

    words: the whole text. A word may be in several frames, each with its own needs.
    """
    quotes = [place for place, word in enumerate(words) if word.text in QUOTE_SIGNS]
    # the first sign opens and the second closes; an opening sign without a closing sign is skipped
    for start, end in zip(quotes[::2], quotes[1::2], strict=False):
        yield start, end, frozenset((QUOTE_SIGNS,))
    pieces = list(pieces_between_signs(words))
    for start, end, stop in pieces:
        if stop == "?":
            yield _start_of_question(quotes, start, end), end, frozenset((QUESTION_NEED,))
    yield from _headed_parts(words, pieces)
    yield from _commented_parts(words, pieces)


def _headed_parts(
    words: Sequence[Word], pieces: Sequence[tuple[int, int, str]]
) -> Iterator[tuple[int, int, ClaimNeeds]]:
    """Yields (start, end, needs) for each piece that is behind a heading or about another picture.
    Such a piece is a claim only if a reference has the heading's words too.

    Of "Things I like: a dog" the piece "a dog" gets the needs {"thing"} and {"lik"}, base forms of
    "things" and "like".

    words: the whole text. pieces: the result of `pieces_between_signs`.
    """
    heading_needs: ClaimNeeds = frozenset()  # from the headings before the current piece
    for start, end, stop in pieces:
        tokens = _with_letters(words[start:end])
        needs = heading_needs | _needs_of_other_picture(tokens)
        if needs:
            yield start, end, needs
        heading_needs = _heading_needs_behind(heading_needs, tokens, stop)


def _commented_parts(
    words: Sequence[Word], pieces: Sequence[tuple[int, int, str]]
) -> Iterator[tuple[int, int, ClaimNeeds]]:
    """Yields (start, end, needs) for each part that a short piece comments on. "Scratch that" and
    "none of the following" are such comments.

    words: the whole text. pieces: the result of `pieces_between_signs`.
    """
    previous = 0  # the start of the last piece with words
    for start, end, _ in pieces:
        tokens = _with_letters(words[start:end])
        # "that" cannot refer to a piece without words
        if not tokens:
            continue
        content = _content_of(tokens)
        if content and len(tokens) <= SHORT_PIECE_WORDS and speaks_of_text(tokens):
            need = DENIED_NEED if _has_denying_word(tokens) else content
            first, behind = _commented_range(tokens, start, end, previous, len(words))
            yield first, behind, frozenset((need,))
        previous = start


def _with_letters(words: Sequence[Word]) -> list[Word]:
    """Returns the words that have a letter or a digit, without the signs."""
    return [word for word in words if any(map(str.isalnum, word.text))]


def _has_denying_word(words: Sequence[Word]) -> bool:
    """Whether a piece has a word such as "not"."""
    return any(word.text.lower() in DENYING_WORDS for word in words)


def _needs_of_other_picture(words: Sequence[Word]) -> ClaimNeeds:
    """Returns the needs of a piece that names a picture other than the described one: {"next"} for
    "the next image shows a dog".
    """
    others = filter(is_of_another_picture, words)
    return frozenset(frozenset((lemma_of_word(word.text.lower()),)) for word in others)


def _start_of_question(quotes: Sequence[int], start: int, end: int) -> int:
    """Returns where the question begins that ends at `end`. In 'A sign says "Who?"' only the
    quotation asks.

    quotes: the indices of the quotation marks. start, end: the range of the piece with the "?".
    """
    signs_before = bisect(quotes, end)
    # after an odd number of quotation marks the last one is open
    if signs_before % 2:
        return max(start, quotes[signs_before - 1])
    return start


def _heading_needs_behind(
    heading_needs: ClaimNeeds, tokens: Sequence[Word], stop: str
) -> ClaimNeeds:
    """Returns the needs that the words behind a piece get from headings. A piece before a colon is
    a heading for the rest of its sentence: behind "Things I like:" the words of "a dog, a cat." get
    the needs {"thing"} and {"lik"}.

    heading_needs: the needs that the piece itself gets from headings before it.
    tokens: the words of the piece. stop: the sign behind the piece.
    """
    # the sentence ends
    if stop in (".", "!", "?"):
        return frozenset()
    # the piece is no heading
    if stop != ":":
        return heading_needs
    if _has_denying_word(tokens):
        return heading_needs | {DENIED_NEED}
    return heading_needs | {frozenset((word,)) for word in _content_of(tokens)}


def _commented_range(
    tokens: Sequence[Word],
    start: int,
    end: int,
    previous: int,
    length: int,
) -> tuple[int, int]:
    """Returns the range of the words that a comment on the text is about.

    "None of the following" is about all words after the comment. A comment with a word of
    WHOLE_TEXT is about all words before it. "Scratch that" is about the piece before it.

    All numbers count words of the text, and the end of a range is not in the range. tokens: the
    comment without signs. start, end: the range of the comment. previous: the start of the last
    piece with words. length: the number of words of the text.
    """
    lowered = {word.text.lower() for word in tokens}
    if lowered & POINTING_FORWARD:
        return end, length
    if lowered & WHOLE_TEXT:
        return 0, start
    return previous, start


def _content_of(words: Sequence[Word]) -> frozenset[str]:
    """Returns the base forms of the words that have content (`has_content`)."""
    return frozenset(lemma_of_word(word.text.lower()) for word in words if has_content(word))


def is_of_another_picture(word: Word) -> bool:
    """Whether a word shows that a picture is not the described picture: "the next image"."""
    if word.head.lemma not in PICTURE_NOUNS:
        return False
    # "my picture", "Anna's picture"
    return word.dep == "poss" or word.text.lower() in OTHER_PICTURE


def has_content(word: Word) -> bool:
    """Whether a word has a meaning of its own, as "lie" has. False for a neutral word ("is"), and
    for a word that only points to other words ("that").
    """
    text = word.text.lower()
    if text in TURNING_WORDS:
        return True
    is_neutral = word.lemma in NEUTRAL_VERBS or text in NEUTRAL_WORDS
    return word.pos in CONTENT_POS and not is_neutral


def speaks_of_text(words: Sequence[Word]) -> bool:
    """Whether a piece comments on the text around it.

    Such a piece points to the text ("scratch that"), or is neither a clause nor a thing ("not
    really").
    """
    pointing = []
    for word in words:
        # "that" by itself points to the text, but not the "that" of "that dog" or "says that"
        points = word.text.lower() in POINTING_WORDS
        if points and word.dep not in ("det", "mark"):
            pointing.append(word)
    things = [word for word in words if word.pos in NOUN_TAGS]
    if pointing:
        # "that was a lie" comments on the text and names no other thing
        other_things = []
        for thing in things:
            if thing.dep != "attr" and thing not in pointing:
                other_things.append(thing)
        if not other_things:
            return True
    if things:
        return False
    # without a pronoun, "there" and a verb, the piece is no clause
    tags_of_clauses = ("PRP", "EX", *FINITE_VERB_TAGS)
    return not any(word.tag in tags_of_clauses for word in words)


def pieces_between_signs(words: Sequence[Word]) -> Iterator[tuple[int, int, str]]:
    """Yields (start, end, sign) of each piece words[start:end] between full stops, colons,
    brackets, dashes and line breaks. The sign is the first character behind the piece, "" at the
    end.
    """
    start = 0
    for place, word in enumerate(words):
        # a dash has a space before it, and a hyphen has no space
        is_dash = word.text in ("-", "--", "\u2013", "\u2014")
        stands_apart = place > 0 and words[place - 1].end < word.start
        # "p.m." has a stop and is a word
        has_stop = not STOPPING_SIGNS.isdisjoint(word.text)
        is_sign = not any(map(str.isalnum, word.text))
        if (is_dash and stands_apart) or (has_stop and is_sign):
            yield start, place, word.text[0]
            start = place + 1
    # the piece after the last sign
    yield start, len(words), ""
