"""The metrics that LAVE is compared with: pure functions of an answer and people's answers, in [0,
1].

    vqa_accuracy("There are 2 dogs.", ["two dogs"] * 2 + ["dogs"] * 8)      # 0.6
    token_f1("Answer: two brown dogs", ["two dogs"])                        # 0.8

They compare normalised answers (rewards/language/answer_text.py) and read the answer that LAVE
rates (answer.py).
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
    """Returns VQA accuracy (Antol et al. 2015), the official evaluation's average over leaving one
    person out.

    It is the mean over the people i of min(1, number of the others who gave this answer / 3). Of
    ten answers, m of them equal: 0.3, 0.6, 0.9, 1 for m = 1, 2, 3, 4 and more. Raises ValueError
    for fewer than four answers, where no answer could reach 1. Answers are always normalised; the
    official code leaves them as they are where all are alike.
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
        # without this person
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
    """Returns the F1 of the words as multisets against the best single answer (Rajpurkar et al.
    2016), from 0 to 1; 0 where people gave no answer.
    """
    form = answer_in(answer, answers, question, columns)
    references = comparable_answers(answers, question, columns)
    return best_f1(form.split(), [other.split() for other in references])
