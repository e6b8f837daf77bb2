"""A judge writes the column that the metric `criteria` reads. You check it on a page, and edit it.

spanreward criteria write rows.jsonl --judge vllm:MODEL --output with_criteria.jsonl
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from rich.progress import track
from rich.table import Table

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.files.earlier import by_fingerprint
from spanreward.rewards.files.outputs import resumed_lines
from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.rows.fingerprint import sample_fingerprint
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
CHUNK_ROWS = 16  # rows whose criteria are asked for together
MAX_PAGE_ROWS = 500
# The keys that are added to a row, with the types of their values. `_write_missing_lines` lists the
# values in this order.
NEW_KEYS = {"criteria": list, "refused": dict, "fingerprint": str}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `spanreward criteria write`."""
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
    """Lets the judge write criteria. Returns the numbers for --json, and the table to print.

    Raises ValueError for files or rows that cannot be used, and if no row got criteria.
    """
    # Imported late, because these modules load model libraries and --help must be fast.
    from spanreward.rewards.experimental.criteria_writing import WRITING_PROMPTS, CriteriaReward
    from spanreward.rewards.reward.viewers import check_viewers

    # Errors in files are found before a judge starts.
    _check_outputs(arguments)
    columns = metric_options.column_names(arguments.columns)
    # Each row twice: as a judge reads it, and as it is in the table, to be written to the output.
    samples = read_each(arguments.rows, (), lambda sample: sample, columns, arguments.limit)
    rows = _rows_as_json(arguments, columns)
    output = arguments.output
    with metric_options.open_metric("criteria", arguments) as (reward, settings):
        assert isinstance(reward, CriteriaReward)
        if any(sample.images for sample in samples):
            check_viewers(reward)
        settings["writing"] = WRITING_PROMPTS
        with (
            resumed_lines(output, settings, NEW_KEYS, arguments.overwrite) as (file, lines),
            reward.judge,
        ):
            # The output's lines of an earlier run, by the row's number. A user may have edited
            # them.
            line_of = by_fingerprint(lines, list(map(sample_fingerprint, samples)))
            failures = _write_missing_lines(reward, samples, rows, line_of, file)
    if not line_of:
        raise ValueError(f"no row got criteria: {failures[0]}.")
    if arguments.html:
        _write_page(arguments, settings, samples, line_of)
    numbers = count_criteria(len(rows), list(line_of.values()))
    first_failure = failures[0] if failures else None
    table = Table(*numbers, title=str(output), caption=first_failure)
    table.add_row(*map(str, numbers.values()))
    return numbers, [table]


def _check_outputs(arguments: argparse.Namespace) -> None:
    """Raises ValueError if an output is an input, or a file that this command has not written."""
    from spanreward.training.evaluation.page.render import check_page

    outputs = [arguments.output]
    if arguments.html:
        outputs.append(arguments.html)
    like = {"rows without criteria": None}
    metric_options.check_files(arguments, outputs, [arguments.rows], **like)
    metric_options.check_lines(arguments.output)
    check_page(arguments.html, arguments.overwrite, "criteria")


def _rows_as_json(
    arguments: argparse.Namespace, columns: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Returns the rows of the table, which can be written as JSON.

    Raises ValueError for a row that is no JSON, such as a picture as bytes. columns: our names of
    the columns, with the table's names.
    """
    rows = []
    for _, row in read_table(arguments.rows, columns, arguments.limit):
        rows.append(row)
    try:
        json.dumps(rows)  # fails here, before the judge writes
    except TypeError as error:
        raise ValueError(
            f"the rows of {arguments.rows} are no JSON ({error}): give pictures as paths."
        ) from None
    return rows


def _write_missing_lines(
    reward: Any,
    samples: Sequence[Sample],
    rows: Sequence[Mapping[str, Any]],
    line_of: dict[int, dict[str, Any]],
    file: TextIO,
) -> list[str]:
    """Lets the judge write criteria for each row without a line, and writes the new lines. Returns
    the reasons for the rows that got no criteria; the next run asks for them again.

    Args:
        reward: a CriteriaReward, whose judge writes.
        samples: each row as a judge reads it.
        rows: each row as it is in the table.
        line_of: the output's lines, by the row's number. The new lines are added.
        file: the output.
    """
    from spanreward.rewards.experimental.criteria_writing import write_criteria

    questions = with_other_references(samples)
    waiting = [number for number in range(len(rows)) if number not in line_of]
    failures: list[str] = []
    for start in track(range(0, len(waiting), CHUNK_ROWS), "writing criteria"):
        chunk = waiting[start : start + CHUNK_ROWS]
        answers = write_criteria(reward, [questions[number] for number in chunk])
        for number, written in zip(chunk, answers, strict=True):
            if isinstance(written, Failure):
                failures.append(written.message)
                continue
            criteria, refused = written
            new_values = (criteria, refused, sample_fingerprint(samples[number]))
            new_columns = dict(zip(NEW_KEYS, new_values, strict=True))
            line_of[number] = {**rows[number], **new_columns}
            file.write(json.dumps(line_of[number]) + "\n")
        file.flush()  # so an interruption loses at most one chunk
    return failures


def _write_page(
    arguments: argparse.Namespace,
    settings: dict[str, Any],
    samples: Sequence[Sample],
    line_of: Mapping[int, dict[str, Any]],
) -> None:
    """Writes the page on which a user checks the criteria of the first MAX_PAGE_ROWS rows.

    settings: the judge and the prompts, shown on the page. line_of: the output's lines, by the
    row's number.
    """
    from spanreward.training.evaluation.page.render import write_rendered

    page_rows = []
    for number in sorted(line_of)[:MAX_PAGE_ROWS]:
        page_rows.append((samples[number], line_of[number]))
    write_rendered(
        arguments.html,
        "criteria.html.jinja",
        name=arguments.rows,
        settings=settings,
        shown=page_rows,
    )


def count_criteria(rows: int, lines: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Returns the numbers for --json, counted over all lines of the output, including lines of
    earlier runs. rows: the number of rows in the table.
    """
    numbers = {"rows": rows, "criteria": 0, "refused": 0, "rows without criteria": rows}
    for line in lines:
        numbers["criteria"] += len(line["criteria"])
        numbers["refused"] += len(line["refused"])
        if line["criteria"]:
            numbers["rows without criteria"] -= 1
    return numbers


def with_other_references(samples: Sequence[Sample]) -> list[tuple[Sample, str]]:
    """Returns each sample with a reference of another row, or with "" if the sample has no
    reference.

    The other row's reference tests the criteria: a criterion that this text meets too does not
    distinguish good texts from others.
    """
    first_references: list[str] = []
    for sample in samples:
        first_references += sample.references[:1]
    texts = list(dict.fromkeys(first_references))  # each once
    # Each text gets the next text, and the last text gets the first.
    following = [*texts[1:], *texts[:1]]
    other_of = dict(zip(texts, following, strict=True))
    pairs = []
    for sample in samples:
        reference = sample.references[0] if sample.references else ""
        pairs.append((sample, other_of.get(reference, "")))
    return pairs


def ways() -> dict[str, Any]:
    """Returns the subcommands by name, as `run_subcommand` takes them."""
    return {"write": sys.modules[__name__]}


def main() -> None:
    run_subcommand("spanreward criteria", __doc__, ways())
