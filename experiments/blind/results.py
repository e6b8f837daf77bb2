"""What people's answers say: whom they prefer, whether they agree, which metric agrees with them,
and a corrected rate.

    results = measure(answers, answered)
    results["questions"]["overall"]["preference"], results["metrics"]["posh_f1"]["corrected"]

A prompt's preference is the mean of its raters and orders, from -2 to 2, above 0 for the first
side; intervals draw prompts. People see pairs whose texts differ. A metric's outcome of a pair is
the sign of its difference. The corrected win rate estimates people's win rate over all prompts: the
metric's, less its error where people answered (prediction-powered inference,
experiments/blind/correction.py). Equal texts are ties.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from experiments.agreement.measures import swap_consistency
from experiments.blind.answers import Answer
from experiments.blind.comparison import Answered
from experiments.blind.correction import prediction_powered
from experiments.blind.questions import QUESTIONS
from experiments.blind.reliability import krippendorff_alpha
from experiments.labels.pair_statistics import pair_accuracies
from spanreward.rewards.comparison.resampling import ratio_interval
from spanreward.rewards.pairwise.votes import first_slot_share

PAIR = ["prompt", "seed"]
NAMES = {"much_better": 2, "slightly_better": 1, "equal": 0, "slightly_worse": -1, "much_worse": -2}


def measure(answers: Sequence[Answer], answered: Sequence[Answered]) -> dict[str, Any]:
    """Returns {"questions": {NAME: ...}, "metrics": {NAME: ...}}, as plain data."""
    metrics = list(dict.fromkeys(metric for pair in answered for metric in pair.scores))
    table = pd.DataFrame(map(asdict, answers))
    table["won"] = (1 + np.sign(table["preference"])) / 2
    given = dict(list(table.groupby("question")))
    questions = {name: given[name] for name in QUESTIONS if name in given}
    return {
        "questions": {name: of_question(rows) for name, rows in questions.items()},
        "metrics": {name: of_metric(name, questions, answered) for name in metrics},
    }


def of_question(answers: pd.DataFrame) -> dict[str, Any]:
    """Returns preference, win rate (ties half), the counts of the five answers, and the agreement
    of raters and orders. alpha: Krippendorff's, ordinal, over raters, each with the mean of their
    answers to a pair; None for one rater. orders_agree: over pairs that a rater saw both ways.
    first_slot: over decided answers. answers: a row each, with the columns of Answer and `won`.
    """
    of_raters = answers.groupby(["rater", *PAIR], sort=False)["preference"]
    table = of_raters.mean().unstack(PAIR)
    both = [np.sign(pair.to_numpy()).tolist() for _, pair in of_raters if len(pair) == 2]
    decided = answers[answers["preference"] != 0]
    counts = answers["preference"].value_counts()
    return {
        **mean_and_interval(
            "preference", "interval", means_of(answers["preference"], answers["prompt"])
        ),
        **mean_and_interval(
            "win_rate", "win_rate_interval", means_of(answers["won"], answers["prompt"])
        ),
        "counts": {name: int(counts.get(level, 0)) for name, level in NAMES.items()},
        "prompts": answers["prompt"].nunique(),
        "answers": len(answers),
        "raters": len(table),
        "alpha": krippendorff_alpha(table.to_numpy().tolist(), "ordinal")
        if len(table) > 1
        else None,
        "orders_agree": swap_consistency(both),
        "first_slot": first_slot_share(((decided["preference"] > 0) == decided["first"]).tolist()),
    }


def of_metric(
    name: str, questions: Mapping[str, pd.DataFrame], answered: Sequence[Answered]
) -> dict[str, Any]:
    """Returns, by question, how the metric agrees with people on the pairs that both judged. For
    the overall question it adds the metric's win rate over all prompts, as it is and corrected by
    people. `note` says why there is no correction.
    """
    pairs = pd.MultiIndex.from_tuples([(pair.id, pair.seed) for pair in answered], names=PAIR)
    both = np.array([pair.scores.get(name, (None, None)) for pair in answered], dtype=float)
    gaps = pd.Series(both[:, 0] - both[:, 1], pairs)
    differ = pd.Series([pair.texts[0] != pair.texts[1] for pair in answered], pairs)
    won = (1 + np.sign(gaps.dropna())) / 2
    result: dict[str, Any] = {
        "agreement": {question: agree(rows, gaps) for question, rows in questions.items()},
        "failed": int(gaps.isna().sum()),
        **mean_and_interval("win_rate", "interval", means_of(won, "prompt")),
        "corrected": None,
        "corrected_interval": None,
        "trust": None,
        "note": "",
    }
    if "overall" not in questions:
        return {**result, "note": "people did not answer the overall question"}
    overall = questions["overall"]
    people = means_of(overall["won"], overall["prompt"])
    seen = won[won.index.isin(pd.MultiIndex.from_frame(overall[PAIR]))]
    others = means_of(
        won[differ[won.index] & ~won.index.isin(people.index, level="prompt")], "prompt"
    )
    try:
        found = prediction_powered(
            people[seen.index.get_level_values("prompt")].tolist(), seen.tolist(), others.tolist()
        )
    except ValueError as error:
        return {**result, "note": str(error)}
    share = float(differ.mean())

    def over_all(rate: float) -> float:
        return share * rate + (1 - share) / 2

    interval = {"low": over_all(found.interval.low), "high": over_all(found.interval.high)}
    return {
        **result,
        "corrected": over_all(found.value),
        "corrected_interval": interval,
        "trust": found.trust,
    }


def agree(answers: pd.DataFrame, gaps: pd.Series) -> dict[str, Any]:
    """Compares outcomes over the pairs that people and the metric judged; None where nothing can be
    said. with_ties: the share with the same outcome. without_ties: that of the pairs that neither
    calls a tie. spearman: of the metric's difference with people's mean (PoSh, section 5).
    """
    known = pd.concat(
        [gaps, means_of(answers["preference"], [answers[key] for key in PAIR])], axis=1
    ).dropna()
    signs = np.sign(known.to_numpy()).astype(int).T.tolist()
    same = pair_accuracies(*signs)
    varied = known.nunique().min() > 1
    return {
        "with_ties": same.with_ties,
        "without_ties": same.without_ties,
        "spearman": float(spearmanr(known).statistic) if varied else None,
        "pairs": len(known),
    }


def means_of(values: pd.Series, by: Any) -> pd.Series:
    return values.groupby(by, sort=False).mean()


def mean_and_interval(name: str, interval: str, values: pd.Series) -> dict[str, Any]:
    """Returns the mean over prompts and its interval under these names; None without values."""
    bounds = ratio_interval(values)
    return {
        name: float(values.mean()) if len(values) else None,
        interval: asdict(bounds) if bounds else None,
    }
