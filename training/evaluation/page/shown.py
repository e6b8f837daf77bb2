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

SHOWN = 500  # prompts on a page


@dataclass(frozen=True, slots=True)
class ShownPrompt:
    """One held-out prompt and every model's answer, by model name in the order to show.

    Attributes:
        outcome: of the last model against the one before it: won, tied, lost, or "not judged".
        margin: the difference in the metric `by`; None where it was not judged.
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
    """Returns the first seed's answers to SHOWN prompts; what the last model lost most comes first.
    lost_by: the first of these metrics that both answers have says who lost; all of them count for
    `disagree`.
    """
    shown = []
    for number, row in enumerate(prompts.rows):
        of_row = {model: of_seeds[0][number] for model, of_seeds in answers.items()}
        *_, earlier, later = of_row.values()
        gaps = {metric: gap(later, earlier, metric) for metric in lost_by}
        by, margin = next(
            ((metric, value) for metric, value in gaps.items() if value is not None), ("", None)
        )
        one = ShownPrompt(
            image=row.get("image"),
            prompt=row["prompt"][0]["content"],
            references=tuple(row.get("reference") or row.get("answers") or ()),
            answers=of_row,
            id=row["id"],
            question=row.get("question") or "",
            outcome="not judged" if margin is None else ("tied", "won", "lost")[sign(margin)],
            margin=margin,
            by=by,
            length=("as long", "longer", "shorter")[sign(gap(later, earlier, "words"))],
            disagree=len({sign(value) for value in gaps.values()} - {0}) > 1,
            slices={name: values[number] for name, values in prompts.slices.items()},
        )
        shown.append(one)
    return sorted(shown, key=lambda one: (one.margin is None, one.margin))[:SHOWN]


def gap(later: JudgedAnswer, earlier: JudgedAnswer, metric: str) -> float | None:
    """Returns the later score less the earlier; None where one of them is missing."""
    one = later.scores.get(metric)
    two = earlier.scores.get(metric)
    return None if one is None or two is None else one - two


def sign(value: float | None) -> int:
    """Returns 1 or -1, 0 for a tie and for no value."""
    return 0 if value is None else int(signs(np.array(value)))
