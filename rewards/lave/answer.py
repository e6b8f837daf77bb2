"""Finds the answer in a text that a model wrote, for LAVE and for the metrics that LAVE is compared
with.

    find_answer("It has four legs. **Answer:** a dog.")       # (30, 35): "a dog"
    find_answer("(B) that one", ["B"] * 10)  # (1, 2): people answered with a letter

The answer is the part that the text announces (announced.py). A text that announces nothing is the
answer if it has at most SHORT_CHARACTERS. The answer of a longer text is its first sentence or
line. Of "It is a dog." the answer is the predicate. Reasoning, comments, markup, quotes,
end-of-turn tokens and the last punctuation are no part of the answer (trimming.py). A text is not
shortened if it takes its answer back, doubts its answer or adds another answer. Otherwise the text
would count as one clear answer.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter

from spanreward.rewards.judges.match.answer_pieces import (
    DENYING_WORDS,
    DOUBTING_WORDS,
    NO_WORDS,
    YES_WORDS,
    asserted_pieces,
    pieces_of,
)
from spanreward.rewards.language.answer_text import normalise_answer
from spanreward.rewards.language.answer_tokens import comparable_form, plain_answer
from spanreward.rewards.language.numbers import NUMBER_WORDS
from spanreward.rewards.language.words import DIGITS_OF_WORDS, word_set
from spanreward.rewards.lave import trimming
from spanreward.rewards.lave.announced import announced_answer
from spanreward.rewards.lave.options import (
    LETTER_PATTERNS,
    LISTED_LETTERS,
    lists_several,
    only_pieces,
)
from spanreward.rewards.lave.trimming import trimmed_range
from spanreward.rewards.text.pieces import LABELS, QUOTES
from spanreward.rewards.text.plain_text import plain_text
from spanreward.rewards.text.shown import blank_unshown, spaces_for_match
from spanreward.rewards.text.written import Reading, read_text

# the longest text that may be an answer as a whole
SHORT_CHARACTERS = 160  # characters
LISTED_WORDS = 3  # words; fewer words after a sentence are an item of a list
_REMOVED_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|(?<!~)~~(?=[^\s~]).*?~~", re.DOTALL)
# the longest LaTeX command around an answer
LONGEST_COMMAND = 20  # characters
_COMMAND_END = re.compile(r"\\[a-zA-Z]+\s*\{\s*\Z")
# names of one or two letters, numbers and operators, up to the last equals sign
_EQUATION = re.compile(
    r"(?:(?:\b[^\W\d_]{1,2}\b|[\d\s.,+*/^()\u00b7\u00d7\u00f7\u2212\u221a\u2070-\u209c-])*(?<![!<>])=(?![=>]))+"
    r"\s*(?P<value>[^=<>!]{1,40})"
)
_CLOSING_BRACES = re.compile(r"\}*")
_HIDDEN_TEXT = re.compile(r"<!--.*?(?:-->|\Z)|~~(?=\S).*?~~", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<!\b[A-Z])(?<!\b[A-Z][a-z])[.!?](?=\s)|(?=[\n\r])")
_ANSWER_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")
_ANSWER_FRAME = re.compile(
    r"([\w ,'\u2019-]{1,80}?)(?:['\u2019](?:s|re)"
    r"|\b(?:is|are|was|were|shows?|see|looks like|(?:appear|seem)s? to be))"
    r"\s+(?:an? (?:image|picture|photo)\w* of )?",
    re.IGNORECASE,
)
_SUBJECT_WORDS = word_set(
    "it this that these those there they he she the a an in of on at to i you we can think believe "
    "image picture photo"
)
_BINARY_SIGNS = (
    r"\A(?i:yes|no)(?=\W*\Z|[\s*_`\"']*[,.;:!\n\u2013\u2014-]|\s+(?i:it|the|there|this|that|they|he|she|i)\b)",
)
_NUMBER_WORD = rf"(?:{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})"
_WRITTEN_NUMBER = (
    r"(?:[-\u2212]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
    rf"|(?i:{_NUMBER_WORD}(?:(?:-| (?:and )?){_NUMBER_WORD}){{0,9}})(?!\w))"
)
BINARY, LETTER, COUNTED = "yes|no", "[a-z]", r"-?\d+(?:\.\d+)?"
SEVERAL_LETTERS = "[a-z](?: [a-z])+"  # letters, if a question has several right options
# For each kind of people's answers, the patterns for such an answer in a text, the surest first.
PATTERNS_OF_KINDS = {
    BINARY: _BINARY_SIGNS,
    LETTER: LETTER_PATTERNS,
    COUNTED: (
        rf"\A{_WRITTEN_NUMBER}(?![\w%/:]|[.,-]\d| (?i:{_NUMBER_WORD})\b"
        rf"|[^\0]*\b{_WRITTEN_NUMBER}\b)",
    ),
    SEVERAL_LETTERS: (LISTED_LETTERS,),
}
_LETTER, _I = r"(?<![\w'\u2019])", r"(?=\W*\Z|\s*[,\n])"  # "A" and "I" alone are words
_A_NUMBER = rf"(?:\d+|(?i:{'|'.join(DIGITS_OF_WORDS)}))"
_PUBLISHED_KINDS = {
    BINARY: _BINARY_SIGNS,
    LETTER: (
        rf"(?<=\()[A-Za-z](?=\))|{_LETTER}[A-Z](?=[).:\]])|\A[a-z](?=\W*\Z|[).:])",
        rf"{_LETTER}(?:[B-HJ-Z](?![\w'\u2019])|[AI]{_I}"
        rf"|(?<=[Oo]ption )[AI]\b|(?<=[Cc]hoice )[AI]\b)",
    ),
    r"\d+": (
        rf"\A{_A_NUMBER}(?![\w%/:]|[.,-]\d| (?:hundred|thousand|million)|[^\0]*\b{_A_NUMBER}\b)",
    ),
}
_REASON_WORDS = word_set("explanation reason reasoning rationale because since as note")


@dataclass(frozen=True, slots=True)
class AnswerRules:
    """The rules by which an answer is found.

    Args:
        edges: the marks that are cut off around an answer.
        kinds: the kinds of people's answers. A kind is a regular expression that matches such an
            answer, such as LETTER. Its value is the patterns for such an answer in a text, the
            surest first.
        reads_claims: whether a sentence with a claim stays whole if people answer yes or no, and
            whether a denied letter is ignored ("D. A is wrong." answers D).
    """

    edges: trimming.Edges
    kinds: Mapping[str, Sequence[str]]
    reads_claims: bool


DEFAULT_RULES = AnswerRules(trimming.DEFAULT_EDGES, PATTERNS_OF_KINDS, reads_claims=True)
# For published mode, whose prompts must not change.
PUBLISHED_RULES = AnswerRules(trimming.PUBLISHED_EDGES, _PUBLISHED_KINDS, reads_claims=False)


def find_answer(
    text: str, answers: Sequence[str] = (), rules: AnswerRules = DEFAULT_RULES
) -> tuple[int, int]:
    """Returns the characters [start, end) of the answer in the text as written: those of "dog" in
    "It has four legs. **Answer:** dog." start == end if the text has no answer.

    answers: people's answers. Only their kind matters: letters, numbers, or yes and no.

    The time is linear in the length of the text.
    """
    # Spaces replace hidden text, such as comments, so that offsets in `visible` are offsets in the
    # text.
    if rules is PUBLISHED_RULES:
        visible = _HIDDEN_TEXT.sub(spaces_for_match, blank_unshown(text, calls=False))
        return _answer_in_plain(visible, announced_answer(visible), answers, rules)
    visible = _REMOVED_COMMENT.sub(spaces_for_match, blank_unshown(text))
    # The answer is in the announced part, "a **dog**", or else in the whole text.
    announced = announced_answer(visible)
    part_start, part_end = announced or (0, len(text))
    # The answer is searched in this part without markup, "a dog", which is announced as a whole.
    plain, places = without_marks(visible[part_start:part_end])
    announced_in_plain = (0, len(plain)) if announced else None
    start, end = _answer_in_plain(plain, announced_in_plain, answers, rules)
    people_write_equations = any("=" in answer for answer in answers)
    if not people_write_equations:
        start = _value_of_equation(plain, start, end)
    if start == end:
        return part_start, part_start
    # `start` and `end` are offsets in `plain`. `places` gives their offsets in the part.
    start_in_part, _ = places[start]
    _, end_in_part = places[end - 1]
    return _with_braces(text, part_start + start_in_part, part_start + end_in_part)


def _value_of_equation(text: str, start: int, end: int) -> int:
    """Returns where the value of an equation starts: at the "4" of "x = 4" and of "2+2 = 4". If
    text[start:end] is no equation, returns `start`.

    The part before the last equals sign only shows how the value was found. Do not call this
    function if people answer with equations.
    """
    equation = _EQUATION.fullmatch(text, start, end)
    if equation is None:
        return start
    return equation.start("value")


def _with_braces(text: str, start: int, end: int) -> tuple[int, int]:
    r"""Returns the range [start, end) of an answer after LaTeX that was cut apart is mended.

    "\frac{1}{2}" for "1}{2": if the answer closes a brace that was opened before the answer, the
    command with this brace is added. "x^{2}" for "x^{2": if the answer leaves its own brace open,
    the closing brace is added. "4" for the "4$" of "$x = 4$": a "$" that ends a formula is left out
    if the formula began before the answer.
    """
    # "1}{2": add "\frac{"
    if _closes_earlier_brace(text[start:end]):
        command = _COMMAND_END.search(text, max(start - LONGEST_COMMAND, 0), start)
        if command is not None:
            start = command.start()
    # "x^{2": add "}"
    answer = text[start:end]
    unclosed = answer.count("{") - answer.count("}")
    braces_behind = _CLOSING_BRACES.match(text, end)
    if unclosed > 0 and braces_behind:
        end += min(unclosed, len(braces_behind[0]))
    # "4$": remove "$"
    only_ends_formula = answer.count("$") == 1 and answer.endswith("$")
    if only_ends_formula and answer != "$":
        end -= 1
    return start, end


def _closes_earlier_brace(text: str) -> bool:
    """Whether the text closes a brace that was opened before the text, as "1}{2" does."""
    open_braces = 0
    for brace in re.finditer(r"[{}]", text):
        if brace[0] == "{":
            open_braces += 1
        else:
            open_braces -= 1
        if open_braces < 0:
            return True
    return False


def without_marks(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Returns the text without markup, and for each character of the result the range [start, end)
    where the character was written: "a dog" and [(2, 3), (5, 6), (6, 7), (7, 8), (8, 9)] for
    "**a** dog". Labels and quotation marks stay, because an answer may be a label or a quotation.
    """
    reading = read_text(text, answers=True)
    kept = _offsets_of_kept_marks(text, reading)
    # all characters of the result, each with its offset in `text`, in text order
    characters = [(offset, text[offset]) for offset in kept]
    for offset, character in zip(reading.origin, reading.plain, strict=True):
        if offset not in kept:
            characters.append((offset, character))
    characters.sort(key=itemgetter(0))
    # If "7" was written as "&#x37;", the reading has "7" at the offset of "&", and dropped "#x37;".
    # So the range of such a character ends where the dropped range behind its offset ends.
    end_of_dropped = {start: end for start, end, _ in reading.unread}
    places = []
    for offset, character in characters:
        end = offset + 1
        was_written_otherwise = character != text[offset]
        if was_written_otherwise:
            end = end_of_dropped.get(end, end)
        places.append((offset, end))
    plain = "".join(character for _, character in characters)
    return plain, places


