"""Writes the differences of a pair of models as sentences.

pair_sentence("dapo", "sft", entries, metrics)
# "dapo against sft: better by truth F1 +0.040 [...] ...; 3.0 words more."
pair_headline("dapo", "sft", entries, metrics)  # "dapo is better than sft by truth F1."
# where two metrics prefer different sides
contradiction_cautions("dapo", "sft", entries, metrics)
"""

from collections.abc import Mapping, Sequence

from spanreward.rewards.comparison.number_text import (
    NO_FIGURE,
    estimate_text,
    interval_text,
    metric_label,
    number_text,
    typeset_number,
)
from spanreward.training.evaluation.answer_scores.metrics import METRIC_KINDS, Metric
from spanreward.training.evaluation.statistics.estimates import MIN_SEEDS, Estimate
from spanreward.training.evaluation.statistics.outcomes import UNDECIDED_OUTCOME, Compared, too_few
from spanreward.training.evaluation.statistics.waiting import WAITING_REMEDY

VERDICT_ORDER = ("better", "higher", "worse", "lower")
UNPUBLISHED_NOTE = "by match, no published metric"

ComparedMetrics = Mapping[str, Compared]
MetricsByName = Mapping[str, Metric]


def pair_sentence(
    later: str,
    earlier: str,
    entries: ComparedMetrics,
    metrics: MetricsByName,
    fixed: bool = False,
    lone: str = "",
    waits: str = "",
) -> str:
    """Returns a sentence with figures on a pair: the metrics by which the later model is better,
    worse or undecided, and the difference in length.

    Example: "dapo against sft: better by truth F1 +0.040 [0.020, 0.060]; 3.0 words more."

    Args:
        later, earlier: the names of the two sides.
        entries: the results by metric.
        metrics: the metrics by name.
        fixed: whether both sides are fixed systems, whose verdict is over prompts alone.
        lone: the name of the side that is a single training run while the other side has several
            runs; "" for no such side.
        waits: the reason why the pair gets no verdict yet, or "". With a reason, the sentence has
            this reason and the figures, without a verdict.
    """
    if waits:
        figures = differences_alone(entries, metrics)
        return f"{later} against {earlier}: the verdict waits: {waits}. {WAITING_REMEDY}. {figures}"
    seeds = max(entry.difference.trained for entry in entries.values())
    # what keeps all metrics from a verdict over seeds is written once
    limit = ""
    if not fixed and seeds < MIN_SEEDS:
        limit = too_few(seeds)
    elif not fixed and lone:
        limit = f"{lone} is one training run"
    groups: dict[str, list[str]] = {}  # by verdict, a text on each metric
    for name, entry in entries.items():
        metric = metrics[name]
        if not metric.main:
            continue
        text = f"{metric_label(name)} {with_interval(entry)}"
        reservations = reservations_about(metric, fixed)
        if reservations:
            text += f" ({reservations})"
        word = entry.outcome.over_prompts if limit else entry.outcome.verdict
        groups.setdefault(word, []).append(text)
    clauses = []
    for word in (*VERDICT_ORDER, UNDECIDED_OUTCOME):
        if word in groups:
            clauses.append(f"{word} by {joined_names(groups[word])}")
    outcomes = "; ".join(clauses)
    length = length_difference(entries["words"].difference.mean)
    if not limit:
        return f"{later} against {earlier}: {outcomes}; {length}."
    return (
        f"{later} against {earlier}: undecided over seeds ({limit}). On these prompts alone: "
        f"{outcomes}; {length}."
    )


def reservations_about(metric: Metric, fixed: bool) -> str:
    """Returns what a reader must know about a metric, such as "a reward that was trained on"; ""
    for nothing.

    With fixed systems, unknown training is no reservation, because nothing is trained.
    """
    reservations = []
    if not (fixed and metric.kind == "unknown"):
        reservations.append(METRIC_KINDS[metric.kind])
    if metric.unpublished:
        reservations.append(UNPUBLISHED_NOTE)
    return "; ".join(filter(None, reservations))


def differences_alone(entries: ComparedMetrics, metrics: MetricsByName) -> str:
    """Returns a sentence with the differences of the main metrics, without a verdict."""
    texts = []
    for name, entry in entries.items():
        if metrics[name].main:
            texts.append(f"{metric_label(name)} {with_interval(entry)}")
    length = length_difference(entries["words"].difference.mean)
    return f"As they stand, the answers differ by {joined_names(texts)}, and have {length}."


def with_interval(entry: Compared) -> str:
    """Returns a difference with its intervals as text (`in_figures`), or "not judged"."""
    difference = entry.difference
    if difference.mean is None:
        return "not judged"
    digits = 3 if abs(difference.mean) < 1 else 1
    return typeset_number(in_figures(difference, digits, sign="+"))


def length_difference(mean: float | None) -> str:
    """Returns the difference in length as text, such as "3.0 words more".

    mean: the mean difference in words; None if unknown.
    """
    if mean is None:
        return "of unknown length"
    if abs(mean) < 0.05:  # prints as 0.0
        return "as many words"
    comparative = "more" if mean > 0 else "fewer"
    return f"{abs(mean):.1f} words {comparative}"


