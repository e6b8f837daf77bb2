"""A judge writes the column that the metric `criteria` reads. You check it on a page, and edit it.

python -m experiments criteria write rows.jsonl --judge vllm:MODEL --output with_criteria.jsonl --html criteria.html
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from rich.progress import track
from rich.table import Table

from experiments.criteria.writing import PROMPTS, CriteriaReward, write_criteria
from spanreward.rewards.base.coloured_text import templates
from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.files.outputs import resumed_lines, write_whole
from spanreward.rewards.files.pictures import opened
from spanreward.rewards.files.tables import read_table
from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.reward.fingerprint import fingerprint
from spanreward.rewards.reward.row import read_sample
from spanreward.training.commands import metric_options
from spanreward.training.commands.main import run
from spanreward.training.evaluation.page import render as pages

HELP = "let a judge write criteria for each row, to check and to edit"
DESCRIPTION = """\
    python -m experiments criteria write rows.jsonl --judge vllm:MODEL --output with_criteria.jsonl --html criteria.html

A row needs an `image`, or a `context` that describes it (evidence=context: only that); it may have `prompt`, `question`
and `reference`. The output has the rows with `criteria`, which you may edit, and `refused`, with reasons: repeated ones
and, where a row has references, those that none of them meets, or that all of them and one of another row meet. The
same command goes on after an interruption, keeps what is there, with your changes, and asks again about rows that got
none; --overwrite starts anew. OUTPUT.settings.json has the judge and the prompts."""
CHUNK = 16  # rows that are asked about together
SHOWN = 500  # rows on a page
MADE = "<title>Criteria of "  # by it a page of this command is known


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rows", metavar="ROWS", help="a table, or hub:NAME[:SPLIT]")
    parser.add_argument("--html", type=Path, metavar="PAGE", help="a page to check the criteria on")
    output = {"required": True, "metavar": "FILE.jsonl", "help": "the rows with criteria"}
    flags = (*metric_options.ASKING, *metric_options.ROWS, "output", "overwrite", "options")
    metric_options.add_flags(parser, *flags, judge={"required": True}, output=output)


def measure(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    output, page = arguments.output, arguments.html
    paths, like = [output, *([page] if page else [])], {"rows without criteria": None}
    metric_options.check_files(arguments, paths, [arguments.rows], **like)
    if page and page.is_file() and not arguments.overwrite and MADE not in page.read_text("utf-8", "replace"):
        raise ValueError(f"{page} exists and is no page of criteria: choose another page, or --overwrite.")
    rows = list(read_table(arguments.rows, metric_options.renamed(arguments.columns), arguments.limit))
    samples = [_sample(*one) for one in rows]
    texts = list(dict.fromkeys(text for one in samples for text in one.references[:1]))
    others = dict(zip(texts, [*texts[1:], *texts[:1]], strict=True))  # by a row's first reference that of another row
    keys, failures = {"criteria": list, "fingerprint": str}, list[str]()
    with metric_options.open_metric("criteria", arguments) as (reward, settings):
        assert isinstance(reward, CriteriaReward)
        settings["writing"] = PROMPTS
        with resumed_lines(output, settings, keys, arguments.overwrite) as (file, lines), reward.judges[0]:
            there, waiting = Counter(line["fingerprint"] for line in lines), list[tuple[str, int]]()
            for number, mark in enumerate(map(fingerprint, samples)):
                there[mark] -= 1
                waiting += [(mark, number)] if there[mark] < 0 else []
            for start in track(range(0, len(waiting), CHUNK), "writing criteria"):
                chunk = waiting[start : start + CHUNK]
                asked = [(one, others.get("".join(one.references[:1]), "")) for one in (samples[n] for _, n in chunk)]
                for (mark, number), written in zip(chunk, write_criteria(reward, asked), strict=True):
                    if isinstance(written, Failure):
                        failures.append(written.message)
                        continue
                    made = {"criteria": written[0], "refused": written[1], "fingerprint": mark}
                    lines.append(rows[number][1] | made)
                    file.write(json.dumps(lines[-1]) + "\n")
                file.flush()
    if not lines:
        raise ValueError(f"no row got criteria: {failures[0] if failures else f'{arguments.rows} holds no rows'}.")
    if page:
        shown = [(_sample("a line", line), line["criteria"], line.get("refused") or {}) for line in lines[:SHOWN]]
        page.parent.mkdir(parents=True, exist_ok=True)
        write_whole(page, page_of(name=arguments.rows, settings=settings, shown=shown))
    counts = {key: sum(len(line.get(key) or ()) for line in lines) for key in ("criteria", "refused")}
    numbers = {"rows": len(rows), **counts, "rows without criteria": len(failures)}
    table = Table(*numbers, title=str(output), caption=next(iter(failures), None))
    table.add_row(*map(str, numbers.values()))
    return numbers, [table]


def page_of(**values: Any) -> str:
    environment = templates(Path(pages.__file__).with_name("templates"))  # its style
    environment.globals.update(opened=opened, data_uri=pages.data_uri)
    template = Path(__file__).with_name("page.html.jinja").read_text("utf-8")
    return environment.from_string(template).render(values)


def _sample(where: str, row: dict[str, Any]) -> Sample:
    try:
        json.dumps(row)
        return read_sample({**row, "criteria": None}, "", row.get("prompt") or "")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where} cannot be used ({error}): give text, and pictures as paths of files.") from None


def main() -> None:
    run("python -m experiments criteria", __doc__, {"write": sys.modules[__name__]})
