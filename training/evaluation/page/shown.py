"""What a page shows of each prompt: every model's answer, and which model lost.

shown = shown_prompts(prompts, evaluation.answers, comparison.lost_by)
shown[0].outcome, shown[0].margin       # "lost", -0.8: what the last model lost most comes first
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from PIL import Image

from spanreward.training.evaluation.answer_scores.answer import JudgedAnswer
from spanreward.training.evaluation.answer_scores.evaluate import Answers
from spanreward.training.evaluation.answers.prompts import Prompts
from spanreward.training.evaluation.statistics.estimates import signs

MAX_PAGE_PROMPTS = 500

# by the sign of the later score less the earlier one
OUTCOMES = {0: "tied", 1: "won", -1: "lost"}
LENGTHS = {0: "as long", 1: "longer", -1: "shorter"}


@dataclass(frozen=True, slots=True)
class ShownPrompt:
    """One held-out prompt and every model's answer, by model name in the order to show.

    Attributes:
        image: the prompt's picture, None without one.
        prompt: what was asked.
        references: of the row, or people's answers where it has none.
        answers: by model.
        id: the row's.
        question: the row's, "" without one.
        outcome: of the last model against the one before it: won, tied, lost, or "not judged".
        margin: the last model's score less the earlier one's; None where it was not judged.
        by: the metric of the margin, "" where it was not judged.
        length: whether the last model's answer is longer, shorter or "as long", in words.
        disagree: whether the metrics prefer different answers.
        slices: the prompt's values, by slice.
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


def shown_prompts(prompts: Prompts, answers: Answers, lost_by: Sequence[str]) -> list[ShownPrompt]:
    """Returns the first seed's answers to MAX_PAGE_PROMPTS prompts; what the last model lost most
    comes first. lost_by: the first of these metrics that both answers have says who lost; all of
    them count for `disagree`.
    """
    examples = []
    for number, row in enumerate(prompts.rows):
        row_answers = {}
        for model, runs in answers.items():
            first_run = runs[0]
            row_answers[model] = first_run[number]
        earlier, later = list(row_answers.values())[-2:]
        gaps = {}  # in the order of `lost_by`
        for metric in lost_by:
            gap = score_gap(later, earlier, metric)
            if gap is not None:
                gaps[metric] = gap
        gap_signs = set(map(gap_sign, gaps.values()))
        # the first metric that both answers have says who lost
        by = next(iter(gaps), "")
        margin = gaps.get(by)
        outcome = "not judged"
        if margin is not None:
            outcome = OUTCOMES[gap_sign(margin)]
        length = LENGTHS[0]
        more_words = score_gap(later, earlier, "words")
        if more_words is not None:
            length = LENGTHS[gap_sign(more_words)]
        row_slices = {}
        for name, values in prompts.slices.items():
            row_slices[name] = values[number]
        references = row.get("reference") or row.get("answers") or ()
        example = ShownPrompt(
            image=row.get("image"),
            prompt=row["prompt"][0]["content"],
            references=tuple(references),
            answers=row_answers,
            id=row["id"],
            question=row.get("question") or "",
            outcome=outcome,
            margin=margin,
            by=by,
            length=length,
            # ties disagree with nothing
            disagree=1 in gap_signs and -1 in gap_signs,
            slices=row_slices,
        )
        examples.append(example)
    # sorted before it is cut, so that no lost prompt is left out for a won one
    examples.sort(key=by_margin)
    return examples[:MAX_PAGE_PROMPTS]


def by_margin(example: ShownPrompt) -> tuple[bool, float]:
    """Sort key: what was lost most comes first, and what was not judged last."""
    return example.margin is None, example.margin or 0.0


def score_gap(later: JudgedAnswer, earlier: JudgedAnswer, metric: str) -> float | None:
    """Returns the later score less the earlier; None where one of them is missing."""
    later_score = later.scores.get(metric)
    earlier_score = earlier.scores.get(metric)
    if later_score is None or earlier_score is None:
        return None
    return later_score - earlier_score


def gap_sign(gap: float) -> int:
    """Returns 1 or -1, 0 for a tie."""
    return int(signs(np.array(gap)))
