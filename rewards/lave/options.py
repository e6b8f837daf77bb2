"""The options of a question, and the options that an answer names.

    options = options_of("Which?\nA. a kettle\nB. a lamp", {})  # {"A": "a kettle", "B": "a lamp"}
    named_option("It is a lamp.", options)                      # "B"

A letter and its text are the same answer. An answer with a letter and the text of another option
names no option. To `named_option`, an answer with several options names no option either.
"""

import ast
import json
import re
import string
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spanreward.rewards.judges.match.answer_pieces import (
    DOUBTING_WORDS,
    Piece,
    asserted_pieces,
    pieces_of,
)
from spanreward.rewards.language.answer_tokens import plain_answer, tokens_of
from spanreward.rewards.language.lemmas import lemma_of_word
from spanreward.rewards.language.letter_lists import JOINING_WORDS, letters_listed
from spanreward.rewards.language.words import PICTURE_NOUNS, word_set
from spanreward.rewards.text.filler import FUNCTION_WORDS

OPTION_COLUMNS = ("options", "choices")
MOST_OPTIONS = 26  # most options of a question
MOST_OPTION_CHARACTERS = 500  # longest text of an option, in characters
_OPTION_LABEL = re.compile(
    r"(?:(?<![^\s,;:!?\u3000-\u303f])[(\[]([A-Za-z]|\d{1,2})[)\]][.:]?"
    r"|(?<![^\s,;:!?\u3000-\u303f])([A-Za-z]|\d{1,2})(?:[.:](?=\s|[^\x00-\x7f])|:(?=\S)|[)\u3001\u3002]))"
)
_LABELLED_OPTION = re.compile(r"\s*[(\[]?([A-Z])[)\].:]\s+(?=\S)")
_SENTENCE_END = re.compile(r"(?<!\b[A-Z])(?<!\b[A-Z][a-z])[.?!]\s+(?=[A-Z])|\n")
_JOINT_AT_END = re.compile(r"(?<![\s,;])[\s,;]++(?:(?:and|or)\s*+)?\Z")
_LABEL_STYLES = (
    string.ascii_uppercase,
    string.ascii_lowercase,
    [str(n) for n in range(1, MOST_OPTIONS + 1)],
)
_LATIN_LETTERS = r"A-Za-z0-9\u00c0-\u024f'"
# The sign of a grade or name belongs to the letter: "B-", "C#". Emphasis does not: "**B**".
_WITHOUT_GRADE_SIGN = r"(?![+#]|[-\u2212\u2013](?!\w)|(?<!\*[A-Za-z])\*(?!\*))"
_SURE_LETTER = (
    rf"(?<=\()[A-Za-z](?=\))|(?<![{_LATIN_LETTERS}])[A-Z](?=[).:\]])"
    rf"|\A[a-z]{_WITHOUT_GRADE_SIGN}(?=\W*\Z|[).:])"
)
_UNSURE_LETTER = (
    rf"(?<![{_LATIN_LETTERS}])(?:[B-HJ-Z]{_WITHOUT_GRADE_SIGN}(?![{_LATIN_LETTERS}])"
    rf"|[AI]{_WITHOUT_GRADE_SIGN}(?=\W*\Z|\s*[,;\n&/+|]|[^\x00-\x7f]|\s+(?:(?:or|{JOINING_WORDS})\s+){{0,4}}[A-Z]\b)"
    rf"|(?<=[Oo]ption )[AI]{_WITHOUT_GRADE_SIGN}\b|(?<=[Cc]hoice )[AI]{_WITHOUT_GRADE_SIGN}\b)"
)
_A_WORD = rf"(?!\s+(?!{JOINING_WORDS}\b)(?:[a-z]|[A-Z]{{2}}))"
_LETTER_IN_LIST = (
    rf"[(\[]?(?:[B-HJ-Z]|[AI]{_A_WORD}){_WITHOUT_GRADE_SIGN}(?![{_LATIN_LETTERS}])[)\]]?"
)
_LIST_SIGN = rf"\s*+[,;&/+]\s*+(?:{JOINING_WORDS}\s++){{0,4}}|\s++(?:{JOINING_WORDS}\s++){{1,4}}"
# one letter, or several letters in a row
LISTED_LETTERS = (
    rf"(?<![{_LATIN_LETTERS}]){_LETTER_IN_LIST}(?:(?:{_LIST_SIGN}|\s+){_LETTER_IN_LIST})*"
)
_SEVERAL_LETTERS = re.compile(
    rf"(?<![{_LATIN_LETTERS}]){_LETTER_IN_LIST}(?:{_LIST_SIGN}|[^\S\n]*+\n\s*+){_LETTER_IN_LIST}"
)
_NUMBER_AT_START = re.compile(r"\s*[(\[]?(\d{1,2})(?:[)\].:]\s|\W*\Z)")  # "(2) a lamp", "2"
_NUMBER_AFTER_WORD = re.compile(r"(?i)\b(?:option|choice|answer is)\W{0,3}(\d{1,2})\b(?!\.\d)")
# patterns for a letter in a text, the surest first; "A" and "I" may also be words
LETTER_PATTERNS = (_SURE_LETTER, _UNSURE_LETTER)
_JOINING_WORDS = word_set("and & plus also well both options choices answers answer")
_WORDS_WITHOUT_CLAIM = (
    FUNCTION_WORDS | PICTURE_NOUNS | word_set("option choice correct right best show depict")
)


