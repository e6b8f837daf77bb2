"""Three more of the metrics that LAVE is compared with: pure functions of an answer and people's
answers, in [0, 1].

    soft_vqa_accuracy("dog", ["dogs"] * 10)                      # 0.75

They compare normalised answers, as rewards/lave/vqa.py does.
"""

from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

from spanreward.rewards.language.answer_text import normalise_answer
from spanreward.rewards.lave.vqa import AGREEING_PEOPLE


def soft_vqa_accuracy(answer: str, answers: Sequence[str]) -> float:
    """Returns the mean of the three highest max(0, 1 - CER) (Hu et al. 2022): edits in place of
    equality. CER is the number of edited characters over the length of the person's answer. Raises
    ValueError for fewer than three answers.
    """
    if len(answers) < AGREEING_PEOPLE:
        raise ValueError(
            f"soft VQA accuracy needs {AGREEING_PEOPLE} answers or more, got {len(answers)}"
        )
    likeness = sorted(
        (_likeness(normalise_answer(answer), normalise_answer(other)) for other in answers),
        reverse=True,
    )
    return sum(likeness[:AGREEING_PEOPLE]) / AGREEING_PEOPLE


def exact_match(answer: str, answers: Sequence[str]) -> float:
    """Returns 1 when the answer equals any of the answers, else 0."""
    return float(normalise_answer(answer) in {normalise_answer(other) for other in answers})


def contains(answer: str, answers: Sequence[str]) -> float:
    """Returns 1 when the characters of any of the answers occur in the answer, also across words,
    else 0.
    """
    text = normalise_answer(answer)
    return float(any(wanted in text for wanted in map(normalise_answer, answers) if wanted))


def _likeness(answer: str, reference: str) -> float:
    if not reference:
        return float(not answer)
    return max(0.0, 1 - Levenshtein.distance(answer, reference) / len(reference))
