"""What people's answers say: whom they prefer, whether they agree, which metric agrees with them, and a corrected rate.

    results = measure(answers, answered)
    results["questions"]["overall"]["preference"], results["metrics"]["posh_f1"]["corrected"]

A prompt's preference is the mean of its raters and orders, from -2 to 2, above 0 for the first side; intervals draw
prompts. People see pairs whose texts differ. A metric's outcome of a pair is the sign of its difference. The corrected
win rate estimates people's win rate over all prompts: the metric's, less its error where people answered
(prediction-powered inference, rewards/comparison/correction.py). Equal texts are ties.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any, TypeVar

from scipy.stats import spearmanr

from spanreward.rewards.comparison.correction import prediction_powered
from spanreward.rewards.comparison.orders import first_slot_share, swap_consistency
from spanreward.rewards.comparison.reliability import krippendorff_alpha
from spanreward.rewards.comparison.resampling import Interval, ratio_interval
from spanreward.rewards.labels.pair_statistics import pair_accuracies
from spanreward.training.blind.answers import Answer
from spanreward.training.blind.comparison import Answered
from spanreward.training.blind.questions import QUESTIONS

Pair = tuple[str, int]  # a prompt and a seed
K = TypeVar("K", bound=Hashable)
NAMES = {"much_better": 2, "slightly_better": 1, "equal": 0, "slightly_worse": -1, "much_worse": -2}


def measure(answers: Sequence[Answer], answered: Sequence[Answered]) -> dict[str, Any]:
    """Returns {"questions": {NAME: ...}, "metrics": {NAME: ...}}, as plain data."""
    metrics = list(dict.fromkeys(metric for pair in answered for metric in pair.scores))
    questions = {name: [answer for answer in answers if answer.question == name] for name in QUESTIONS}
    return {
        "questions": {name: of_question(given) for name, given in questions.items() if given},
        "metrics": {name: of_metric(name, questions, answered) for name in metrics},
    }


def of_question(answers: Sequence[Answer]) -> dict[str, Any]:
    """Returns preference, win rate (ties half), the counts of the five answers, and the agreement of raters and orders.
    alpha: Krippendorff's, ordinal, over raters, each with the mean of their answers to a pair; None for one rater.
    orders_agree: over pairs that a rater saw both ways. first_slot: over decided answers.
    """
    means = by_prompt(answers, lambda answer: float(answer.preference))
    won = by_prompt(answers, lambda answer: (1 + sign(answer.preference)) / 2)
    raters = list(dict.fromkeys(answer.rater for answer in answers))
    said: dict[tuple[str, Pair], list[Answer]] = {}
    for answer in answers:
        said.setdefault((answer.rater, (answer.prompt, answer.seed)), []).append(answer)
    pairs = list(dict.fromkeys(pair for _, pair in said))
    table = [
        [fmean(one.preference for one in said[rater, pair]) if (rater, pair) in said else None for pair in pairs]
        for rater in raters
    ]
    both = [(sign(one.preference), sign(two.preference)) for one, two in (p for p in said.values() if len(p) == 2)]
    slots = [None if not answer.preference else (answer.preference > 0) == answer.first for answer in answers]
    counts = Counter(answer.preference for answer in answers)
    return {
        "preference": fmean(means.values()),
        "interval": bounds(ratio_interval(list(means.values()))),
        "win_rate": fmean(won.values()),
        "win_rate_interval": bounds(ratio_interval(list(won.values()))),
        "counts": {name: counts[level] for name, level in NAMES.items()},
        "prompts": len(means),
        "answers": len(answers),
        "raters": len(raters),
        "alpha": krippendorff_alpha(table, "ordinal") if len(raters) > 1 else None,
        "orders_agree": swap_consistency(both),
        "first_slot": first_slot_share(slots),
    }


def of_metric(name: str, questions: Mapping[str, Sequence[Answer]], answered: Sequence[Answered]) -> dict[str, Any]:
    """Returns, by question, how the metric agrees with people on the pairs that both judged. For the overall question
    it adds the metric's win rate over all prompts, as it is and corrected by people. `note` says why there is no
    correction.
    """
    differences = {(pair.id, pair.seed): difference(pair, name) for pair in answered}
    differ = {(pair.id, pair.seed) for pair in answered if pair.texts[0] != pair.texts[1]}
    agreement = {question: agree(answers, differences) for question, answers in questions.items() if answers}
    won = {pair: (1 + sign(value)) / 2 for pair, value in differences.items() if value is not None}
    raw = mean_by_prompt(won)
    result: dict[str, Any] = {
        "agreement": agreement,
        "failed": sum(value is None for value in differences.values()),
        "win_rate": fmean(raw.values()) if raw else None,
        "interval": bounds(ratio_interval(list(raw.values()))),
        "corrected": None,
        "corrected_interval": None,
        "trust": None,
        "note": "",
    }
    overall = questions.get("overall") or ()
    people = by_prompt(overall, lambda answer: (1 + sign(answer.preference)) / 2)
    seen = {answer.prompt: (answer.prompt, answer.seed) for answer in overall if (answer.prompt, answer.seed) in won}
    others = mean_by_prompt({pair: rate for pair, rate in won.items() if pair in differ and pair[0] not in people})
    try:
        found = prediction_powered(
            [people[prompt] for prompt in seen], [won[pair] for pair in seen.values()], list(others.values())
        )
    except ValueError as error:
        return {**result, "note": str(error)}
    share = len(differ) / len(answered)

    def over_all(rate: float) -> float:
        return share * rate + (1 - share) / 2

    interval = {"low": over_all(found.interval.low), "high": over_all(found.interval.high)}
    return {**result, "corrected": over_all(found.value), "corrected_interval": interval, "trust": found.trust}


def mean_by_prompt(outcomes: Mapping[Pair, float]) -> dict[str, float]:
    """Averages over the seeds of each prompt."""
    return means_of((prompt, outcome) for (prompt, _), outcome in outcomes.items())


def difference(pair: Answered, metric: str) -> float | None:
    one, other = pair.scores.get(metric, (None, None))
    return None if one is None or other is None else one - other


def agree(answers: Sequence[Answer], differences: Mapping[Pair, float | None]) -> dict[str, Any]:
    """Compares outcomes over the pairs that people and the metric judged; None where nothing can be said. with_ties:
    the share with the same outcome. without_ties: that of the pairs that neither calls a tie. spearman: of the metric's
    difference with people's mean (PoSh, section 5).
    """
    means = means_of(((answer.prompt, answer.seed), answer.preference) for answer in answers)
    known = [(value, means[pair]) for pair in means if (value := differences.get(pair)) is not None]
    same = pair_accuracies([sign(value) for value, _ in known], [sign(mean) for _, mean in known])
    varied = all(len({one[place] for one in known}) > 1 for place in (0, 1))
    return {
        "with_ties": same.with_ties,
        "without_ties": same.without_ties,
        "spearman": float(spearmanr(*zip(*known, strict=True)).statistic) if varied else None,
        "pairs": len(known),
    }


def by_prompt(answers: Sequence[Answer], value: Any) -> dict[str, float]:
    return means_of((answer.prompt, value(answer)) for answer in answers)


def means_of(entries: Iterable[tuple[K, float]]) -> dict[K, float]:
    found: dict[K, list[float]] = {}
    for key, value in entries:
        found.setdefault(key, []).append(value)
    return {key: fmean(values) for key, values in found.items()}


def sign(value: float) -> int:
    return (value > 0) - (value < 0)


def bounds(interval: Interval | None) -> dict[str, float] | None:
    return asdict(interval) if interval else None
