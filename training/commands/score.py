"""Score completions from a JSONL file with a published metric.

    spanreward score posh --judge match --input rows.jsonl --output verdicts.jsonl [score=precision ...]

A row is a JSON object with `completion` and what the metric needs (`posh`: `reference`, a text or a list of texts;
`harmonic`: `image`, the path of a picture, or with evidence=context `context`, a text that describes it; `lave`:
`question` and `answers`), and usually `id`. A verdict row has: id, score, status, parts, spans (start, end, score,
credit, kind, note, component, asked), missed, parsed_by. A row that cannot be read is reported by its line number and
gets the status not_applicable. Run the same command again to go on after an interruption.

The answers of a judge with a model are kept in the cache folder, so that no question is put to it twice, in any run;
--no-cache asks anew.
"""

import argparse
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from training.commands.json_file import write_json
from training.commands.metric_options import add_metric_options, open_metric

SHOWN = 20  # lines without a score that are named


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reward", help="the metric: posh, harmonic or lave")
    parser.add_argument("--judge", required=True, help="who answers its questions: match, vllm:MODEL, ...")
    parser.add_argument("--input", required=True, type=Path, metavar="ROWS.jsonl")
    parser.add_argument("--output", required=True, type=Path, metavar="VERDICTS.jsonl")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the printed numbers there too")
    add_metric_options(parser)
    arguments = parser.parse_intermixed_args()

    from rewards.scoring import score_file

    console = Console(stderr=True, soft_wrap=True)
    try:
        with open_metric(arguments.reward, arguments) as metric, quiet(), Progress(console=console) as bar:
            task = bar.add_task(f"{arguments.reward} with {arguments.judge}", total=None)
            summary = score_file(
                metric.reward,
                arguments.input,
                arguments.output,
                metric.settings,
                progress=lambda done, total: bar.update(task, completed=done, total=total),
            )
        write_json(arguments.json, asdict(summary))
    except (ValueError, OSError, ImportError) as error:
        sys.exit(f"{parser.prog}: {error}")
    except KeyboardInterrupt:
        sys.exit(f"{parser.prog}: interrupted; the same command goes on from here.")
    for number, reason in summary.bad_lines[:SHOWN]:
        console.print(f"{arguments.input}:{number}: not scored: {reason}", markup=False, highlight=False)
    if len(summary.bad_lines) > SHOWN:
        more = len(summary.bad_lines) - SHOWN
        console.print(f"... and {more} more: see `note` in {arguments.output}", markup=False, highlight=False)
    table = Table(title=f"{arguments.reward} with {arguments.judge}: {arguments.output}", show_header=False)
    for name, value in asdict(summary).items():
        if name != "bad_lines":
            table.add_row(name, f"{value:.4g}" if isinstance(value, float) else str(value))
    if metric.settings["parsed_by"]:
        table.add_row("read by", metric.settings["parsed_by"])
    Console().print(table)


@contextmanager
def quiet() -> Iterator[None]:
    """Nothing in the log: why a row has no score is said at the end, in one line."""
    log = logging.getLogger("rewards")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)


if __name__ == "__main__":
    main()