def pair_headline(
    later: str, earlier: str, entries: ComparedMetrics, metrics: MetricsByName, waits: str = ""
) -> str:
    """Returns the verdict on a pair in a few words: "dapo is better than sft by truth F1."

    later, earlier: the names of the two models. entries: the results of the pair by metric.
    metrics: the metrics by name; only main metrics are named. waits: the reason why the pair gets
    no verdict yet, or "".
    """
    if waits:
        return f"{later} against {earlier}: the verdict waits: {waits}."
    mains = [metric for metric in entries if metrics[metric].main]
    # If a metric has a verdict, the undecided metrics are left out below. If no metric has one,
    # each metric's weaker word counts, which holds for these prompts alone.
    sure = any(entries[metric].outcome.verdict != UNDECIDED_OUTCOME for metric in mains)
    groups: dict[str, list[str]] = {}  # by verdict, the metrics
    for metric in mains:
        outcome = entries[metric].outcome
        word = outcome.verdict if sure else outcome.over_prompts
        groups.setdefault(word, []).append(metric_label(metric))
    outcomes: list[str] = []
    named: list[str] = []  # the metrics of these outcomes
    for word in VERDICT_ORDER:
        if word in groups:
            # "better than sft by truth F1, and worse by overlap"
            than = "" if outcomes else f"than {earlier} "
            by = named_or_counted(groups[word], len(mains))
            outcomes.append(f"{word} {than}by {by}")
            named += groups[word]
    if not outcomes:
        return f"{later} against {earlier}: no difference that is beyond chance."
    text = f"{later} is {', and '.join(outcomes)}"
    if not sure:
        text += ", on these prompts"
    reserved = []
    for metric in mains:
        if metrics[metric].unpublished and metric_label(metric) in named:
            reserved.append(metric_label(metric))
    if reserved:
        text += f" ({joined_names(reserved)} {UNPUBLISHED_NOTE})"
    return f"{text}."


def named_or_counted(names: Sequence[str], metrics: int) -> str:
    """Returns up to two names as a list, and more names as a number: "3 of 5 metrics".

    metrics: the number of all main metrics.
    """
    if len(names) < 3:
        return joined_names(names)
    if len(names) == metrics:
        return f"all {metrics} metrics"
    return f"{len(names)} of {metrics} metrics"


def contradiction_cautions(
    later: str, earlier: str, entries: ComparedMetrics, metrics: MetricsByName
) -> tuple[list[str], list[str]]:
    """Returns warnings and notes on main metrics whose differences have opposite signs.

    Two such metrics get a warning if neither sign is chance over these prompts. All other
    contradictions get one note together, because a sign may be chance. The warning on a metric that
    a model was trained on names the likely reason.
    """
    means = {}
    for metric, entry in entries.items():
        mean = entry.difference.mean
        if metrics[metric].main and mean is not None:
            means[metric] = mean
    # metrics that were trained on come first, so that a warning begins with such a metric
    trained = [metric for metric in means if metrics[metric].kind == "trained"]
    others = [metric for metric in means if metrics[metric].kind != "trained"]
    ordered = trained + others
    warnings: list[str] = []
    some_doubtful = False  # whether a contradiction may be chance
    for index, metric in enumerate(ordered):
        sure = []  # later metrics of the other sign, if neither sign is chance over prompts
        for other in ordered[index + 1 :]:
            has_other_sign = means[metric] * means[other] < 0
            if not has_other_sign:
                continue
            word = entries[metric].outcome.over_prompts
            other_word = entries[other].outcome.over_prompts
            if {word, other_word} == {"higher", "lower"}:
                sure.append(other)
            else:
                some_doubtful = True
        if metric in trained:
            why = "it has learned to please its reward, or the reward sees what the others do not"
        else:
            why = "look at what each of them sees"
        if sure:
            this_side = listed_means([metric], means, metrics)
            other_side = listed_means(sure, means, metrics)
            warnings.append(f"{later} against {earlier}: {this_side}, but {other_side}: {why}")
    if not some_doubtful:
        return warnings, []
    # one note for all contradictions that may be chance
    above_zero = [name for name, mean in means.items() if mean > 0]
    below_zero = [name for name, mean in means.items() if mean < 0]
    plus = listed_means(above_zero, means, metrics)
    minus = listed_means(below_zero, means, metrics)
    return warnings, [
        f"{later} against {earlier}: {plus}, but {minus}; one of the signs may be chance"
    ]


def listed_means(names: Sequence[str], means: Mapping[str, float], metrics: MetricsByName) -> str:
    """Returns the metrics with their kinds and mean differences: "truth F1 (no judge) +0.040 and
    ...".
    """
    texts = []
    for name in names:
        mean = typeset_number(number_text(means[name], sign="+"))
        texts.append(f"{metric_label(name)} ({METRIC_KINDS[metrics[name].kind]}) {mean}")
    return joined_names(texts)


def joined_names(names: Sequence[str]) -> str:
    """Returns the names as `a, b and c`."""
    first = names[:-1]
    last = names[-1]
    if not first:
        return last
    return f"{', '.join(first)} and {last}"


def p_value(p: float) -> str:
    """Returns a p-value in two digits, such as 0.034; below 0.001 it is "< .001"."""
    if p < 0.001:
        return "< .001"
    if p < 0.095:
        return f"{p:.2g}"
    return f"{p:.2f}"  # .2g would leave out the zero of 0.10


def in_figures(mean: Estimate, digits: int = 3, sign: str = "") -> str:
    """Returns `0.040 [0.020, 0.060] {0.010, 0.070}`: the mean, its interval over prompts, and its
    interval over prompts and seeds together.
    """
    text = estimate_text(mean.mean, mean.low, mean.high, digits, sign)
    # with too few seeds the second interval would be over prompts again
    if mean.runs_low is None:
        return text
    both = interval_text(mean.both_low, mean.both_high, digits)
    if both == NO_FIGURE:
        return text
    ends = both[1:-1]  # without its brackets
    return f"{text} {{{ends}}}"
