"""The metrics that LAVE is compared with. They are pure functions of an answer and people's
answers, with values in [0, 1].

    vqa_accuracy("There are 2 dogs.", ["two dogs"] * 2 + ["dogs"] * 8)      # 0.6
    token_f1("Answer: two brown dogs", ["two dogs"])                        # 0.8

The metrics find the answer in the text as LAVE does (answer.py). Answers are compared in normalised
form (rewards/language/answer_text.py).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from spanreward.rewards.lave.compared import answer_in, comparable_answers
from spanreward.rewards.text.bag_of_words import best_f1

AGREEING_PEOPLE = 3  # people who must have given an answer for it to count as right


def vqa_accuracy(
    answer: str,
    answers: Sequence[str],
    question: str = "",
    columns: Mapping[str, Any] | None = None,
) -> float:
    """Returns the VQA accuracy (Antol et al. 2015) of an answer: the official evaluation's average
    over leaving one person out.

    For each person i the value is min(1, number of the other people who gave this answer / 3). The
    accuracy is the mean of the values. If m of ten people gave the answer, the accuracy is 0.3,
    0.6, 0.9, 1 for m = 1, 2, 3, 4 and more.

    answer: a text with the answer.
    answers: people's answers.
    question, columns: the question and other columns of the row, which may list options.

    Raises ValueError for fewer than four answers, because no answer could then reach 1. Answers are
    always normalised. The official code does not normalise the answers if all answers are alike.
    """
    if len(answers) <= AGREEING_PEOPLE:
        raise ValueError(
            f"VQA accuracy needs {AGREEING_PEOPLE + 1} answers or more (its datasets have 10), got "
            f"{len(answers)}"
        )
    form = answer_in(answer, answers, question, columns)
    forms_of_people = comparable_answers(answers, question, columns)
    agreeing = forms_of_people.count(form)
    total = 0.0
    for form_of_person in forms_of_people:
        # the count without this person
        remaining = agreeing
        if form_of_person == form:
            remaining -= 1
        total += min(1.0, remaining / AGREEING_PEOPLE)
    return total / len(answers)


def token_f1(
    answer: str,
    answers: Sequence[str],
    question: str = "",
    columns: Mapping[str, Any] | None = None,
) -> float:
    """Returns the F1 between the words of the answer and the words of the best-matching person's
    answer, from 0 to 1 (Rajpurkar et al. 2016). The words are compared as multisets. Returns 0 if
    people gave no answer.

    answer: a text with the answer. answers: people's answers. question, columns: the question and
    other columns of the row, which may list options.
    """
    form = answer_in(answer, answers, question, columns)
    references = comparable_answers(answers, question, columns)
    return best_f1(form.split(), [other.split() for other in references])
