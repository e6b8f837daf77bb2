"""`python -m experiments agreement votes`: win rates with intervals over prompts
(docs/evidence/votes.md).
"""

import argparse
from pathlib import Path
from typing import Any

from rich.table import Table

from experiments.agreement.votes import VoteResults, measure_votes
from experiments.tables import table_with
from spanreward.rewards.comparison.number_text import NO_FIGURE, interval_text, number_text
from spanreward.rewards.comparison.resampling import Interval

HELP = "win rates from the votes of a judge or of people on file"
DESCRIPTION = "Win rates with intervals over prompts from votes on file (docs/evidence/votes.md)."
SCORE = {"mllm_bench": "win rate", "wildvision_bench": "score", "iiw_votes": "net preference"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        type=Path,
        help="a folder with votes.jsonl, laid out as docs/evidence/votes.md says",
    )


def measure(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    results = measure_votes(arguments.folder)
    tables = [main_table(results), *part_tables(results), unreadable_table(results)]
    tables += [order_table(results), length_table(results)]
    if results.warnings:
        notes = Table(title="Notes", show_header=False)
        for sentence in results.warnings:
            notes.add_row(sentence)
        tables.append(notes)
    return results.to_json(), [table for table in tables if table.row_count]


def main_table(results: VoteResults) -> Table:
    against = f" against {results.anchor}" if results.anchor else ""
    table = Table(title=f"Votes{against}, in percent, 95 % over prompts")
    table.add_column("model", overflow="fold")
    published = any(
        isinstance(model, dict) and "ci95" in model for model in results.published.values()
    )
    five = results.layout != "mllm_bench"
    columns = [f"{SCORE[results.layout]} [95 %]", *(["published"] if published else [])]
    for column in (
        *columns,
        *(["win rate", "reward"] if five else []),
        *count_names(results),
        "unreadable",
        "prompts",
    ):
        table.add_column(column, justify="right")
    for name, model in results.models.items():
        cells = [f"{shown(model.score)} {reach(model.interval)}"]
        cells += [published_interval(results.published.get(name))] if published else []
        cells += [shown(model.win_rate), shown(model.reward)] if five else []
        table.add_row(
            name, *cells, *map(str, (*model.counts.values(), model.unreadable, model.prompts))
        )
    return table


def count_names(results: VoteResults) -> list[str]:
    """Returns a column head per outcome in `ModelVotes.counts`: short, and naming neither the model
    nor the anchor.
    """
    if results.layout == "mllm_bench":
        return ["win", "loss", "situation 1", "situation 2", "unable", "tie"]
    return [name.replace("_", " ") for name in next(iter(results.models.values())).counts]


def order_table(results: VoteResults) -> Table:
    title = f"Both orders (all models: they agree on {number_text(results.swap_consistency)} of the pairs)"
    table = table_with(title, ["model"], ["orders agree", "decided votes for the first slot"])
    for name, model in results.models.items():
        if model.swap_consistency is not None:
            table.add_row(name, number_text(model.swap_consistency), number_text(model.first_slot))
    return table


def part_tables(results: VoteResults) -> list[Table]:
    """Wins, ties and losses by level, as in MLLM-Bench's table 5, and by its capabilities, a row
    each.
    """
    if results.layout != "mllm_bench":
        return []
    models = results.models
    levels = list(dict.fromkeys(part for model in models.values() for part in model.slices))
    by_level = table_with("Wins / ties / losses by level", ["model"], levels)
    for name, model in models.items() if levels else ():
        by_level.add_row(
            name, *("/".join(map(str, model.slices.get(part, (0, 0, 0)))) for part in levels)
        )
    by_capability = table_with("Wins / ties / losses by capability", ["capability"], models)
    for part in dict.fromkeys(part for model in models.values() for part in model.capabilities):
        cells = (
            "/".join(map(str, model.capabilities.get(part, (0, 0, 0)))) for model in models.values()
        )
        by_capability.add_row(part, *cells)
    return [by_level, by_capability]


def unreadable_table(results: VoteResults) -> Table:
    score = SCORE[results.layout].capitalize()
    title = f"{score} if unreadable votes were something else, and without filled-in labels"
    treated = (
        "unreadable",
        "left out",
        "as ties",
        "as losses",
        "as wins",
        "filled in",
        "without these too",
    )
    table = table_with(title, ["model"], treated)
    for name, model in results.models.items():
        if model.unreadable or model.unspoken:
            cells = [str(model.unreadable), shown(model.score), *map(shown, model.treated.values())]
            table.add_row(name, *cells, str(model.unspoken), shown(model.without_unspoken))
    return table


def length_table(results: VoteResults) -> Table:
    title = "Win rate at equal length, ties half, in percent, 95 % over prompts (lengths in words)"
    rates = ("raw", "controlled", "longer")
    table = table_with(title, ["model"], rates)
    table.add_column("why not")
    for name, model in results.models.items():
        if (length := model.length) is not None:
            found = [(getattr(length, of), getattr(length, f"{of}_interval")) for of in rates[:2]]
            cells = [
                NO_FIGURE if rate is None else f"{100 * rate:.1f} {reach(bounds, 100)}"
                for rate, bounds in found
            ]
            table.add_row(name, *cells, number_text(length.longer), length.note)
    return table


def shown(value: float | None) -> str:
    return number_text(value, 2)


def reach(bounds: Interval | None, scale: float = 1) -> str:
    return (
        NO_FIGURE if bounds is None else interval_text(scale * bounds.low, scale * bounds.high, 1)
    )


def published_interval(model: Any) -> str:
    """Returns the source's score and interval, which it gives as distances; "-" where it gives
    none.
    """
    match model:
        case {
            "score": int() | float() as score,
            "ci95": [int() | float() as low, int() | float() as high],
        }:
            return f"{shown(score)} {interval_text(score + low, score + high, 1)}"
    return NO_FIGURE
