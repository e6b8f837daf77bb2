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
    """Returns the answer in a text, in the form that `comparable_answers` gives people's answers.
    Returns "" if the text has no answer.

    answers: people's answers.
    columns: the row's other columns, which may list options.
    """
    options = options_for(answers, question, columns or {})
    start, end = found_answer(text, answers, options)
    answer = text[start:end]
    labels = _labels_named(answer, options, question)
    if labels:
        return _form_of_labels(labels)
    # "AC" is a list of letters only if people answer with lists
    people_list_letters = any(map(letters_listed, answers))
    letters = letters_listed(answer, joined=people_list_letters)
    if letters and kind_of(answers) == SEVERAL_LETTERS and not people_order_letters(answers):
        return " ".join(letters).lower()
    return _claim_as_word(answer, answers, question) or comparable_answer(answer)


def _labels_named(answer: str, options: Mapping[str, str], question: str = "") -> tuple[str, ...]:
    """Returns the labels that `named_options` returns, and () if there are no options."""
    if not options:
        return ()
    return named_options(answer, options, question)


def found_answer(text: str, answers: Sequence[str], options: Mapping[str, str]) -> tuple[int, int]:
    """Returns the characters [start, end) that `find_answer` finds, widened in two cases. The next
    lines are added if the lines list more letters. The rest of the line is added if the text behind
    a letter is the text of another option.

    answers: people's answers.
    options: the texts of the options, by label.
    """
    start, end = find_answer(text, answers)
    if start < end and letters_listed(blank_unshown(text)[start:]):
        start, end = trimmed_range(text, start, len(text))
    # "B. a kettle", if "a kettle" is A: the letter alone would count as B
    if options and is_mislabelled(text[end:], text[start:end], options):
        line_end = text.find("\n", end)
        if line_end < 0:
            line_end = len(text)
        end = line_end
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
    people's answers name options, and {} if people put letters in order.
    """
    if people_order_letters(answers):
        return {}
    options = options_of(question, columns)
    if not options:
        return {}
    naming = [answer for answer in answers if named_options(answer, options)]
    if 2 * len(naming) <= len(answers):
        return {}
    return options


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

    Numbers as labels become letters, because the judge `match` compares the result. `match` rates
    "1" as partly right if the references are "1, 2". `match` rates "A" as wrong if the references
    are "A, B".
    """
    labels = _labels_named(answer, options, question)
    if not labels:
        return answer
    if labels[0].isdigit():
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
    words = tokens_of(answer)
    pieces = pieces_of(plain_answer(answer), tokens_of(question))
    if kind == COUNTED:
        # "There are no boats." counts zero boats
        return "0" if denies_all(pieces, question) else ""
    if not HEDGE_WORDS.isdisjoint(words):
        return ""
    begins_with_yes_or_no = any(re.search(sign, answer) for sign in PATTERNS_OF_KINDS[BINARY])
    has_yes_or_no = not YES_WORDS.union(NO_WORDS).isdisjoint(words)
    # without the question, a "no" within a sentence may deny anything
    if has_yes_or_no and not begins_with_yes_or_no and not question:
        return ""
    claim, _ = binary_answer(question, pieces)
    return claim


def _form_of_labels(labels: Sequence[str]) -> str:
    """Returns labels in a form that no other answer has: "(a) (b)"."""
    return " ".join(f"({label.lower()})" for label in labels)
