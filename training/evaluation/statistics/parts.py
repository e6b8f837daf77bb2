"""The parts that split a reward's main part by kind: PoSh's precision and recall by entity, attribute and relation."""

from collections.abc import Sequence

import numpy as np

from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.evaluation.judged.answer import JudgedAnswer
from spanreward.training.evaluation.judged.evaluate import Answers
from spanreward.training.evaluation.statistics.summary import Summary, summarise_models


def parts_by_kind(setup: Setup, answers: Answers) -> Summary:
    """Returns `posh_precision_entity` and so on, from the shown verdicts; an empty summary where there are none."""
    mains = {reward.__name__: tuple(f"{main}_" for main in reward.main_parts) for reward in setup.rewards}
    every = [answer for of_side in answers.values() for of_run in of_side for answer in of_run]
    splits = dict.fromkeys(
        (answer.judge, part)
        for answer in every
        for part in answer.verdict.parts
        if part.startswith(mains[answer.judge])
    )
    if not splits:
        return Summary({}, {})

    def values(of_side: Sequence[Sequence[JudgedAnswer]], judge: str, part: str) -> np.ndarray:
        rows = [[one.verdict.parts.get(part) if one.judge == judge else None for one in of_run] for of_run in of_side]
        return np.array(rows, dtype=float)

    scores = {
        side: {f"{judge}_{part}": values(of_side, judge, part) for judge, part in splits}
        for side, of_side in answers.items()
    }
    nothing = {side: {name: np.zeros(array.shape, bool) for name, array in of.items()} for side, of in scores.items()}
    return summarise_models(scores, setup.seeds, nothing, setup.sides)
