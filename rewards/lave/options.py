"""The options of a question, and which of them an answer names.

    options = options_of("Which?\nA. a kettle\nB. a lamp", {})  # {"A": "a kettle", "B": "a lamp"}
    named_option("It is a lamp.", options)                      # "B"

A letter and its text are one answer. An answer that names several options, or a letter and the text
of another one, names none.
"""

import ast
import json
import re
import string
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from spanreward.rewards.judges.match.answer_pieces import DOUBTING, Piece, asserted, pieces_of
from spanreward.rewards.language.answer_tokens import plain_answer, tokens_of
from spanreward.rewards.language.lemmas import lemma
from spanreward.rewards.language.letter_lists import JOINING, letters_listed
from spanreward.rewards.language.words import PICTURES, word_set
from spanreward.rewards.text.filler import FUNCTION_WORDS

COLUMNS = ("options", "choices")
MOST = 26  # options
LONGEST = 500  # characters of an option's text
_LABEL = re.compile(
    r"(?:(?<![^\s,;:!?\u3000-\u303f])[(\[]([A-Za-z]|\d{1,2})[)\]][.:]?"
    r"|(?<![^\s,;:!?\u3000-\u303f])([A-Za-z]|\d{1,2})(?:[.:](?=\s|[^\x00-\x7f])|:(?=\S)|[)\u3001\u3002]))"
)
_LABELLED = re.compile(r"\s*[(\[]?([A-Z])[)\].:]\s+(?=\S)")
_ENDING = re.compile(r"(?<!\b[A-Z])(?<!\b[A-Z][a-z])[.?!]\s+(?=[A-Z])|\n")
_JOINT = re.compile(r"(?<![\s,;])[\s,;]++(?:(?:and|or)\s*+)?\Z")
_STYLES = (string.ascii_uppercase, string.ascii_lowercase, [str(n) for n in range(1, MOST + 1)])
_LATIN = r"A-Za-z0-9\u00c0-\u024f'"
# The sign of a grade or a name belongs to it: "B-", "C#". Emphasis does not: "**B**".
_ALONE = r"(?![+#]|[-\u2212\u2013](?!\w)|(?<!\*[A-Za-z])\*(?!\*))"
_SURE = rf"(?<=\()[A-Za-z](?=\))|(?<![{_LATIN}])[A-Z](?=[).:\]])|\A[a-z]{_ALONE}(?=\W*\Z|[).:])"
_OTHERWISE = (
    rf"(?<![{_LATIN}])(?:[B-HJ-Z]{_ALONE}(?![{_LATIN}])"
    rf"|[AI]{_ALONE}(?=\W*\Z|\s*[,;\n&/+|]|[^\x00-\x7f]|\s+(?:(?:or|{JOINING})\s+){{0,4}}[A-Z]\b)"
    rf"|(?<=[Oo]ption )[AI]{_ALONE}\b|(?<=[Cc]hoice )[AI]{_ALONE}\b)"
)
_A_WORD = rf"(?!\s+(?!{JOINING}\b)(?:[a-z]|[A-Z]{{2}}))"
_NAMED = rf"[(\[]?(?:[B-HJ-Z]|[AI]{_A_WORD}){_ALONE}(?![{_LATIN}])[)\]]?"
_SIGN = rf"\s*+[,;&/+]\s*+(?:{JOINING}\s++){{0,4}}|\s++(?:{JOINING}\s++){{1,4}}"
# one letter, or several in a row
LISTED_LETTERS = rf"(?<![{_LATIN}]){_NAMED}(?:(?:{_SIGN}|\s+){_NAMED})*"
_SEVERAL = re.compile(rf"(?<![{_LATIN}]){_NAMED}(?:{_SIGN}|[^\S\n]*+\n\s*+){_NAMED}")
LETTERS = (_SURE, _OTHERWISE)  # how a text says a letter, the surest first; "A" and "I" are words
_JOINED = word_set("and & plus also well both options choices answers answer")
_SILENT = FUNCTION_WORDS | PICTURES | word_set("option choice correct right best show depict")


def options_of(question: str, columns: Mapping[str, Any]) -> dict[str, str]:
    """Returns the texts of the options by their letter or number: those of the row's column
    `options` or `choices`, or those that the question lists. Empty where there are not two.
    """
    for name in COLUMNS:
        if found := _in_column(columns.get(name)):
            return found
    return _in_question(question)


