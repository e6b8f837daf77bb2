"""A comparison's results as tables in a terminal."""

from typing import Any

from rich.table import Table

from training.evaluation.outcomes import label


def tables_of(results: dict[str, Any]) -> list[Table]:
    """The models' means, every paired difference with its verdict, win rates beside length, where it got worse, and of
    three models or more the ranking.
    """
    of_runs = "; {over seeds}" if len(set(results["seeds"])) >= 3 else ""
    what = f"{results['prompts']} held-out prompts, seeds {results['seeds']}: mean [95 % over prompts{of_runs}]"
    tables = [means(results, what), differences(results, what), win_rates(results)]
    slices = worse_slices(results)
    return [*tables, *([slices] if slices.rows else []), *([ranking(results)] if len(results["models"]) > 2 else [])]


def means(results: dict[str, Any], what: str) -> Table:
    table = Table(title=f"Models, {what}")
    table.add_column("metric", no_wrap=True)
    for name in results["models"]:
        table.add_column(name, no_wrap=True)
    for metric in next(iter(results["models"].values())):
        table.add_row(metric, *(cell(entries[metric]) for entries in results["models"].values()))
    table.caption = "; ".join(f"{name} read by {reader}" for name, reader in results["readers"].items())
    return table


def differences(results: dict[str, Any], what: str) -> Table:
    table = Table(title=f"Paired differences, {what}")
    for name in ("pair", "metric", "referee", "difference", "verdict", "not judged", "worst case"):
        table.add_column(name, no_wrap=name in ("metric", "difference"))
    for pair, entries in results["difference"].items():
        for metric, entry in entries.items():
            word = entry["verdict"]
            if word == "undecided" and entry["over_prompts"] != word:
                word = f"{entry['over_prompts']} on these prompts"
            ends = entry["worst_case"]
            worst = f"{ends[0]:+.3f} to {ends[1]:+.3f}" if ends else ""
            failed = str(entry["failed"] or "")
            name = pair.replace("_minus_", " \N{MINUS SIGN} ")
            table.add_row(name, metric, results["referees"][metric]["kind"], cell(entry), word, failed, worst)
        table.add_section()
    return table


def win_rates(results: dict[str, Any]) -> Table:
    table = Table(title="Answers that win (ties half) [95 % over prompts], and at equal length")
    for name in ("pair", "metric", "wins", "controlled", "matched within 25 %", "longer in", "lengths overlap"):
        table.add_column(name)
    notes: dict[str, None] = {}
    for pair, entries in results["difference"].items():
        name = pair.replace("_minus_", " \N{MINUS SIGN} ")
        for metric, entry in entries.items():
            rate = entry.get("win_rate")
            if rate:
                shares = [share(rate[of], rate[f"{of}_interval"]) for of in ("raw", "controlled", "matched")]
                table.add_row(name, metric, *shares, share(rate["longer"]), share(rate["overlap"]))
                notes |= {f"{name}: {rate['note']}": None} if rate["note"] else {}
    table.caption = "\n".join(notes)
    return table


def worse_slices(results: dict[str, Any]) -> Table:
    """Where the later model is lower by the referee that says who lost; the page and results.json have all slices."""
    metric = results["lost_by"][0]
    table = Table(title=f"Where it got worse by {label(metric)}, adjusted over all slices of a pair (Holm)")
    for name in ("pair", "prompts", "difference", "Holm p", "verdict"):
        table.add_column(name)
    for pair, rows in results["slices"].items():
        for row in rows:
            if row["metric"] == metric and row["over_prompts"] == "lower":
                word = row["verdict"] if row["verdict"] != "undecided" else "lower on these prompts"
                name = pair.replace("_minus_", " \N{MINUS SIGN} ")
                prompts = f"{row['slice']}: {row['value']} ({row['counted']})"
                table.add_row(name, prompts, cell(row), f"{row['holm']:.2g}", word)
    return table


def ranking(results: dict[str, Any]) -> Table:
    board = results["leaderboard"]
    table = Table(title=f"Ranking by {label(board['metric'])} over these prompts [95 %]")
    for name in ("rank", "model", "mean", "tied with"):
        table.add_column(name)
    for row in board["rows"]:
        mean = "not judged" if row["rank"] is None else cell({**row, "runs_low": None})
        table.add_row("-" if row["rank"] is None else str(row["rank"]), row["model"], mean, ", ".join(row["tied"]))
    return table


def cell(entry: dict[str, Any]) -> str:
    if entry["mean"] is None or entry["low"] is None:
        return "-" if entry["mean"] is None else f"{entry['mean']:.3f}"
    over_runs = f" {{{entry['runs_low']:.3f}, {entry['runs_high']:.3f}}}" if entry["runs_low"] is not None else ""
    return f"{entry['mean']:.3f} [{entry['low']:.3f}, {entry['high']:.3f}]{over_runs}"


def share(value: float | None, interval: dict[str, float] | None = None) -> str:
    """A share as percent, with its interval where there is one."""
    if value is None:
        return "-"
    reach = f" [{100 * interval['low']:.0f}, {100 * interval['high']:.0f}]" if interval else ""
    return f"{100 * value:.0f} %{reach}"