def _offsets_of_kept_marks(text: str, reading: Reading) -> set[int]:
    r"""Returns the offsets of characters that an answer keeps as written although `read_text`
    drops or changes them: labels such as "**Color:**", quotation marks, and each \" in a quotation.

    text: the text as written. reading: the result of `read_text`.
    """
    kept: set[int] = set()
    for start, end, kind in reading.unread:
        is_tag = text[start] == "<"  # a tag may count as a label, too, but is markup
        if kind in (LABELS, QUOTES) and not is_tag:
            kept.update(range(start, end))
        # `read_text` drops the second character of \" and turns the first into a quotation mark
        elif text[start - 1 : end] in ("\\'", '\\"'):
            kept.update((start - 1, start))
    return kept


def _answer_in_plain(
    text: str,
    place: tuple[int, int] | None,
    answers: Sequence[str],
    rules: AnswerRules,
) -> tuple[int, int]:
    """Returns the characters [start, end) of the answer in a text without markup.

    place: the range that the text announces as its answer, None without an announced answer.
    """
    edges = rules.edges
    start, end = _announced_or_first(text, place, edges)
    kind = kind_of(answers, rules)
    predicate_start, predicate_end = _predicate_range(text, start, end, place is not None)
    predicate = trimmed_range(text, predicate_start, predicate_end, edges)
    # A letter, a number, yes or no is searched in the predicate first, and then in the whole
    # answer.
    for searched_start, searched_end in (predicate, (start, end)):
        part = _part_of_kind(text[searched_start:searched_end], kind, rules)
        if part:
            part_start, part_end = part
            return searched_start + part_start, searched_start + part_end
    # If people answer yes or no, "There is a dog." is the answer yes, although the word is missing.
    # Only the whole sentence shows this, so it is not shortened to "a dog".
    people_answer_yes_or_no = bool(answers) and kind == BINARY
    if rules.reads_claims and people_answer_yes_or_no:
        return trimmed_range(text, start, end, edges)
    return predicate