def options_written(columns: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns how a row writes its options, by which rows with the same ones are found."""
    return tuple(repr(columns.get(name)) for name in COLUMNS)


def named_option(answer: str, options: Mapping[str, str], question: str = "") -> str:
    """Returns the label of the one option that an answer names, "" where it names none or several,
    doubts, or says more.
    """
    plain = plain_answer(answer)
    pieces = pieces_of(plain, {word for text in options.values() for word in tokens_of(text)})
    kept = asserted(pieces)
    words = [lemma(word) for piece in kept for word in piece.words]
    if not DOUBTING.isdisjoint(word for piece in kept for word in piece.words):
        return ""
    texts = {label: list(map(lemma, tokens_of(text))) for label, text in options.items()}
    text = _without_texts(only(plain, kept), options)
    labels = labels_in(text, options)
    named = _texts_in([list(map(lemma, piece.words)) for piece in kept], texts)
    whole = list(map(lemma, tokens_of(plain)))
    exact = [label for label, text in texts.items() if text == whole]
    if len(exact) == 1 and set(labels) <= {*exact}:
        return exact[0]
    if lists_several(text):
        return ""
    if len(labels) == 1 and named <= labels:
        return next(iter(labels))
    if labels or len(named) != 1:
        return ""
    label = next(iter(named))
    spare = {lemma(word) for word in tokens_of(question)} | set(texts[label]) | _SILENT
    return label if spare.issuperset(words) else ""


def named_options(answer: str, options: Mapping[str, str], question: str = "") -> tuple[str, ...]:
    """Returns the labels of the options that an answer names, in the options' order. () where it
    doubts, says more, or puts another option's text behind a label.
    """
    label = named_option(answer, options, question)
    if label:
        return (label,)
    plain = plain_answer(answer)
    together = letters_listed(plain, joined=True) or _in_order(plain)
    if together:
        named = [label for label in options if label.upper() in together]
        return tuple(named) if len(named) == len(together) else ()
    known = {word for text in options.values() for word in tokens_of(text)}
    kept = asserted(pieces_of(plain, known))
    words = [word for piece in kept for word in piece.words]
    if not DOUBTING.isdisjoint(words):
        return ()
    labels = _labels_of(only(plain, kept), options)
    if labels is None:
        return ()
    texts = {label: list(map(lemma, tokens_of(text))) for label, text in options.items()}
    said = _texts_in([list(map(lemma, piece.words)) for piece in kept], texts)
    if labels and not said <= labels:
        return ()
    said |= labels
    spare = _SILENT | _JOINED | {lemma(word) for word in tokens_of(question)}
    spare -= set(map(str.lower, options))
    for label in said:
        spare |= {label.lower(), *texts[label]}
    if not spare.issuperset(map(lemma, words)):
        return ()
    return tuple(label for label in options if label in said)


def lists_several(text: str) -> bool:
    """Whether a text says a letter and another one, with a sign or "and" between them."""
    return bool(letters_listed(text)) or _SEVERAL.search(text) is not None


def _in_order(answer: str) -> tuple[str, ...]:
    """Returns the letters of a word in small ones that follow each other as in "acd", else ()."""
    letters = tuple(answer.strip().upper())
    if len(letters) < 2 or not answer.islower() or list(letters) != sorted(set(letters)):
        return ()
    return letters


def _without_texts(answer: str, options: Mapping[str, str]) -> str:
    """Returns the answer without the options' texts that list letters: "both A and B"."""
    for text in options.values():
        if _SEVERAL.search(text):
            answer = re.sub(re.escape(text), " ", answer, flags=re.IGNORECASE)
    return answer


def _labels_of(text: str, options: Mapping[str, str]) -> set[str] | None:
    """Returns all labels that a text says, None where one has another option's text behind it."""
    found: set[str] = set()
    sign = "|".join(LETTERS)
    if next(iter(options), "").isdigit():
        sign = r"(?<![\w.])\d{1,2}(?![\w%]|\.\d)"
    for match in re.finditer(sign, text):
        label = match[0] if match[0] in options else match[0].swapcase()
        if label not in options or label in found:
            continue
        if is_mislabelled(text[match.end() : match.end() + LONGEST], label, options):
            return None
        found.add(label)
    return found


def is_mislabelled(following: str, label: str, options: Mapping[str, str]) -> bool:
    """Whether the text behind a label is that of another option: "B. a kettle"."""
    words = list(map(lemma, tokens_of(following[:LONGEST].strip().partition("\n")[0])))
    texts = {name: list(map(lemma, tokens_of(text))) for name, text in options.items()}
    begun = [name for name, text in texts.items() if text and words[: len(text)] == text]
    return bool(begun) and label.casefold() not in map(str.casefold, begun)


def labels_in(text: str, options: Mapping[str, str]) -> set[str]:
    """Returns the options' labels that a text says, by the surest of signs."""
    if next(iter(options), "").isdigit():
        begun = re.match(r"\s*[(\[]?(\d{1,2})(?:[)\].:]\s|\W*\Z)", text)
        label = re.search(r"(?i)\b(?:option|choice|answer is)\W{0,3}(\d{1,2})\b(?!\.\d)", text)
        found = {match[1] for match in (begun, label) if match}
        return {label for label in found if label in options}
    for sign in LETTERS:
        said = [match[0] for match in re.finditer(sign, text)]
        letters = {label for label in options if {label, label.swapcase()} & set(said)}
        if letters:
            return letters
    return set()


def only(text: str, pieces: Sequence[Piece]) -> str:
    """Returns a text with spaces in place of all but these pieces and the marks behind each."""
    kept = [" "] * len(text)
    for piece in pieces:
        end = piece.end
        while end < len(text) and not text[end].isalnum():
            end += 1
        begin = piece.start
        while begin > 0 and text[begin - 1] in "([":
            begin -= 1
        kept[begin:end] = text[begin:end]
    return "".join(kept)


def _texts_in(pieces: Sequence[Sequence[str]], texts: Mapping[str, Sequence[str]]) -> set[str]:
    """Returns the options whose text stands in a piece, but for one within a longer one's."""
    found = set()
    for label, text in texts.items():
        if text and any(_holds(piece, text) for piece in pieces):
            found.add(label)
    inner = set()
    for label in found:
        for other in found:
            if len(texts[other]) > len(texts[label]) and _holds(texts[other], texts[label]):
                inner.add(label)
    return found - inner


def _holds(words: Sequence[str], part: Sequence[str]) -> bool:
    """Whether the words hold a part of them in a row."""
    length = len(part)
    starts = (at for at, word in enumerate(words) if word == part[0])
    return any(list(words[at : at + length]) == list(part) for at in starts)


def _in_column(value: Any) -> dict[str, str]:
    """Returns the options of a row's column: texts in order, by label, or both written out."""
    if isinstance(value, str):
        value = _parsed(value)
    if isinstance(value, Mapping):
        labels, texts = value.get("label"), value.get("text")
        if isinstance(labels, (list, tuple)) and isinstance(texts, (list, tuple)):
            return {str(label): str(text) for label, text in zip(labels, texts, strict=False)}
        return {str(label): str(text) for label, text in value.items() if text is not None}
    if not isinstance(value, (list, tuple)) or not 2 <= len(value) <= MOST:
        return {}
    found = {}
    for letter, text in zip(string.ascii_uppercase, map(str, value), strict=False):
        label = _LABELLED.match(text)
        found[letter] = text[label.end() :] if label and label[1] == letter else text
    return found


def _parsed(text: str) -> Any:
    """Returns the list or dict that a text writes out in JSON or in Python, else None."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return None


def _in_question(question: str) -> dict[str, str]:
    """Returns the options that a question lists under labels in order."""
    spaced = question.replace("\uff0e", ". ").replace("\uff1a", ": ")
    text = unicodedata.normalize("NFKC", spaced).replace("**", "")
    labels = list(_LABEL.finditer(text))
    for style in _STYLES:
        found = _listed(text, [label for label in labels if (label[1] or label[2]) in style], style)
        if len(found) > 1:
            return found
    return {}


def _listed(text: str, labels: Sequence[re.Match[str]], style: Sequence[str]) -> dict[str, str]:
    """Returns the options of the last list whose labels follow each other from the first on."""
    run: list[re.Match[str]] = []
    for label in labels:
        name = label[1] or label[2]
        if run and len(run) < len(style) and name == style[len(run)]:
            run.append(label)
        elif name == style[0] and len(run) < 2:
            run = [label]
    found = {}
    for label, following in _pairs(run):
        end = following.start() if following else len(text)
        ending = _ENDING.search(text, label.end(), end)
        if ending and ending.start() > label.end() and text[label.end() : ending.start()].strip():
            end = ending.start()
        found[label[1] or label[2]] = _JOINT.sub("", text[label.end() : end].strip())
    return found if all(found.values()) else {}


def _pairs(
    labels: Sequence[re.Match[str]],
) -> Iterator[tuple[re.Match[str], re.Match[str] | None]]:
    for number, label in enumerate(labels):
        yield label, labels[number + 1] if number + 1 < len(labels) else None
