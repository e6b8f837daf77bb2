"""A judge writes the column that the metric `criteria` reads. You check it on a page, and edit it.

spanreward criteria write rows.jsonl --judge vllm:MODEL --output with_criteria.jsonl
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rich.progress import track
from rich.table import Table

from spanreward.rewards.files.earlier import by_fingerprint
from spanreward.rewards.files.outputs import resumed_lines
from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.rows.fingerprint import fingerprint
from spanreward.rewards.rows.tables import read_table
from spanreward.training.commands import metric_options
from spanreward.training.commands.main import run_subcommand
from spanreward.training.data.marks import read_each

HELP = "let a judge write criteria for each row, to check and to edit"
DESCRIPTION = """\
    spanreward criteria write rows.jsonl --judge vllm:MODEL --output with_criteria.jsonl \\
        --html criteria.html

A row needs an `image`, or a `context` that describes it (--set evidence=context: only that); it may
have `prompt`, `question` and `reference`. The output has the rows with `criteria`, which you may
edit, and `refused`: criteria that were written and left out, each with its reason. A repeated one
is left out. Where a row has references, so is one that none of its references meets, and one that
all of them and a reference of another row meet, because it tells nothing apart. The same command
goes on after an interruption, keeps what is there, with your changes, and asks again where the
judge gave no list; --overwrite starts anew. OUTPUT.settings.json has the judge and the prompts."""
CHUNK = 16  # rows that are asked about together
SHOWN = 500  # rows on a page
LINE = {"criteria": list, "refused": dict, "fingerprint": str}  # the keys that a row gets


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rows", metavar="ROWS", help="a table, or hub:NAME[:SPLIT]")
    parser.add_argument("--html", type=Path, metavar="PAGE", help="a page to check the criteria on")
    output = {"required": True, "metavar": "FILE.jsonl", "help": "the rows with criteria"}
    flags = (*metric_options.JUDGE_FLAGS, *metric_options.ROW_FLAGS, "output", "overwrite")
    options = {"help": f"evidence=context, prompts=FILE, and {metric_options.OF_JUDGE}"}
    metric_options.add_flags(
        parser, *flags, judge={"required": True}, output=output, options=options
    )
    metric_options.add_words(parser)


def measure(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    from spanreward.rewards.experimental.criteria_writing import (
        PROMPTS,
        CriteriaReward,
        write_criteria,
    )
    from spanreward.rewards.reward.viewers import check_viewers
    from spanreward.training.evaluation.page.render import check_page, write_rendered

    output, page, like = arguments.output, arguments.html, {"rows without criteria": None}
    metric_options.check_files(
        arguments, [output, *([page] if page else [])], [arguments.rows], **like
    )
    metric_options.check_lines(output)
    check_page(page, arguments.overwrite, "criteria")
    given = (metric_options.column_names(arguments.columns), arguments.limit)
    samples = read_each(arguments.rows, (), lambda sample: sample, *given)
    rows = [row for _, row in read_table(arguments.rows, *given)]
    try:
        json.dumps(rows)
    except TypeError as error:
        raise ValueError(
            f"the rows of {arguments.rows} are no JSON ({error}): give pictures as paths."
        ) from None
    texts = list(dict.fromkeys(text for one in samples for text in one.references[:1]))
    # by a row's first reference that of another row
    others = dict(zip(texts, [*texts[1:], *texts[:1]], strict=True))
    asked = [(one, others.get("".join(one.references[:1]), "")) for one in samples]
    marks, failures = list(map(fingerprint, samples)), list[str]()
    with metric_options.open_metric("criteria", arguments) as (reward, settings):
        assert isinstance(reward, CriteriaReward)
        if any(one.images for one in samples):
            check_viewers(reward)
        settings["writing"] = PROMPTS
        with (
            resumed_lines(output, settings, LINE, arguments.overwrite) as (file, lines),
            reward.judge,
        ):
            found = by_fingerprint(lines, marks)
            waiting = [number for number in range(len(rows)) if number not in found]
            for start in track(range(0, len(waiting), CHUNK), "writing criteria"):
                chunk = waiting[start : start + CHUNK]
                for number, written in zip(
                    chunk, write_criteria(reward, [asked[n] for n in chunk]), strict=True
                ):
                    if isinstance(written, Failure):
                        failures.append(written.message)
                        continue
                    found[number] = rows[number] | dict(
                        zip(LINE, (*written, marks[number]), strict=True)
                    )
                    file.write(json.dumps(found[number]) + "\n")
                file.flush()
    if not found:
        raise ValueError(f"no row got criteria: {failures[0]}.")
    if page:
        shown = [(samples[number], found[number]) for number in sorted(found)[:SHOWN]]
        write_rendered(
            page, "criteria.html.jinja", name=arguments.rows, settings=settings, shown=shown
        )
    counts = {
        key: sum(len(line[key]) for line in found.values()) for key in ("criteria", "refused")
    }
    lacking = len(rows) - sum(bool(line["criteria"]) for line in found.values())
    numbers = {"rows": len(rows), **counts, "rows without criteria": lacking}
    table = Table(*numbers, title=str(output), caption=next(iter(failures), None))
    table.add_row(*map(str, numbers.values()))
    return numbers, [table]


def ways() -> dict[str, Any]:
    return {"write": sys.modules[__name__]}


def main() -> None:
    run_subcommand("spanreward criteria", __doc__, ways())
