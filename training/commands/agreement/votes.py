"""`spanreward agreement votes`: win rates with intervals over prompts (docs/votes.md)."""

import argparse
from pathlib import Path
from typing import Any

from rich.table import Table

from rewards.agreement.votes import VoteResults, measure_votes
from rewards.comparison.resampling import Interval

HELP = "win rates from the votes of a judge or of people on file"
DESCRIPTION = "Win rates with intervals over prompts from votes on file (docs/votes.md)."
SCORE = {"mllm_bench": "win rate", "wildvision_bench": "score", "iiw_votes": "net preference"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, help="a folder with votes.jsonl, laid out as docs/votes.md says")


def measure(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    """The numbers for --json, and the tables."""
    results = measure_votes(arguments.folder)
    tables = [main_table(results), level_table(results), unreadable_table(results)]
    tables += [order_table(results), length_table(results)]
    if results.warnings:
        notes = Table(title="Mind", show_header=False)
        for sentence in results.warnings:
            notes.add_row(sentence)
        tables.append(notes)
    return results.to_json(), [table for table in tables if table.row_count]


def main_table(results: VoteResults) -> Table:
    against = f" against {results.anchor}" if results.anchor else ""
    table = Table(title=f"Votes{against}, in percent, 95 % over prompts")
    table.add_column("model", overflow="fold")
    published = any(isinstance(model, dict) and "ci95" in model for model in results.published.values())
    five = results.layout != "mllm_bench"
    columns = [f"{SCORE[results.layout]} [95 %]", *(["published"] if published else [])]
    for column in (*columns, *(["win rate", "reward"] if five else []), *count_names(results), "unreadable", "prompts"):
        table.add_column(column, justify="right")
    for name, model in results.models.items():
        cells = [f"{shown(model.score)} {interval(model.interval)}"]
        cells += [published_interval(results.published.get(name))] if published else []
        cells += [shown(model.win_rate), shown(model.reward)] if five else []
        table.add_row(name, *cells, *map(str, (*model.counts.values(), model.unreadable, model.prompts)))
    return table


def count_names(results: VoteResults) -> list[str]:
    """The outcomes as a table heads them: short, and without the names of the two sides."""
    first = next(iter(results.models.values()))
    if results.layout == "mllm_bench":
        return ["win", "loss", "situation 1", "situation 2", "unable", "tie"]
    return [name.replace("_", " ") for name in first.counts]


def order_table(results: VoteResults) -> Table:
    """What both orders say about the judge, where there are both."""
    table = Table(title=f"Both orders (all models: they agree on {share(results.swap_consistency)} of the pairs)")
    table.add_column("model")
    for column in ("orders agree", "decided votes for the first slot"):
        table.add_column(column, justify="right")
    for name, model in results.models.items():
        if model.swap_consistency is not None:
            table.add_row(name, share(model.swap_consistency), share(model.first_slot))
    return table


def level_table(results: VoteResults) -> Table:
    """Wins, ties and losses by slice, as in MLLM-Bench's Table 5."""
    slices = list(dict.fromkeys(part for model in results.models.values() for part in model.slices))
    table = Table(title="Wins / ties / losses by level")
    table.add_column("model")
    for part in slices:
        table.add_column(part, justify="right")
    if results.layout == "mllm_bench" and slices:
        for name, model in results.models.items():
            table.add_row(name, *("/".join(map(str, model.slices.get(part, (0, 0, 0)))) for part in slices))
    return table


def unreadable_table(results: VoteResults) -> Table:
    """What the score would be if votes that the judge did not give were something else."""
    title = (
        f"{SCORE[results.layout].capitalize()} if unreadable votes were something else, and without filled-in labels"
    )
    table = Table(title=title)
    table.add_column("model")
    for column in ("unreadable", "left out", "as ties", "as losses", "as wins", "filled in", "without these too"):
        table.add_column(column, justify="right")
    for name, model in results.models.items():
        if model.unreadable or model.unspoken:
            cells = [str(model.unreadable), shown(model.score), *map(shown, model.treated.values())]
            table.add_row(name, *cells, str(model.unspoken), shown(model.without_unspoken))
    return table


def length_table(results: VoteResults) -> Table:
    table = Table(title="Win rate at equal length, ties half, in percent, 95 % over prompts (lengths in words)")
    table.add_column("model")
    for column in ("raw", "controlled", "matched", "pairs matched", "longer", "lengths shared"):
        table.add_column(column, justify="right")
    table.add_column("why not")
    for name, model in results.models.items():
        if (length := model.length) is not None:
            rates = (
                (length.raw, length.raw_interval),
                (length.controlled, length.controlled_interval),
                (length.matched, length.matched_interval),
            )
            cells = ["-" if rate is None else f"{100 * rate:.1f} {interval(bounds, 100)}" for rate, bounds in rates]
            numbers = (str(length.matched_pairs), share(length.longer), share(length.overlap))
            table.add_row(name, *cells, *numbers, length.note)
    return table


def shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def interval(bounds: Interval | None, scale: float = 1) -> str:
    return "-" if bounds is None else f"[{scale * bounds.low:.1f}, {scale * bounds.high:.1f}]"


def published_interval(model: Any) -> str:
    """The source's score with its own interval, which it gives as distances; "-" where it gives none."""
    if not isinstance(model, dict):
        return "-"
    match (model.get("score"), model.get("ci95")):
        case (int() | float() as score, [int() | float() as low, int() | float() as high]):
            return f"{score:.2f} [{score + low:.1f}, {score + high:.1f}]"
    return "-"