def options_of(question: str, columns: Mapping[str, Any]) -> dict[str, str]:
    """Returns the texts of a question's options, by letter or number. Returns {} without options.

    The options are taken from the row's column `options` or `choices`. Without options in these
    columns, the options are taken from the question.
    """
    for name in OPTION_COLUMNS:
        options = _options_in_column(columns.get(name))
        if options:
            return options
    return _options_in_question(question)


def options_written(columns: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the option columns of a row as written. Rows with equal results have the same
    options.
    """
    return tuple(repr(columns.get(name)) for name in OPTION_COLUMNS)


@dataclass(frozen=True, slots=True)
class Claims:
    """The parts of an answer that the answer asserts: only "D" of "D. A is wrong."

    Args:
        text: the answer, with spaces in place of all other parts.
        words: the words of the asserted parts.
        lemmas: the lemmas of the words, in one list per asserted part.
    """

    text: str
    words: list[str]
    lemmas: list[list[str]]

    @property
    def doubts(self) -> bool:
        """Whether a word doubts the answer, as "maybe" does."""
        return not DOUBTING_WORDS.isdisjoint(self.words)


def _claims_of(plain: str, options: Mapping[str, str]) -> Claims:
    """Returns what an answer asserts. plain: the answer in the form of `plain_answer`."""
    pieces = asserted_pieces(pieces_of(plain, _option_words(options)))
    words: list[str] = []
    lemmas = []
    for piece in pieces:
        words.extend(piece.words)
        lemmas.append(_lemmas_of_words(piece.words))
    return Claims(only_pieces(plain, pieces), words, lemmas)


def named_option(answer: str, options: Mapping[str, str], question: str = "") -> str:
    """Returns the label of the one option that an answer names: "A" for "(A)" and for "It is a
    kettle.", if A is "a kettle". Returns "" if the answer names no option or several, doubts, or
    has other words.

    options: the texts of the options, by label.
    question: words of the question do not count as other words.
    """
    plain = plain_answer(answer)
    # only what the answer asserts counts: "D" of "D. A is wrong."
    claims = _claims_of(plain, options)
    if claims.doubts:
        return ""
    text = _without_texts(claims.text, options)
    named_by_label = labels_in(text, options)
    # The whole answer may be the text of an option. This case comes first, because the text may be
    # "both A and B", which would count as two labels below.
    option = _option_with_text(plain, options)
    has_other_label = bool(named_by_label - {option})
    if option and not has_other_label:
        return option
    if lists_several(text):
        return ""
    named_by_text = _labels_by_text(claims.lemmas, _option_lemmas(options))
    # If the answer has labels, it must have one label, alone ("B") or with its text ("B. a lamp").
    if named_by_label:
        has_other_text = bool(named_by_text - named_by_label)
        if len(named_by_label) > 1 or has_other_text:
            return ""
        (label,) = named_by_label
        return label
    # If the answer has no label, it must have one text and no other words: "It is a lamp."
    if len(named_by_text) != 1:
        return ""
    (label,) = named_by_text
    ignored = _ignored_words(question)
    ignored.update(_lemmas_of_words(tokens_of(options[label])))
    other_words = set(_lemmas_of_words(claims.words)) - ignored
    return "" if other_words else label


def _option_with_text(plain: str, options: Mapping[str, str]) -> str:
    """Returns the label of the option whose text is the whole answer: "B" for "lamps", if B is "a
    lamp". Returns "" if no option or several options have this text.

    plain: the answer in the form of `plain_answer`.
    """
    whole = _lemmas_of_words(tokens_of(plain))
    equal = [label for label, lemmas in _option_lemmas(options).items() if lemmas == whole]
    return equal[0] if len(equal) == 1 else ""


def _ignored_words(question: str) -> set[str]:
    """Returns the lemmas of words that do not change which option an answer names: the words of the
    question, and words such as "the" and "correct".
    """
    ignored = set(_WORDS_WITHOUT_CLAIM)
    ignored.update(_lemmas_of_words(tokens_of(question)))
    return ignored


def named_options(answer: str, options: Mapping[str, str], question: str = "") -> tuple[str, ...]:
    """Returns the labels of the options that an answer names, in the order of the options: ("A",
    "C") for "Both A and C.". Returns () if the answer doubts, has other words, or has the text of
    another option behind a label.
    """
    one_label = named_option(answer, options, question)
    if one_label:
        return (one_label,)
    # if the answer has nothing but letters: "A, C", "AC", "acd"
    plain = plain_answer(answer)
    letters = letters_listed(plain, joined=True) or _letters_of_small_word(plain)
    if letters:
        return _options_of_letters(letters, options)
    # if the answer has labels and texts in sentences: "Both A (a kettle) and B."
    claims = _claims_of(plain, options)
    chosen = _labels_chosen(claims, options)
    if claims.doubts or chosen is None:
        return ()
    # The answer may have only ignored words beside the labels and texts of the chosen options. The
    # label of another option is never ignored, even if the question has the same word: "a" is the
    # label A and an article.
    ignored = _ignored_words(question) | _JOINING_WORDS
    ignored.difference_update(label.lower() for label in options)
    allowed = set(ignored)
    for label in chosen:
        allowed.add(label.lower())
        allowed.update(_lemmas_of_words(tokens_of(options[label])))
    other_words = set(_lemmas_of_words(claims.words)) - allowed
    if other_words:
        return ()
    return tuple(label for label in options if label in chosen)


def _options_of_letters(letters: Sequence[str], options: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the labels with these letters, in the order of the options. Returns () if a letter is
    the label of no option.

    letters: capital letters, such as ("A", "C"). The labels may be small letters.
    """
    named = [label for label in options if label.upper() in letters]
    if len(named) != len(letters):
        return ()
    return tuple(named)


def _labels_chosen(claims: Claims, options: Mapping[str, str]) -> set[str] | None:
    """Returns the labels of the options that an answer names by label or by text: {"A", "B"} for
    "Both A (a kettle) and B."

    Returns None if the answer has labels and also the text of an option without its label.
    """
    named_by_label = _labels_of(claims.text, options)
    if named_by_label is None:
        return None
    named_by_text = _labels_by_text(claims.lemmas, _option_lemmas(options))
    if named_by_label and not named_by_text <= named_by_label:
        return None
    return named_by_label | named_by_text


def _lemmas_of_words(words: Iterable[str]) -> list[str]:
    """Returns the lemma of each word: ["lamp"] for ["lamps"]."""
    return list(map(lemma_of_word, words))


def _option_lemmas(options: Mapping[str, str]) -> dict[str, list[str]]:
    """Returns the lemmas of each option's text, by label."""
    return {label: _lemmas_of_words(tokens_of(text)) for label, text in options.items()}


def _option_words(options: Mapping[str, str]) -> set[str]:
    """Returns the words of all options' texts."""
    words: set[str] = set()
    for text in options.values():
        words.update(tokens_of(text))
    return words


def lists_several(text: str) -> bool:
    """Whether a text has two letters with a sign or "and" between the letters: "A, C"."""
    return bool(letters_listed(text)) or _SEVERAL_LETTERS.search(text) is not None


def _letters_of_small_word(answer: str) -> tuple[str, ...]:
    """Returns the letters of an answer such as "acd", as capitals: ("A", "C", "D").

    Such an answer is one word of small letters that already stand in the order of the alphabet,
    each once. Returns () for any other answer: "dca" and "abba" are no choice of options.
    """
    letters = list(answer.strip().upper())
    if len(letters) < 2 or not answer.islower():
        return ()
    in_alphabetical_order = sorted(set(letters))
    if letters != in_alphabetical_order:
        return ()
    return tuple(letters)


def _without_texts(answer: str, options: Mapping[str, str]) -> str:
    """Returns the answer without those options' texts that list letters: "C: " for "C: both A and
    B", if C is "both A and B". Otherwise the letters in the text would count as named options.
    """
    for text in options.values():
        if _SEVERAL_LETTERS.search(text):
            answer = re.sub(re.escape(text), " ", answer, flags=re.IGNORECASE)
    return answer


def _labels_of(text: str, options: Mapping[str, str]) -> set[str] | None:
    """Returns all option labels in a text: {"A", "C"} for "Both A and C". Returns None if a label
    has the text of another option behind it, as "B. a kettle" has if "a kettle" is A.
    """
    labels: set[str] = set()
    sign = "|".join(LETTER_PATTERNS)
    if _are_numbered(options):
        sign = r"(?<![\w.])\d{1,2}(?![\w%]|\.\d)"
    for match in re.finditer(sign, text):
        label = match[0]
        if label not in options:
            label = label.swapcase()
        if label not in options or label in labels:
            continue
        following = text[match.end() : match.end() + MOST_OPTION_CHARACTERS]
        if is_mislabelled(following, label, options):
            return None
        labels.add(label)
    return labels


def _are_numbered(options: Mapping[str, str]) -> bool:
    """Whether the labels of the options are numbers instead of letters."""
    return next(iter(options), "").isdigit()


def is_mislabelled(following: str, label: str, options: Mapping[str, str]) -> bool:
    """Whether the text behind a label is the text of another option: "B. a kettle", if "a kettle"
    is A.

    following: the text behind the label.
    """
    line, _, _ = following[:MOST_OPTION_CHARACTERS].strip().partition("\n")
    words = _lemmas_of_words(tokens_of(line))
    # the labels of the options with whose text the line begins
    labels_of_text: set[str] = set()
    for name, lemmas in _option_lemmas(options).items():
        if lemmas and words[: len(lemmas)] == lemmas:
            labels_of_text.add(name.casefold())
    return bool(labels_of_text) and label.casefold() not in labels_of_text


def labels_in(text: str, options: Mapping[str, str]) -> set[str]:
    """Returns the option labels in a text that match the surest pattern: only {"B"} for "(B), and A
    is wrong", because a letter in brackets is surer. Patterns that are less sure are tried only if
    no label matches. Labels that are numbers have other patterns (`_numbers_in`).
    """
    if _are_numbered(options):
        return _numbers_in(text, options)
    for sign in LETTER_PATTERNS:
        letters_written = {match[0] for match in re.finditer(sign, text)}
        labels: set[str] = set()
        for label in options:
            # people write "b" for the option B
            if label in letters_written or label.swapcase() in letters_written:
                labels.add(label)
        if labels:
            return labels
    return set()


def _numbers_in(text: str, options: Mapping[str, str]) -> set[str]:
    """Returns the option labels in a text, for options with numbers as labels: {"2"} for "2. a
    lamp" and for "It is option 2".

    A number in a text may have any meaning. So it counts only if the text begins with it, as a
    label or as the whole text, or if it follows a word such as "option".
    """
    at_start = _NUMBER_AT_START.match(text)
    after_word = _NUMBER_AFTER_WORD.search(text)
    numbers = {match[1] for match in (at_start, after_word) if match}
    return {number for number in numbers if number in options}


def only_pieces(text: str, pieces: Sequence[Piece]) -> str:
    """Returns the text with spaces in place of all characters, except these pieces and the marks
    behind each piece: only "D. " is left of "D. A is wrong." for the piece "D".

    The length does not change, so that offsets stay valid.
    """
    characters = [" "] * len(text)
    for piece in pieces:
        end = piece.end
        while end < len(text) and not text[end].isalnum():
            end += 1
        begin = piece.start
        # the bracket of "(A)" shows that the "A" is no article
        while begin > 0 and text[begin - 1] in "([":
            begin -= 1
        characters[begin:end] = text[begin:end]
    return "".join(characters)


def _labels_by_text(
    pieces: Sequence[Sequence[str]], texts: Mapping[str, Sequence[str]]
) -> set[str]:
    """Returns the labels of the options whose text is in a piece. An option inside the longer text
    of another such option does not count.

    pieces: the lemmas of each piece.
    texts: the lemmas of each option, by its label.
    """
    labels = set()
    for label, text in texts.items():
        if text and any(_contains_run(piece, text) for piece in pieces):
            labels.add(label)
    # the "red" of an answer "dark red", if "red" and "dark red" are options
    inner = set()
    for label in labels:
        text = texts[label]
        for other_label in labels:
            other_text = texts[other_label]
            if len(other_text) > len(text) and _contains_run(other_text, text):
                inner.add(label)
    return labels - inner


def _contains_run(words: Sequence[str], part: Sequence[str]) -> bool:
    """Whether `part` is a run of consecutive words in `words`."""
    sought = list(part)
    length = len(sought)
    for start, word in enumerate(words):
        # the first word is compared before a slice is made: this runs for each word and option
        if word == sought[0] and list(words[start : start + length]) == sought:
            return True
    return False


def _options_in_column(value: Any) -> dict[str, str]:
    """Returns the options in the value of a row's column, {} for a value without options.

    The value may be a list of texts, a dict of texts by label, or a dict with a list of labels and
    a list of texts. All of these give the same options: `["a kettle", "a lamp"]`, `["A. a kettle",
    "B. a lamp"]`, `{"A": "a kettle", "B": "a lamp"}`, `{"label": ["A", "B"], "text": ["a kettle",
    "a lamp"]}`, and each of these values as a string.
    """
    if isinstance(value, str):
        value = _parsed_value(value)
    if isinstance(value, Mapping):
        labels = value.get("label")
        texts = value.get("text")
        if isinstance(labels, (list, tuple)) and isinstance(texts, (list, tuple)):
            return {str(label): str(text) for label, text in zip(labels, texts, strict=False)}
        # Arrow gives every row all keys of its column, with None for the options that it lacks
        return {str(label): str(text) for label, text in value.items() if text is not None}
    if not isinstance(value, (list, tuple)) or not 2 <= len(value) <= MOST_OPTIONS:
        return {}
    options = {}
    for letter, text in zip(string.ascii_uppercase, map(str, value), strict=False):
        label = _LABELLED_OPTION.match(text)
        if label and label[1] == letter:
            options[letter] = text[label.end() :]
        else:
            options[letter] = text
    return options


def _parsed_value(text: str) -> Any:
    """Returns the value that a text has in JSON or else in Python syntax, of any type, or None for
    any other text: `"['a kettle', 'a lamp']"` gives `["a kettle", "a lamp"]`.
    """
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return None


def _options_in_question(question: str) -> dict[str, str]:
    """Returns the options that a question lists under labels in order. Returns {} for fewer than
    two options.
    """
    # full-width stops and colons, which have no space behind them, become ASCII signs with a space
    spaced = question.replace("\uff0e", ". ").replace("\uff1a", ": ")
    text = unicodedata.normalize("NFKC", spaced).replace("**", "")
    labels = list(_OPTION_LABEL.finditer(text))
    for style in _LABEL_STYLES:
        in_style = [label for label in labels if _name_of_label(label) in style]
        options = _options_in_list(text, in_style, style)
        if len(options) > 1:
            return options
    return {}


def _name_of_label(label: re.Match[str]) -> str:
    """Returns the letter or number of a match of _OPTION_LABEL: "A" of "(A)" and of "A."."""
    return label[1] or label[2]


def _options_in_list(
    text: str,
    labels: Sequence[re.Match[str]],
    style: Sequence[str],
) -> dict[str, str]:
    """Returns the options of the text's list, by label: {"A": "a kettle", "B": "a lamp"} for
    "Which? A. a kettle or B. a lamp". Returns {} if the text has no list, or if an option has no
    text.

    The list has the first label of the style, then the second, and so on (`_labels_in_order`).

    labels: matches of _OPTION_LABEL in the text.
    style: all labels that such a list may have, in order: "ABC...".
    """
    labels_of_list = _labels_in_order(labels, style)
    # an option ends where the next label begins
    ends = [label.start() for label in labels_of_list[1:]]
    ends.append(len(text))
    options = {}
    for label, end in zip(labels_of_list, ends, strict=False):
        # an option also ends with its sentence or line, because more of the question may follow
        ending = _SENTENCE_END.search(text, label.end(), end)
        if ending and text[label.end() : ending.start()].strip():
            end = ending.start()
        option = text[label.end() : end].strip()
        # remove the comma, "and" or "or" before the next option
        options[_name_of_label(label)] = _JOINT_AT_END.sub("", option)
    if not all(options.values()):
        return {}
    return options


def _labels_in_order(labels: Sequence[re.Match[str]], style: Sequence[str]) -> list[re.Match[str]]:
    """Returns the labels of a list: the first label of the style, then the second, and so on. Other
    labels are left out.

    A first label that occurs again, before any second label, begins the list anew: "Vitamin A. Is
    it healthy? A. yes B. no" has a list of the last two labels.

    labels: matches of _OPTION_LABEL in a text.
    style: all labels that such a list may have, in order: "ABC...".
    """
    run: list[re.Match[str]] = []
    for label in labels:
        name = _name_of_label(label)
        continues = 0 < len(run) < len(style) and name == style[len(run)]
        if continues:
            run.append(label)
        elif name == style[0] and len(run) < 2:
            run = [label]
    return run
