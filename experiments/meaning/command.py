"""How often each reading keeps texts of different meaning apart, and takes texts as equal that
differ in markup alone.

    python -m experiments meaning --show            # a Markdown table, and three failures of each
    python -m experiments meaning --seed 1 --json meaning.json

The pairs were written before their writer had read a rule (docs/evidence/meaning.md).
"""

import argparse
import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from experiments.meaning import readings
from experiments.meaning.marks import all_marks
from experiments.meaning.pairs import COUNT, Pair, all_pairs
from experiments.meaning.readings import Outcome

SHOWN = 3  # failures of a dimension
Table = dict[str, dict[str, list[Outcome]]]  # outcomes by reading, and by family and dimension


def readings_of(pairs: list[Pair], seed: int) -> dict[str, Callable[[], Iterator[Outcome]]]:
    """Returns each reading by its name in the table."""
    return {
        "plain text": partial(readings.plain_texts, pairs),
        "LAVE, match": partial(readings.lave_scores, pairs),
        "LAVE, prompt": partial(readings.lave_prompts, pairs),
        "VQA accuracy": partial(readings.vqa_scores, pairs),
        "PoSh, match": partial(readings.posh_scores, pairs),
        "cells": partial(readings.cells, pairs),
        "marks": partial(readings.marks_kept, all_marks(seed)),
    }


def grouped(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """Returns the outcomes by family and dimension."""
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(f"{outcome.family}: {outcome.dimension}", []).append(outcome)
    return groups


def counts(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """Returns how many were held, how many were not and nothing said so, and how many there are."""
    listed = list(outcomes)
    held = sum(outcome.held for outcome in listed)
    silent = sum(outcome.silent for outcome in listed)
    return {"held": held, "total": len(listed), "silent": silent}


def totals(groups: dict[str, list[Outcome]]) -> dict[str, dict[str, int]]:
    """Returns the counts of each family, and of the bare right text, which belongs to neither."""
    families: dict[str, list[Outcome]] = {}
    for outcomes in groups.values():
        for outcome in outcomes:
            family = outcome.family
            if outcome.dimension == readings.BARE:
                family = readings.BARE
            families.setdefault(family, []).append(outcome)
    return {family: counts(outcomes) for family, outcomes in families.items()}


def print_tables(table: Table, merged: int) -> None:
    print("| reading | family | held | of | silent |\n|---|---|---|---|---|")
    for reading, groups in table.items():
        for family, count in totals(groups).items():
            numbers = f"{count['held']} | {count['total']} | {count['silent']}"
            print(f"| {reading} | {family} | {numbers} |")
    print(f"\nThe published VQA accuracy makes {merged} pairs of different meaning equal.\n")
    names = list(table)
    print("| held of all | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 1) + "|")
    dimensions = dict.fromkeys(name for groups in table.values() for name in groups)
    for dimension in dimensions:
        cells = []
        for groups in table.values():
            count = counts(groups.get(dimension, []))
            cells.append(f"{count['held']}/{count['total']}" if count["total"] else "")
        print(f"| {dimension} | " + " | ".join(cells) + " |")


def failures(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Returns a few that were not held, the silent ones first."""
    failed = [outcome for outcome in outcomes if not outcome.held]
    failed.sort(key=lambda outcome: not outcome.silent)
    return failed[:SHOWN]


def print_failures(table: Table) -> None:
    for reading, groups in table.items():
        for dimension, outcomes in groups.items():
            for outcome in failures(outcomes):
                (right, candidate), (first, second) = outcome.texts, outcome.results
                print(
                    f"{reading}, {dimension}: {right!r} | {candidate!r} -> {first!r} | {second!r}"
                )


def as_json(table: Table, merged: int) -> dict[str, Any]:
    numbers: dict[str, Any] = {"merged by the published VQA accuracy": merged}
    for reading, groups in table.items():
        dimensions = {}
        for dimension, outcomes in groups.items():
            examples = [asdict(outcome) for outcome in failures(outcomes)]
            dimensions[dimension] = {**counts(outcomes), "failures": examples}
        numbers[reading] = {"totals": totals(groups), "dimensions": dimensions}
    return numbers


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0, help="of the pairs (default: 0)")
    parser.add_argument(
        "--count", type=int, default=COUNT, help=f"pairs of a dimension (default: {COUNT})"
    )
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the numbers there too")
    parser.add_argument("--show", action="store_true", help="print failures of each dimension")
    arguments = parser.parse_args()
    pairs = all_pairs(arguments.seed, arguments.count)
    merged = sum(pair.merged for pair in pairs if pair.family == "apart")
    table: Table = {}
    for reading, outcomes in readings_of(pairs, arguments.seed).items():
        start = time.perf_counter()
        table[reading] = grouped(outcomes())
        print(f"{reading}: {time.perf_counter() - start:.1f} s", flush=True)
    print()
    print_tables(table, merged)
    if arguments.show:
        print()
        print_failures(table)
    if arguments.json:
        text = json.dumps(as_json(table, merged), indent=1, ensure_ascii=False)
        arguments.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