def _announced_or_first(
    text: str, place: tuple[int, int] | None, edges: trimming.Edges
) -> tuple[int, int]:
    """Returns the characters [start, end) of the announced answer, without the marks around it.
    Without an announced answer, returns those of the whole text, or of its first sentence if the
    text is longer than SHORT_CHARACTERS.

    place: the range that the text announces as its answer, None without an announced answer.
    """
    if place is not None:
        start, end = place
        return trimmed_range(text, start, end, edges)
    start, end = trimmed_range(text, 0, len(text), edges)
    if end - start > SHORT_CHARACTERS:
        sentence = _SENTENCE_END.search(text, start, end)
        if sentence:
            end = sentence.end()
    return start, end


def kind_of(answers: Sequence[str], rules: AnswerRules = DEFAULT_RULES) -> str:
    """Returns the kind of most of people's answers, a key of `rules.kinds`: LETTER, the pattern
    "[a-z]", for "A", "B" and "red". Returns "" if most answers have no kind in common, and BINARY
    without answers.
    """
    if not answers:
        return BINARY
    forms = [comparable_answer(answer, rules) for answer in answers]
    for kind in rules.kinds:
        # a kind is itself the regular expression for its answers
        of_kind = [form for form in forms if re.fullmatch(kind, form)]
        is_most_frequent = 2 * len(of_kind) > len(forms)
        if is_most_frequent:
            return kind
    return ""


