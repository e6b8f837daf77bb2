"""What reading in another process costs PoSh, and that it gives the same graphs.

taskset -c 0 spanreward read --serve
python -m experiments benchmark reader --reader server:http://127.0.0.1:8077 --pairs ../shared/data/bench_pairs.jsonl
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from spanreward.rewards.language.reader import LocalReader, Reader, load_reader

DESCRIPTION = """Reads --count different texts of --words words, cut from the references of --pairs, with the server
and in this process, by the clock, after a warm-up; and 100 of them in both modes, of which it counts those with equal
graphs. The server must have the pipeline that this process finds, and coreference by rule."""
COMPARED = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reader", required=True, metavar="server:URL", help="a running `spanreward read --serve`")
    parser.add_argument("--pairs", type=Path, required=True, help="JSONL whose `reference` texts are the prose")
    parser.add_argument("--count", type=int, default=1000, help="texts (default 1000)")
    parser.add_argument("--words", type=int, default=200, help="of a text (default 200)")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    if min(arguments.count, arguments.words) < 1:
        raise ValueError("--count and --words must be 1 or more")
    lines = arguments.pairs.read_text(encoding="utf-8").splitlines()
    words = " ".join(dict.fromkeys(json.loads(line)["reference"] for line in lines)).split()
    texts = [" ".join((words[n % len(words) :] + words)[: arguments.words]) + f" {n}" for n in range(arguments.count)]
    here, there = LocalReader(), load_reader(arguments.reader)
    if there.name() != here.name():
        raise ValueError(f"{arguments.reader} has {there.name()}, and this process {here.name()}: start it so")
    some = texts[:COMPARED]
    equal = {
        mode: sum(one == other for one, other in zip(there.read(some, mode), here.read(some, mode), strict=True))
        for mode in ("default", "published")
    }
    numbers = {
        "reader": there.name(),
        "texts": len(texts),
        "words": arguments.words,
        "texts_a_minute": {"server": pace(there, texts), "this process": pace(here, texts)},
        "equal_graphs": {**equal, "of": len(some)},
    }
    table = Table("reader", "texts a minute", title=f"{len(texts)} texts of {arguments.words} words, {there.name()}")
    for name, figure in numbers["texts_a_minute"].items():
        table.add_row(name, f"{figure:,.0f}")
    Console(stderr=True).print(table)
    return numbers


def pace(reader: Reader, texts: list[str]) -> float:
    """Texts a minute, in default mode."""
    begun = time.perf_counter()
    reader.read(texts, "default")
    return 60 * len(texts) / (time.perf_counter() - begun)
