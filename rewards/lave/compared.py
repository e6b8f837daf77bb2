"""The answer in a text and people's answers in one form, for metrics that compare the two.

    answer_in("There are eleven boats.", ["11"] * 10)                               # "11"
    answer_in("a lamp", ["B"] * 10, "Which?\\nA. a kettle\\nB. a lamp")              # "(b)"

A letter and the text of its option are the same answer. To a yes/no question, a sentence that
affirms the question is "yes", and a sentence that denies the question is "no". If people answer
with numbers, a denial of the counted thing is "0".
"""

import re
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from spanreward.rewards.judges.match.answer_pieces import NO_WORDS, YES_WORDS, pieces_of
from spanreward.rewards.judges.match.binary_answer import binary_answer
from spanreward.rewards.judges.match.rate_answer import denies_all
from spanreward.rewards.language.answer_tokens import plain_answer, tokens_of
from spanreward.rewards.language.letter_lists import letters_listed, people_order_letters
from spanreward.rewards.language.words import HEDGE_WORDS
from spanreward.rewards.lave.answer import (
    BINARY,
    COUNTED,
    PATTERNS_OF_KINDS,
    SEVERAL_LETTERS,
    comparable_answer,
    find_answer,
    kind_of,
)
from spanreward.rewards.lave.options import is_mislabelled, named_options, options_of
from spanreward.rewards.lave.trimming import trimmed_range
from spanreward.rewards.text.shown import blank_unshown


def answer_in(
    text: str,
    answers: Sequence[str],
    question: str = "",
    columns: Mapping[str, Any] | None = None,
) -> str:
    """Returns the answer in a text, in a form in which equal answers are equal texts: "11" for
    "There are eleven boats.", and "(b)" for "a lamp" if B is "a lamp". Returns "" if the text has
    no answer.

    `comparable_answers` returns people's answers in the same form.

    answers: people's answers.
    columns: the row's other columns, which may list options.
    """
    options = options_for(answers, question, columns or {})
    start, end = found_answer(text, answers, options)
    answer = text[start:end]
    labels = _labels_named(answer, options, question)
    if labels:
        return _form_of_labels(labels)
    # if people choose several letters, "C and A" is "a c"
    people_list_letters = kind_of(answers) == SEVERAL_LETTERS
    if people_list_letters and not people_order_letters(answers):
        # "AC" is a list of letters only if a person has written a list such as "A, C"
        letters = letters_listed(answer, joined=any(map(letters_listed, answers)))
        if letters:
            return " ".join(letters).lower()
    # if people answer yes or no, or with numbers, a sentence may be "yes", "no" or "0"
    return _claim_as_word(answer, answers, question) or comparable_answer(answer)


def _labels_named(answer: str, options: Mapping[str, str], question: str = "") -> tuple[str, ...]:
    """Returns the labels that `named_options` returns, and () if there are no options."""
    if not options:
        return ()
    return named_options(answer, options, question)


def found_answer(text: str, answers: Sequence[str], options: Mapping[str, str]) -> tuple[int, int]:
    """Returns the characters [start, end) of the answer in a text. These are the characters that
    `find_answer` finds, except in two cases.

    If the text from the answer to its end is a list of letters, such as "A,\\nC", the answer is
    this list. If the text behind a letter is the text of another option, as in "B. a kettle" if "a
    kettle" is A, the answer has the rest of the line, too. The letter alone would count as B.

    answers: people's answers.
    options: the texts of the options, by label.
    """
    start, end = find_answer(text, answers)
    rest = blank_unshown(text)[start:]
    if start < end and letters_listed(rest):
        start, end = trimmed_range(text, start, len(text))
    if options and is_mislabelled(text[end:], text[start:end], options):
        line_end = text.find("\n", end)
        end = line_end if line_end >= 0 else len(text)
    return start, end


def comparable_answers(
    answers: Sequence[str],
    question: str = "",
    columns: Mapping[str, Any] | None = None,
) -> list[str]:
    """Returns people's answers, each in the form of `answer_in`."""
    options = options_for(answers, question, columns or {})
    forms = []
    for answer in answers:
        labels = _labels_named(answer, options)
        if labels:
            forms.append(_form_of_labels(labels))
        else:
            forms.append(comparable_answer(answer))
    return forms


def options_for(
    answers: Sequence[str], question: str, columns: Mapping[str, Any]
) -> dict[str, str]:
    """Returns the texts of the question's options, by label. Returns {} unless more than half of
    people's answers name options.

    Returns {} also if people put letters in order, as in "C, A, B" to a question how things follow
    each other: such an answer chooses no option.
    """
    if people_order_letters(answers):
        return {}
    options = options_of(question, columns)
    if not options:
        return {}
    naming_answers = [answer for answer in answers if named_options(answer, options)]
    is_most_of_them = 2 * len(naming_answers) > len(answers)
    return options if is_most_of_them else {}


def with_option(answer: str, options: Mapping[str, str], question: str = "") -> str:
    """Returns "A (a kettle), B (a lamp)" for an answer that names these options. Returns any other
    answer unchanged.
    """
    labels = _labels_named(answer, options, question)
    if not labels:
        return answer
    return ", ".join(f"{label} ({options[label]})" for label in labels)


def label_of(answer: str, options: Mapping[str, str], question: str = "") -> str:
    """Returns the labels of the options that an answer names, such as "A, B". Returns any other
    answer unchanged.

    Labels that are numbers become letters: also "A, B" for the options 1 and 2. The reason is the
    judge `match`, which compares the result with the labels of people's answers. To `match`, "1, 2"
    are two words, so that the answer "1" would be partly right. "A, B" is a choice of letters, so
    that the answer "A" is wrong.
    """
    labels = _labels_named(answer, options, question)
    if not labels:
        return answer
    are_numbers = labels[0].isdigit()
    if are_numbers:
        letters = dict(zip(options, ascii_uppercase, strict=False))
        labels = tuple(letters[label] for label in labels)
    return ", ".join(labels)


def _claim_as_word(answer: str, answers: Sequence[str], question: str) -> str:
    """Returns "yes", "no" or "0" if the answer is a sentence with this meaning, otherwise "". "The
    door is open." gives "yes" if the question is "Is the door open?". "There are no boats." gives
    "0" if people answered with numbers.
    """
    kind = kind_of(answers)
    if kind not in (BINARY, COUNTED) or not answers:
        return ""
    pieces = pieces_of(plain_answer(answer), tokens_of(question))
    # if people answer with numbers: "There are no boats." counts zero boats
    if kind == COUNTED:
        return "0" if denies_all(pieces, question) else ""
    # if people answer yes or no: a sentence that doubts, such as "Maybe.", is neither
    words = tokens_of(answer)
    if not HEDGE_WORDS.isdisjoint(words):
        return ""
    begins_with_yes_or_no = any(re.search(sign, answer) for sign in PATTERNS_OF_KINDS[BINARY])
    has_yes_or_no = not YES_WORDS.union(NO_WORDS).isdisjoint(words)
    # The "no" of "I see no dog." is within a sentence. It is an answer only to a known question.
    has_it_within_a_sentence = has_yes_or_no and not begins_with_yes_or_no
    if has_it_within_a_sentence and not question:
        return ""
    claim, _ = binary_answer(question, pieces)
    return claim


def _form_of_labels(labels: Sequence[str]) -> str:
    """Returns labels in a form that no other answer has: "(a) (b)"."""
    return " ".join(f"({label.lower()})" for label in labels)
