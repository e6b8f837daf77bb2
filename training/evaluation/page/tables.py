"""A comparison as tables in a terminal: the models' means, and the differences with their verdicts."""

from rich.table import Column, Table

from spanreward.rewards.comparison.figures import MINUS
from spanreward.training.evaluation.statistics.comparison import Comparison
from spanreward.training.evaluation.statistics.outcomes import UNDECIDED
from spanreward.training.evaluation.statistics.sentences import in_figures, p_value


def tables_of(comparison: Comparison) -> list[Table]:
    """Returns the tables; results.json and the page have win rates, slices and the ranking too."""
    setup = comparison.setup
    of_runs = "; {over prompts and seeds}" if len(set(setup.seeds)) >= 3 else ""
    seeds = "" if setup.fixed else f", seeds {setup.seeds}"
    what = f"{len(setup.prompts.rows)} held-out prompts{seeds}: mean [95 % over prompts{of_runs}]"
    return [means(comparison, what), differences(comparison, what)]


def means(comparison: Comparison, what: str) -> Table:
    readers = "; ".join(f"{name} read by {reader}" for name, reader in comparison.setup.readers.items())
    names = (Column(name, no_wrap=True) for name in ("metric", *comparison.models))
    table = Table(*names, title=f"Models, {what}", caption=readers)
    for metric in comparison.metrics:
        table.add_row(metric, *(in_figures(of_model[metric]) for of_model in comparison.models.values()))
    return table


def differences(comparison: Comparison, what: str) -> Table:
    names = ("pair", "metric", "kind", "difference", "p", "verdict", "not judged", "worst case")
    columns = (Column(name, no_wrap=name in ("metric", "difference")) for name in names)
    table = Table(*columns, title=f"Paired differences, {what}")
    for pair in comparison.pairs:
        for metric, entry in pair.metrics.items():
            found, outcome = entry.difference, entry.outcome
            alone = outcome.verdict == UNDECIDED != outcome.over_prompts
            said = f"{outcome.over_prompts} on these prompts" if alone else outcome.verdict
            table.add_row(
                f"{pair.later} {MINUS} {pair.earlier}",
                metric,
                comparison.metrics[metric].kind,
                in_figures(found),
                "" if found.p is None else p_value(found.p),
                said,
                str(found.failed or ""),
                "{:+.3f} to {:+.3f}".format(*found.worst_case) if found.worst_case else "",
            )
        table.add_section()
    return table