def comparable_answer(answer: str, rules: AnswerRules = DEFAULT_RULES) -> str:
    """Returns an answer in the form in which answers are compared: "**A dog.**" gives "dog".

    The form has no markup, no articles, and digits for numbers. It is like the form of VQA's
    evaluation, but keeps signs that distinguish answers (`comparable_form`). The answer "A" would
    lose its only word, so it gives "a".
    """
    if rules is PUBLISHED_RULES:
        start, end = trimmed_range(answer, 0, len(answer), rules.edges)
        plain, _ = plain_text(answer[start:end])
        return normalise_answer(plain) or plain.lower()
    return _comparable_by_default(answer)


@lru_cache(maxsize=4096)  # people's answers are compared with each completion of a group
def _comparable_by_default(answer: str) -> str:
    """Returns the result of `comparable_answer` by the default rules."""
    unmarked, _ = without_marks(answer)
    start, end = trimmed_range(unmarked, 0, len(unmarked))
    plain = plain_answer(unmarked[start:end])
    return comparable_form(plain) or plain.lower()


def _part_of_kind(answer: str, kind: str, rules: AnswerRules) -> tuple[int, int] | None:
    """Returns the characters [start, end) of the letter, number, yes or no in an answer: "B" of "It
    is B, I see."

    Returns None if the answer has no such part, as "a dog", or several different parts, as "A or
    B". Returns None if the answer denies or doubts, as "maybe B".

    kind: the kind of people's answers, a result of `kind_of`.
    """
    text = answer
    drops_denied_pieces = rules.reads_claims and kind in (LETTER, SEVERAL_LETTERS)
    if drops_denied_pieces:
        # "D. A is wrong." answers only D: spaces replace denied pieces
        text = only_pieces(answer, asserted_pieces(pieces_of(answer, ())))
        if kind == LETTER and lists_several(text):
            return None
    matches = _matches_of_surest(rules.kinds.get(kind, ()), text)
    forms = {comparable_answer(match[0], rules) for match in matches}
    if len(forms) != 1:
        return None
    word = matches[0][0].lower()
    # the words that would reverse the meaning of the part that was found
    if word == "no":
        # "No, it is not." confirms its "no", but "No, or yes." takes it back
        reversing = YES_WORDS
    elif drops_denied_pieces:
        reversing = frozenset()
    else:
        reversing = DENYING_WORDS
    other_words = set(_words_of_text(text)) - {word}
    if not DOUBTING_WORDS.union(reversing).isdisjoint(other_words):
        return None
    return matches[0].span()


