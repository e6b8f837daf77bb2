"""What people's answers say: whom they prefer, whether they agree, which metric agrees with them, and a corrected rate.

    results = measure(answers, answered)
    results["questions"]["overall"]["preference"], results["metrics"]["posh_f1"]["corrected"]

Preferences are means over prompts, from -2 to 2 (above 0: the first side), of a prompt's raters and orders; intervals
draw prompts. People see pairs whose texts differ. A metric's outcome of a pair is the sign of its difference. The
corrected win rate is what people would say over all prompts of the comparison: the metric's, less what it gets wrong
where people answered (prediction-powered inference, rewards/comparison/correction.py), equal texts being ties.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any

from scipy.stats import spearmanr

from rewards.agreement.judging_measures import pair_accuracies
from rewards.comparison.correction import prediction_powered
from rewards.comparison.orders import first_slot_share, swap_consistency
from rewards.comparison.reliability import krippendorff_alpha
from rewards.comparison.resampling import Interval, ratio_interval
from training.blind.answers import Answer
from training.blind.comparison import Answered
from training.blind.questions import ANSWERS, QUESTIONS

Pair = tuple[str, int]  # a prompt and a seed


def measure(answers: Sequence[Answer], answered: Sequence[Answered]) -> dict[str, Any]:
    """{"questions": {NAME: ...}, "metrics": {NAME: ...}}, as plain data."""
    metrics = list(dict.fromkeys(metric for pair in answered for metric in pair.scores))
    questions = {name: [answer for answer in answers if answer.question == name] for name in QUESTIONS}
    return {
        "questions": {name: of_question(given) for name, given in questions.items() if given},
        "metrics": {name: of_metric(name, questions, answered) for name in metrics},
    }


def of_question(answers: Sequence[Answer]) -> dict[str, Any]:
    """Preference, win rate (ties half), the five answers, and what raters and slots say of the answers.

    alpha: Krippendorff's, ordinal, over raters, each with the mean of what they said of a pair; None for one rater.
    orders_agree: of the raters' pairs that they saw both ways; first_slot: of the decided answers.
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
    labels = {level: label for label, level in ANSWERS.items()}
    counts = Counter(answer.preference for answer in answers)
    return {
        "preference": fmean(means.values()),
        "interval": bounds(ratio_interval(list(means.values()))),
        "win_rate": fmean(won.values()),
        "win_rate_interval": bounds(ratio_interval(list(won.values()))),
        "counts": {words_of(labels[level]): counts[level] for level in ANSWERS.values()},
        "prompts": len(means),
        "answers": len(answers),
        "raters": len(raters),
        "alpha": krippendorff_alpha(table, "ordinal") if len(raters) > 1 else None,
        "orders_agree": swap_consistency(both),
        "first_slot": first_slot_share(slots),
    }


def words_of(label: str) -> str:
    """An answer's name from the first side's view: "1 is much better" is much_better."""
    if label == "equal":
        return "equal"
    better = label.startswith("1")
    return f"{'much' if 'much' in label else 'slightly'}_{'better' if better else 'worse'}"


def of_metric(name: str, questions: Mapping[str, Sequence[Answer]], answered: Sequence[Answered]) -> dict[str, Any]:
    """How the metric agrees with people on the pairs that both judged, by question; and, by the overall question, its
    win rate over all prompts as it is and corrected by people, with why there is no correction.
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
    """Over the seeds of each prompt."""
    of_prompts: dict[str, list[float]] = {}
    for (prompt, _), outcome in outcomes.items():
        of_prompts.setdefault(prompt, []).append(outcome)
    return {prompt: fmean(found) for prompt, found in of_prompts.items()}


def difference(pair: Answered, metric: str) -> float | None:
    """The first side's score less the second's; None where one is missing."""
    one, other = pair.scores.get(metric, (None, None))
    return None if one is None or other is None else one - other


def agree(answers: Sequence[Answer], differences: Mapping[Pair, float | None]) -> dict[str, Any]:
    """Over pairs that people and the metric judged: the share with the same outcome, that of those that neither calls
    a tie, and Spearman's correlation of the metric's difference with people's mean (PoSh, section 5); None where
    nothing can be said.
    """
    people: dict[Pair, list[int]] = {}
    for answer in answers:
        people.setdefault((answer.prompt, answer.seed), []).append(answer.preference)
    means = {pair: fmean(given) for pair, given in people.items()}
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
    """The mean of an answer's value over the prompt's raters and orders."""
    found: dict[str, list[float]] = {}
    for answer in answers:
        found.setdefault(answer.prompt, []).append(value(answer))
    return {prompt: fmean(values) for prompt, values in found.items()}


def sign(value: float) -> int:
    return (value > 0) - (value < 0)


def bounds(interval: Interval | None) -> dict[str, float] | None:
    return asdict(interval) if interval else None
