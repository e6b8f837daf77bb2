"""Writes the differences of a pair of models as sentences.

pair_sentence("dapo", "sft", entries, metrics)
# "dapo against sft: better by truth F1 +0.040 [...] ...; 3.0 words more."
pair_headline("dapo", "sft", entries, metrics)  # "dapo is better than sft by truth F1."
# where two metrics prefer different sides
contradiction_cautions("dapo", "sft", entries, metrics)
"""

from collections.abc import Mapping, Sequence
from itertools import chain, combinations

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
    # fixed systems have no training seeds, so nothing about seeds limits their verdict
    limit = "" if fixed else _limit_of_seeds(entries, lone)
    outcomes = outcomes_of_mains(entries, metrics, fixed, prompts_alone=bool(limit))
    length = length_difference(entries["words"].difference.mean)
    if not limit:
        return f"{later} against {earlier}: {outcomes}; {length}."
    return (
        f"{later} against {earlier}: undecided over seeds ({limit}). On these prompts alone: "
        f"{outcomes}; {length}."
    )


def _limit_of_seeds(entries: ComparedMetrics, lone: str) -> str:
    """Returns the reason why no metric can have a verdict over training seeds, such as "1 seed, 3
    or more are needed"; "" if there is no such reason.

    entries, lone: as in `pair_sentence`.
    """
    # a metric may lack scores for some seeds, so take the metric with the most seeds
    seed_counts = [entry.difference.trained for entry in entries.values()]
    most_seeds = max(seed_counts)
    if most_seeds < MIN_SEEDS:
        return too_few(most_seeds)
    if lone:
        return f"{lone} is one training run"
    return ""


def outcomes_of_mains(
    entries: ComparedMetrics, metrics: MetricsByName, fixed: bool, prompts_alone: bool
) -> str:
    """Returns the verdicts on the main metrics with their figures, the metrics of one verdict
    together: "better by truth F1 +0.040 [0.020, 0.060]; undecided by overlap +0.001 [...]".

    fixed: whether both sides are fixed systems. prompts_alone: whether the outcomes hold for these
    prompts alone ("higher") and not for other prompts and seeds ("better").
    """
    groups: dict[str, list[str]] = {}  # by verdict, a text on each metric
    for name, entry in entries.items():
        metric = metrics[name]
        if not metric.main:
            continue
        text = f"{metric_label(name)} {with_interval(entry)}"
        reservations = reservations_about(metric, fixed)
        if reservations:
            text += f" ({reservations})"
        word = entry.outcome.over_prompts if prompts_alone else entry.outcome.verdict
        groups.setdefault(word, []).append(text)
    clauses = []
    for word in (*VERDICT_ORDER, UNDECIDED_OUTCOME):
        if word in groups:
            clauses.append(f"{word} by {joined_names(groups[word])}")
    return "; ".join(clauses)


def reservations_about(metric: Metric, fixed: bool) -> str:
    """Returns what a reader must know about a metric, such as "a reward that was trained on"; ""
    for nothing.

    fixed: whether the compared models are fixed systems, which nobody trained for this comparison.
    Then it does not matter that their training is unknown.
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
    later: str,
    earlier: str,
    entries: ComparedMetrics,
    metrics: MetricsByName,
    waits: str = "",
) -> str:
    """Returns the verdict on a pair in a few words: "dapo is better than sft by truth F1."

    later, earlier: the names of the two models. entries: the results of the pair by metric.
    metrics: the metrics by name; only main metrics are named. waits: the reason why the pair gets
    no verdict yet, or "".
    """
    if waits:
        return f"{later} against {earlier}: the verdict waits: {waits}."
    mains = [metric for metric in entries if metrics[metric].main]
    # A verdict ("better") holds for other prompts and seeds too. If a metric has a verdict, metrics
    # without one are left out. If no metric has a verdict, each is named by its weaker word
    # ("higher"), which holds for these prompts alone.
    sure = any(entries[metric].outcome.verdict != UNDECIDED_OUTCOME for metric in mains)
    groups: dict[str, list[str]] = {}  # by verdict, the metrics
    for metric in mains:
        outcome = entries[metric].outcome
        word = outcome.verdict if sure else outcome.over_prompts
        if word in VERDICT_ORDER:
            groups.setdefault(word, []).append(metric)
    if not groups:
        return f"{later} against {earlier}: no difference that is beyond chance."
    outcomes: list[str] = []
    for word in VERDICT_ORDER:
        if word in groups:
            # "better than sft by truth F1, and worse by overlap"
            than = "" if outcomes else f"than {earlier} "
            labels = list(map(metric_label, groups[word]))
            outcomes.append(f"{word} {than}by {named_or_counted(labels, len(mains))}")
    text = f"{later} is {', and '.join(outcomes)}"
    if not sure:
        text += ", on these prompts"
    named = set(chain(*groups.values()))
    reserved = []
    for metric in mains:
        if metric in named and metrics[metric].unpublished:
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

    Two such metrics get a warning if neither sign is chance over these prompts. If a sign of two
    others may be chance, one note lists all metrics by their signs. The warning on a metric that a
    model was trained on names the likely reason.
    """
    means = {}
    for metric, entry in entries.items():
        mean = entry.difference.mean
        if metrics[metric].main and mean is not None:
            means[metric] = mean
    # metrics that were trained on come first, so that a warning begins with such a metric
    ordered = sorted(means, key=lambda metric: metrics[metric].kind != "trained")
    opponents: dict[str, list[str]] = {}  # by metric, later metrics that surely have another sign
    some_doubtful = False  # whether a contradiction may be chance
    for metric, other in combinations(ordered, 2):
        has_other_sign = means[metric] * means[other] < 0
        if not has_other_sign:
            continue
        words = {entries[metric].outcome.over_prompts, entries[other].outcome.over_prompts}
        if words == {"higher", "lower"}:
            opponents.setdefault(metric, []).append(other)
        else:
            some_doubtful = True
    warnings = []
    for metric, others in opponents.items():
        why = "look at what each of them sees"
        if metrics[metric].kind == "trained":
            why = "it has learned to please its reward, or the reward sees what the others do not"
        this_side = listed_means([metric], means, metrics)
        other_side = listed_means(others, means, metrics)
        warnings.append(f"{later} against {earlier}: {this_side}, but {other_side}: {why}")
    if not some_doubtful:
        return warnings, []
    # one note for all contradictions that may be chance
    plus = listed_means([name for name in means if means[name] > 0], means, metrics)
    minus = listed_means([name for name in means if means[name] < 0], means, metrics)
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
    # With too few seeds there is no interval over seeds (`runs_low`). Then `both_low` is that of an
    # interval over prompts too, and says nothing new.
    if mean.runs_low is None:
        return text
    both = interval_text(mean.both_low, mean.both_high, digits)
    if both == NO_FIGURE:
        return text
    ends = both[1:-1]  # without its brackets
    return f"{text} {{{ends}}}"
