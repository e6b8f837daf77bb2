"""A comparison as tables in a terminal."""

from collections.abc import Iterable
from typing import Any

from rich.table import Table

from spanreward.rewards.comparison.figures import MINUS, NONE, estimate, interval as bounds, label
from spanreward.rewards.comparison.resampling import Interval
from spanreward.training.evaluation.statistics.comparison import Comparison
from spanreward.training.evaluation.statistics.outcomes import UNDECIDED, Outcome
from spanreward.training.evaluation.statistics.pairs import Pair
from spanreward.training.evaluation.statistics.sentences import equivalence, in_figures, p_value


def table_with(title: str, left: Iterable[str], right: Iterable[str] = (), **options: Any) -> Table:
    """Returns a table without rows. options: as rich's Table has them."""
    table = Table(title=title, **options)
    for name in left:
        table.add_column(name)
    for name in right:
        table.add_column(name, justify="right")
    return table


def tables_of(comparison: Comparison) -> list[Table]:
    """Returns the tables of the models' means, the differences with their verdicts, the win rates (raw and at equal
    length), the slices where a later model is lower (if any), and the ranking (of three models or more).
    """
    setup = comparison.setup
    of_runs = "; {over prompts and seeds}" if len(set(setup.seeds)) >= 3 else ""
    seeds = "" if setup.fixed else f", seeds {setup.seeds}"
    what = f"{len(setup.prompts.rows)} held-out prompts{seeds}: mean [95 % over prompts{of_runs}]"
    slices = worse_slices(comparison)
    tables = [means(comparison, what), differences(comparison, what), win_rates(comparison)]
    return tables + [slices] * bool(slices.rows) + [ranking(comparison)] * (len(comparison.models) > 2)


def means(comparison: Comparison, what: str) -> Table:
    readers = "; ".join(f"{name} read by {reader}" for name, reader in comparison.setup.readers.items())
    table = table_with(f"Models, {what}", [], caption=readers)
    for name in ("metric", *comparison.models):
        table.add_column(name, no_wrap=True)
    for metric in comparison.metrics:
        table.add_row(metric, *(in_figures(of_model[metric]) for of_model in comparison.models.values()))
    return table


def differences(comparison: Comparison, what: str) -> Table:
    table = table_with(f"Paired differences, {what}", [])
    for name in ("pair", "metric", "kind", "difference", "p", "verdict", "not judged", "worst case"):
        table.add_column(name, no_wrap=name in ("metric", "difference"))
    for pair in comparison.pairs:
        for metric, entry in pair.metrics.items():
            found, kind = entry.difference, comparison.metrics[metric].kind
            said = "\n".join(filter(None, [verdict(entry.outcome), equivalence(entry.equivalent)]))
            worst = "{:+.3f} to {:+.3f}".format(*found.worst_case) if found.worst_case else ""
            p = "" if found.p is None else p_value(found.p)
            table.add_row(titled(pair), metric, kind, in_figures(found), p, said, str(found.failed or ""), worst)
        table.add_section()
    return table


def verdict(outcome: Outcome) -> str:
    """Returns the verdict, and where it is undecided what is said of these prompts alone, if anything."""
    said = outcome.verdict != UNDECIDED or outcome.over_prompts == UNDECIDED
    return outcome.verdict if said else f"{outcome.over_prompts} on these prompts"


def win_rates(comparison: Comparison) -> Table:
    names = ("pair", "metric", "wins", "at equal length", "longer in")
    table = table_with("Answers that win (ties half) [95 % over prompts], and at equal length", names)
    rated = [(pair, metric, one.win_rate) for pair in comparison.pairs for metric, one in pair.metrics.items()]
    notes: dict[str, None] = {}
    for pair, metric, rate in rated:
        if rate:
            wins = share(rate.raw, rate.raw_interval), share(rate.controlled, rate.controlled_interval)
            table.add_row(titled(pair), metric, *wins, share(rate.longer))
            notes |= {f"{titled(pair)}: {rate.note}": None} if rate.note else {}
    table.caption = "\n".join(notes)
    return table


def worse_slices(comparison: Comparison) -> Table:
    """The slices where the later model is lower by the metric that says who lost; results.json has all slices."""
    metric = comparison.lost_by[0]
    title = f"Where it got worse by {label(metric)}, adjusted over all slices of a pair (Holm)"
    table = table_with(title, ["pair", "prompts", "difference", "Holm p", "verdict"])
    for pair in comparison.pairs:
        for row in pair.slices:
            if row.metric == metric and row.outcome.over_prompts == "lower" and row.holm is not None:
                prompts = f"{row.slice}: {row.value} ({row.difference.counted})"
                figures = in_figures(row.difference), p_value(row.holm)
                table.add_row(titled(pair), prompts, *figures, verdict(row.outcome))
    return table


def ranking(comparison: Comparison) -> Table:
    title = f"Ranking by {label(comparison.lost_by[0])} over these prompts [95 %]"
    table = table_with(title, ["rank", "model", "mean", "tied with"])
    for row in comparison.ranking:
        mean = "not judged" if row.rank is None else estimate(row.mean.mean, row.mean.low, row.mean.high)
        table.add_row(str(row.rank or NONE), row.model, mean, ", ".join(row.tied))
    return table


def titled(pair: Pair) -> str:
    return f"{pair.later} {MINUS} {pair.earlier}"


def share(value: float | None, interval: Interval | None = None) -> str:
    """Returns a share as percent, with its interval where there is one."""
    if value is None:
        return NONE
    reach = " " + bounds(100 * interval.low, 100 * interval.high, digits=0) if interval else ""
    return f"{100 * value:.0f} %{reach}"