def _matches_of_surest(patterns: Sequence[str], text: str) -> list[re.Match[str]]:
    """Returns all matches of the first pattern that matches, [] if no pattern matches.

    patterns: the surest first. Other patterns count only if no surer pattern matches.
    """
    for pattern in patterns:
        matches = list(re.finditer(pattern, text))
        if matches:
            return matches
    return []


def _predicate_range(text: str, start: int, end: int, is_announced: bool) -> tuple[int, int]:
    """Returns the characters [start, end) of the predicate of the first sentence: "a dog" of "It is
    a dog." Without a predicate, the whole sentence is returned.

    The whole text is returned if the text after the first sentence adds an answer, as in "It is a
    dog. There is a cat." That text adds an answer if it is too short for a sentence, denies,
    doubts, or does not explain the first sentence.

    is_announced: whether the text announces its answer. The text after an announced answer always
    explains.
    """
    sentence_end = _SENTENCE_END.search(text, start, end)
    first_end = sentence_end.end() if sentence_end else end
    predicate_start = _start_of_predicate(text, start, first_end)
    following = _words_of_text(text[first_end:end])
    if following:
        is_too_short = len(following) < LISTED_WORDS
        denies_or_doubts = not DOUBTING_WORDS.union(DENYING_WORDS).isdisjoint(following)
        explains = (
            is_announced
            or following[0] in _REASON_WORDS
            or _describes_the_same(text, start, first_end, end)
        )
        if is_too_short or denies_or_doubts or not explains:
            return start, end
    if predicate_start is None:
        return start, first_end
    return predicate_start, first_end


def _describes_the_same(text: str, start: int, first_end: int, end: int) -> bool:
    """Whether the text after the first sentence only describes the thing that the first sentence
    names: "The fur is long." after "It is a dog."

    Returns False if the text may name another thing: "It is a cat." after "It is a dog.", and "The
    cat is black." after "There is a dog." So the first sentence must have a predicate and must not
    begin with "there", and the second sentence must have no predicate.

    text[start:first_end]: the first sentence. text[first_end:end]: the text after it.
    """
    predicate_start = _start_of_predicate(text, start, first_end)
    if predicate_start is None:
        return False
    subject = _words_of_text(text[start:predicate_start])[0]
    second_start = first_end + 1  # behind the space or line break
    return subject != "there" and _start_of_predicate(text, second_start, end) is None


def _start_of_predicate(text: str, start: int, end: int) -> int | None:
    """Returns where the predicate of the sentence text[start:end] begins: at "a dog" in "It is a
    dog". Returns None without such a predicate.

    The subject must be a word such as "it", which adds nothing to the answer. "The man is a doctor"
    has no such subject: this answer is more than its predicate. A predicate that begins with "no"
    or "not" is a denial, and also gives None.
    """
    frame = _ANSWER_FRAME.match(text, start, end)  # the subject and the verb: "It is "
    if frame is None:
        return None
    predicate = _words_of_text(text[frame.end() : end])
    is_denial = bool(predicate) and predicate[0] in NO_WORDS
    if not predicate or is_denial:
        return None
    subject = _words_of_text(frame[1])
    if not _SUBJECT_WORDS.issuperset(subject):
        return None
    return frame.end()


def _words_of_text(text: str) -> list[str]:
    """Returns the words of a text in lower case. "isn't" is one word."""
    return _ANSWER_WORD.findall(text.lower())
