"""Collects what a page shows of each prompt: the answer of every model, and which model lost.

shown = shown_prompts(prompts, evaluation.answers, comparison.lost_by)
shown[0].outcome, shown[0].margin  # "lost", -0.8: the greatest loss of the last model comes first
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from PIL import Image

from spanreward.training.evaluation.answer_scores.answer import JudgedAnswer
from spanreward.training.evaluation.answer_scores.evaluate import AnswersOfSides
from spanreward.training.evaluation.answers.prompts import Prompts
from spanreward.training.evaluation.statistics.estimates import signs_of_gaps

MAX_PAGE_PROMPTS = 500

# words for the last model, by the sign of its value minus the value of the model before it
WORDS_OF_OUTCOMES = {0: "tied", 1: "won", -1: "lost"}
WORDS_OF_LENGTHS = {0: "as long", 1: "longer", -1: "shorter"}


@dataclass(frozen=True, slots=True)
class ShownPrompt:
    """One held-out prompt and the answers of all models.

    Attributes:
        image: the prompt's picture; None without a picture.
        prompt: the text of the prompt.
        references: the row's references, or people's answers if the row has no references.
        answers: the answer of each model by its name, in the order to show.
        id: the row's id.
        question: the row's question; "" without a question.
        outcome: "won", "tied" or "lost", for the last model against the model before it. "not
            judged" if no metric scored both answers.
        margin: the last model's score minus the score of the model before it; None if not judged.
        by: the metric of `margin`; "" if not judged.
        length: "longer", "shorter" or "as long": the last model's answer against the other, in
            words.
        disagree: whether one metric prefers the last model, and another metric the model before it.
        slices: the values of the prompt, by the name of the slice.
    """

    image: Image.Image | None
    prompt: str
    references: tuple[str, ...]
    answers: dict[str, JudgedAnswer]
    id: str = ""
    question: str = ""
    outcome: str = "not judged"
    margin: float | None = None
    by: str = ""
    length: str = "as long"
    disagree: bool = False
    slices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def shown_prompts(
    prompts: Prompts, answers: AnswersOfSides, lost_by: Sequence[str]
) -> list[ShownPrompt]:
    """Returns up to MAX_PAGE_PROMPTS prompts with the answers of each model's first run.

    A prompt comes early if the last model's score is far below the best other score. Prompts
    without a score come last.

    lost_by: the main metrics, the most trusted first. The first one that scores the prompt decides.
    """
    examples = []
    for number in range(len(prompts.rows)):
        first_answers = {}  # by model, the answer of its first run to this prompt
        for model, runs in answers.items():
            first_run = runs[0]
            first_answers[model] = first_run[number]
        examples.append(_shown_prompt(prompts, number, first_answers, lost_by))
    # sort before the list is cut, so that the cut takes away won prompts and not lost prompts
    examples.sort(key=by_margin)
    return examples[:MAX_PAGE_PROMPTS]


def _shown_prompt(
    prompts: Prompts,
    number: int,
    answers: dict[str, JudgedAnswer],
    lost_by: Sequence[str],
) -> ShownPrompt:
    """Returns one prompt with its answers, and which of the last two models lost it.

    Args:
        prompts: all prompts.
        number: the number of the prompt, from 0.
        answers: the answer of each model to the prompt, in the order of the models.
        lost_by: the main metrics in order of trust. The first of these metrics that scored both
            answers decides which model lost. `disagree` considers all of these metrics.
    """
    row = prompts.rows[number]
    earlier, later = list(answers.values())[-2:]
    # by metric, the last model's score minus the score of the model before it
    gaps = {}  # in the order of `lost_by`
    for metric in lost_by:
        gap = score_gap(later, earlier, metric)
        if gap is not None:
            gaps[metric] = gap
    gap_signs = {gap_sign(gap) for gap in gaps.values()}
    deciding_metric = next(iter(gaps), "")  # the first metric that scored both answers
    margin = gaps.get(deciding_metric)
    more_words = score_gap(later, earlier, "words")
    return ShownPrompt(
        image=row.get("image"),
        prompt=row["prompt"][0]["content"],
        references=tuple(row.get("reference") or row.get("answers") or ()),
        answers=answers,
        id=row["id"],
        question=row.get("question") or "",
        outcome="not judged" if margin is None else WORDS_OF_OUTCOMES[gap_sign(margin)],
        margin=margin,
        by=deciding_metric,
        length=WORDS_OF_LENGTHS[0 if more_words is None else gap_sign(more_words)],
        # a tie by one metric disagrees with no other metric
        disagree=1 in gap_signs and -1 in gap_signs,
        slices={name: values[number] for name, values in prompts.slices.items()},
    )


def by_margin(example: ShownPrompt) -> tuple[bool, float]:
    """Returns a sort key: the greatest loss comes first, and prompts without a margin come last."""
    return example.margin is None, example.margin or 0.0


def score_gap(later: JudgedAnswer, earlier: JudgedAnswer, metric: str) -> float | None:
    """Returns the later answer's score minus the earlier answer's; None if a score is missing."""
    later_score = later.scores.get(metric)
    earlier_score = earlier.scores.get(metric)
    if later_score is None or earlier_score is None:
        return None
    return later_score - earlier_score


def gap_sign(gap: float) -> int:
    """Returns 1 for a positive gap, -1 for a negative gap, and 0 for a tie."""
    return int(signs_of_gaps(np.array(gap)))
