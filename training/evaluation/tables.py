"""A comparison's results as tables in a terminal."""

from collections.abc import Iterable
from typing import Any

from rich.table import Table

from spanreward.rewards.comparison.figures import MINUS, interval as bounds, label
from spanreward.training.evaluation.outcomes import equivalence, in_figures, p_value


def table_with(title: str, left: Iterable[str], right: Iterable[str] = (), **options: Any) -> Table:
    """Returns a table without rows. options: as rich's Table has them."""
    table = Table(title=title, **options)
    for name in left:
        table.add_column(name)
    for name in right:
        table.add_column(name, justify="right")
    return table


def tables_of(results: dict[str, Any]) -> list[Table]:
    """Returns the tables of the models' means, the differences with their verdicts, the win rates (raw and at equal
    length), the slices where a later model is lower (if any), and the ranking (of three models or more).
    """
    of_runs = "; {over prompts and seeds}" if len(set(results["seeds"])) >= 3 else ""
    seeds = "" if results.get("fixed") else f", seeds {results['seeds']}"
    what = f"{results['prompts']} held-out prompts{seeds}: mean [95 % over prompts{of_runs}]"
    tables = [means(results, what), differences(results, what), win_rates(results)]
    slices = worse_slices(results)
    return [*tables, *([slices] if slices.rows else []), *([ranking(results)] if len(results["models"]) > 2 else [])]


def means(results: dict[str, Any], what: str) -> Table:
    table = Table(title=f"Models, {what}")
    table.add_column("metric", no_wrap=True)
    for name in results["models"]:
        table.add_column(name, no_wrap=True)
    for metric in next(iter(results["models"].values())):
        table.add_row(metric, *(in_figures(entries[metric]) for entries in results["models"].values()))
    table.caption = "; ".join(f"{name} read by {reader}" for name, reader in results["readers"].items())
    return table


def differences(results: dict[str, Any], what: str) -> Table:
    table = Table(title=f"Paired differences, {what}")
    for name in ("pair", "metric", "referee", "difference", "p", "verdict", "not judged", "worst case"):
        table.add_column(name, no_wrap=name in ("metric", "difference"))
    for pair, entries in results["difference"].items():
        for metric, entry in entries.items():
            word = entry["verdict"]
            if word == "undecided" and entry["over_prompts"] != word:
                word = f"{entry['over_prompts']} on these prompts"
            ends = entry["worst_case"]
            worst = f"{ends[0]:+.3f} to {ends[1]:+.3f}" if ends else ""
            failed = str(entry["failed"] or "")
            word = "\n".join(filter(None, [word, equivalence(entry)]))
            p = "" if entry["p"] is None else p_value(entry["p"])
            kind = results["referees"][metric]["kind"]
            table.add_row(titled(pair), metric, kind, in_figures(entry), p, word, failed, worst)
        table.add_section()
    return table


def win_rates(results: dict[str, Any]) -> Table:
    names = ("pair", "metric", "wins", "at equal length", "longer in")
    table = table_with("Answers that win (ties half) [95 % over prompts], and at equal length", names)
    notes: dict[str, None] = {}
    for pair, entries in results["difference"].items():
        name = titled(pair)
        for metric, entry in entries.items():
            rate = entry.get("win_rate")
            if rate:
                shares = [share(rate[of], rate[f"{of}_interval"]) for of in ("raw", "controlled")]
                table.add_row(name, metric, *shares, share(rate["longer"]))
                notes |= {f"{name}: {rate['note']}": None} if rate["note"] else {}
    table.caption = "\n".join(notes)
    return table


def worse_slices(results: dict[str, Any]) -> Table:
    """The slices where the later model is lower by the metric that says who lost; results.json has all slices."""
    metric = results["lost_by"][0]
    title = f"Where it got worse by {label(metric)}, adjusted over all slices of a pair (Holm)"
    table = table_with(title, ["pair", "prompts", "difference", "Holm p", "verdict"])
    for pair, rows in results["slices"].items():
        for row in rows:
            if row["metric"] == metric and row["over_prompts"] == "lower":
                word = row["verdict"] if row["verdict"] != "undecided" else "lower on these prompts"
                prompts = f"{row['slice']}: {row['value']} ({row['counted']})"
                table.add_row(titled(pair), prompts, in_figures(row), p_value(row["holm"]), word)
    return table


def ranking(results: dict[str, Any]) -> Table:
    board = results["leaderboard"]
    title = f"Ranking by {label(board['metric'])} over these prompts [95 %]"
    table = table_with(title, ["rank", "model", "mean", "tied with"])
    for row in board["rows"]:
        mean = "not judged" if row["rank"] is None else in_figures(row)
        table.add_row("-" if row["rank"] is None else str(row["rank"]), row["model"], mean, ", ".join(row["tied"]))
    return table


def titled(pair: str) -> str:
    return pair.replace("_minus_", f" {MINUS} ")


def share(value: float | None, interval: dict[str, float] | None = None) -> str:
    """Returns a share as percent, with its interval where there is one."""
    if value is None:
        return "-"
    reach = " " + bounds(100 * interval["low"], 100 * interval["high"], digits=0) if interval else ""
    return f"{100 * value:.0f} %{reach}"
