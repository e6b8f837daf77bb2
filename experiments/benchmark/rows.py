"""What `spanreward score` keeps of a row: its largest memory over files of more and more rows, in a
first run, and in a second one that finds all of them scored.

python -m experiments benchmark rows --rows 1000 10000 100000 --json rows.json
"""

import argparse
import csv
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.table import Table

DESCRIPTION = """Scores made-up rows of 80 words and a reference of 60 in a process of its own (on Linux), twice: the second
run finds the first one's output. Per run: the largest resident memory, which Linux calls VmHWM, seconds, and by how many
bytes a row the memory exceeds that of the fewest rows. A metric `length` costs nothing and gives ten spans a row;
`posh` is asked with the judge `match` about rows of ten words. Its memory also has what spaCy and PoSh keep of words and
references, which has a limit of its own."""
WORDS = "a red circle sits on the blue box near two green stars while one dog looks".split()  # noqa: SIM905
LENGTHS = {"length": (80, 60), "posh": (10, 10)}  # words of a completion and of its reference
RUNS = ("first", "resumed")
METRIC = """
from spanreward.rewards import Reward, Span, Verdict

class Length(Reward):
    columns = ("reference",)

    def assess(self, samples):
        return [self.verdict(sample.completion) for sample in samples]

    def verdict(self, text):
        spans = [Span(n, n + 1, 0.5, 0.0, "entity", "a note on these words", n) for n in range(10)]
        return Verdict(min(len(text) / 1000, 1.0), spans=tuple(spans))
"""
CHILD = """
import sys
from pathlib import Path
from spanreward.training.commands.score import main

note = Path(sys.argv.pop(1))
main()
lines = Path("/proc/self/status").read_text().splitlines()
(peak,) = [line for line in lines if line.startswith("VmHWM")]
note.write_text(peak.split()[1])
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rows",
        type=int,
        nargs="+",
        default=[1000, 10_000, 100_000],
        help="of each file (default 1000 10000 100000)",
    )
    parser.add_argument("--metric", choices=LENGTHS, default="length", help="(default length)")
    parser.add_argument(
        "--endings",
        nargs="+",
        choices=("jsonl", "csv", "parquet"),
        default=["jsonl"],
        help="of the files' names (default jsonl)",
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    if not Path("/proc/self/status").exists():
        raise OSError("rows reads /proc, which only Linux has")
    if min(arguments.rows) < 1:
        raise ValueError(f"--rows must be 1 or more, got {min(arguments.rows)}")
    lines = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "own.py").write_text(METRIC)
        for ending, count in product(arguments.endings, sorted(arguments.rows)):
            source = folder / f"rows{count}.{ending}"
            write_rows(source, made_rows(count, *LENGTHS[arguments.metric]))
            for run in RUNS:
                peak, seconds = score(folder, source, arguments.metric)
                lines.append(
                    {"ending": ending, "rows": count, "run": run, "peak": peak, "seconds": seconds}
                )
    for line in lines:
        line["bytes_a_row"] = growth(line, lines)
    show(lines, arguments.metric)
    return {"metric": arguments.metric, "lines": lines}


def made_rows(count: int, words: int, of_reference: int) -> Iterator[dict[str, str]]:
    generator = random.Random(0)
    for number in range(count):
        yield {
            "id": f"row-{number}",
            "completion": f"{' '.join(generator.choices(WORDS, k=words))} {number}.",
            "reference": f"{' '.join(generator.choices(WORDS, k=of_reference))}.",
        }


def write_rows(path: Path, rows: Iterator[dict[str, str]]) -> None:
    """Writes them in the form that the file's name ends with."""
    if path.suffix == ".parquet":
        import pandas as pd

        pd.DataFrame(rows).to_parquet(path)
        return
    with path.open("w", newline="") as file:
        if path.suffix == ".csv":
            table = csv.DictWriter(file, ["id", "completion", "reference"])
            table.writeheader()
            table.writerows(rows)
        else:
            for row in rows:
                file.write(json.dumps(row) + "\n")


def score(folder: Path, source: Path, metric: str) -> tuple[int, float]:
    """Returns the largest memory in bytes, and the seconds, of one run. Raises OSError for one that
    fails.
    """
    note = folder / "peak"
    words = ["posh", "--judge", "match"] if metric == "posh" else [f"{folder / 'own.py'}:Length"]
    words += ["--input", str(source), "--output", f"{source}.verdicts.jsonl", "--quiet"]
    begun = time.perf_counter()
    ended = subprocess.run(
        [sys.executable, "-c", CHILD, str(note), *words], capture_output=True, text=True
    )
    if ended.returncode:
        raise OSError(f"spanreward score ended with {ended.returncode}: {ended.stderr[-300:]}")
    return int(note.read_text()) * 1024, time.perf_counter() - begun


def growth(line: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> float | None:
    """Returns by how many bytes a row more this run kept than that with the fewest rows."""
    alike = [one for one in lines if (one["ending"], one["run"]) == (line["ending"], line["run"])]
    fewest = alike[0]
    if line["rows"] == fewest["rows"]:
        return None
    difference: float = line["peak"] - fewest["peak"]
    return difference / (line["rows"] - fewest["rows"])


def show(lines: Sequence[Mapping[str, Any]], metric: str) -> None:
    table = Table(title=f"the largest memory of `spanreward score` with {metric}")
    for heading in ("file", "rows", "run", "MB", "bytes a row more", "seconds"):
        table.add_column(heading, justify="left" if heading in ("file", "run") else "right")
    for line in lines:
        more = "" if line["bytes_a_row"] is None else f"{line['bytes_a_row']:,.0f}"
        size = f"{line['peak'] / 1e6:,.0f}"
        table.add_row(
            line["ending"], f"{line['rows']:,}", line["run"], size, more, f"{line['seconds']:.1f}"
        )
    Console(stderr=True).print(table)
