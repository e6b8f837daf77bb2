"""Score the completions of a file with a metric.

    spanreward score posh --judge match --input rows.jsonl --output verdicts.jsonl
    spanreward score posh --judge server:URL#MODEL --set mode=published judge.deadline=60 \\
        --input rows.jsonl --output verdicts.jsonl
    write-rows | spanreward score posh --judge match --input - --output - | read-verdicts

The input is JSON Lines, a JSON list, CSV, TSV or parquet, also as .gz, or hub:NAME[:SPLIT], a
dataset or its folder. The input - is standard input, as JSON Lines. The output - is standard
output; the table then goes to standard error, and there is nothing to resume. Each row has
`completion`, usually `id`, and the keys that the metric reads; --columns says where the file calls
them otherwise. A key that no row has ends the command, with one sentence that names it.

    posh          reference (a text or several)
    harmonic      image (the path of a picture), or with --set evidence=context a `context`
                  that describes it
    lave          question and answers (a text or several)
    pairwise      image or context, and with --set anchor=anchor (or reference) that key, the text
                  to compare with
    criteria      criteria (a list of texts), and image or context
    differences   reference, or image, or both
    FILE.py:NAME  what it says; one without a judge needs no --judge

Every score is from 0 to 1. posh parses texts with spaCy: python -m spacy download en_core_web_sm.
A judge behind HTTP is server:URL#MODEL (vLLM and others with /completions) or chat:URL#MODEL (only
chats); its key is in SPANREWARD_API_KEY.

Each row of the output has: id, score, status, parts, spans (start, end, score, credit, kind, note,
component, asked), missed (spans on the reference), reference (its number), note (such as why there
is no score), parsed_by, unread (start, end, kind), fingerprint; --html shows them on a page, and
--show N prints how the first rows are read, which says why a figure is odd. A row that cannot be
read is reported with its line number, gets the status not_applicable, and ends nothing. The same
command goes on after an interruption. It keeps the scores of rows that are as they were, and asks
again about rows that were changed or had no score; --overwrite starts the output anew. Completions
that look like an API's failure, or one text for many different rows, are named at the end.
"""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import Progress
from rich.table import Table

from spanreward.rewards.base.terminal import (
    Terminal,
    exit_with_message,
    leave_interrupted,
    warnings_alone,
)
from spanreward.rewards.files.outputs import write_json
from spanreward.training.commands import metric_options
from spanreward.training.commands.standard_streams import lines_to, rows_from

if TYPE_CHECKING:
    from spanreward.rewards.reward.reward import Reward
    from spanreward.rewards.rows.lines import InputRow
    from spanreward.rewards.scoring import Summary

MAX_NAMED_ROWS = 20  # the most rows without a score that are printed with their reason


def main() -> None:
    """Runs `spanreward score` with the words in sys.argv."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_arguments(parser)
    arguments = metric_options.read_arguments(parser)
    if arguments.show < 0:
        parser.error(f"--show is a number of rows, got {arguments.show}.")
    # for the name `-`, use a file in place of standard input or output
    with rows_from(arguments.input) as source, lines_to(arguments.output) as lines:
        arguments.input = source
        arguments.output = lines
        score_file(arguments, parser.prog)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `spanreward score` to its parser."""
    parser.add_argument("reward", help="one of those above, or FILE.py:NAME, a metric of your own")
    parser.add_argument(
        "--input",
        required=True,
        metavar="ROWS",
        help="what to score: a file, hub:NAME[:SPLIT], or -",
    )
    output = {"required": True, "metavar": "VERDICTS.jsonl", "help": "one verdict per row, or -"}
    html = (
        "write a page there too: each text with its words coloured, worst or best first, with "
        "a search"
    )
    parser.add_argument("--html", type=Path, metavar="PAGE", help=html)
    show = (
        "print the first N rows as the metric reads them: what of the text is judged, what is not, "
        "the references, and the judge's first question"
    )
    parser.add_argument("--show", type=int, default=0, metavar="N", help=show)
    metric_options.add_flags(parser, *metric_options.ALL_FLAGS, "quiet", output=output)
    metric_options.add_words(parser)


def score_file(arguments: argparse.Namespace, program: str) -> None:
    """Scores the rows and prints a summary. Ends the process with a message if the rows cannot be
    scored, or if no row gets a score.

    arguments: the parsed command line; `input` and `output` must be files, not "-". program: the
    beginning of messages, such as "spanreward score".
    """
    from spanreward.rewards.rows.lines import read_rows
    from spanreward.training.evaluation.page.scored import write_scored

    title = f"{arguments.reward} with {arguments.judge}" if arguments.judge else arguments.reward
    readings: list[str] = []
    try:
        columns = metric_options.column_names(arguments.columns)
        check_score_files(arguments)
        opened = metric_options.open_metric(arguments.reward, arguments)
        # log no tracebacks, because `print_summary` prints the reason for each row without a score
        with warnings_alone():
            rows = read_rows(arguments.input, columns, arguments.limit)
            with opened as (reward, settings):
                metric_options.check_renamed(columns, reward)
                summary = score_with_bar(arguments, title, reward, settings, rows)
                if arguments.show:
                    readings = first_rows(arguments, reward, rows[: arguments.show])

        from spanreward.rewards.scoring import read_verdicts  # slow, and loaded with the metric

        # write the page from the output, which also has verdicts of earlier runs
        if arguments.html:
            page_title = f"{title}: {arguments.input}"
            write_scored(arguments.html, page_title, rows, read_verdicts(arguments.output))
        write_json(arguments.json, asdict(summary))
    except (ValueError, OSError, ImportError) as error:
        exit_with_message(f"{program}: {error}")
    except KeyboardInterrupt:
        leave_interrupted(f"{program}: interrupted; the same command goes on from here.")
    print_summary(summary, arguments, title, settings["parsed_by"])
    if readings:
        print("\n" + "\n\n".join(readings))
    # if no row has a score, fail, so that a script does not go on without scores
    if not summary.scored:
        statuses = ", ".join(summary.statuses)
        exit_with_message(
            f"{program}: no row was scored ({statuses}): `note` in {arguments.output} says why."
        )


def check_score_files(arguments: argparse.Namespace) -> None:
    """Raises ValueError for an output, a page or a file of --json that must not be written, and for
    an unknown metric: the mistakes that can be found before the metric is loaded.
    """
    from spanreward.rewards.metric_names import check_metric
    from spanreward.training.evaluation.page.render import check_page

    inputs = (arguments.input, arguments.reward)
    outputs = [arguments.output]
    if arguments.html:
        outputs.append(arguments.html)
    metric_options.check_lines(arguments.output)
    # None: no line was read and no score is known yet
    metric_options.check_files(arguments, outputs, inputs, bad_lines=None, mean_score=None)
    check_page(arguments.html, arguments.overwrite, "score")
    check_metric(arguments.reward)


def score_with_bar(
    arguments: argparse.Namespace,
    title: str,
    reward: "Reward",
    settings: dict[str, Any],
    rows: Sequence["InputRow"],
) -> "Summary":
    """Scores the rows into the output, with a progress bar unless --quiet, and returns the counts.

    title: the text beside the bar. settings: everything that decides the verdicts.
    """
    # imported here and not above, because it loads spaCy and torch, which takes seconds
    from spanreward.rewards.scoring import score_rows
    from spanreward.training.garbage import gc_skips_loaded_objects

    console = Terminal(stderr=True, soft_wrap=True)
    # the garbage collector skips all objects that are loaded by now, such as the metric and its
    # models, which saves time
    with Progress(console=console, disable=arguments.quiet) as bar, gc_skips_loaded_objects():
        task = bar.add_task(title, total=None)
        return score_rows(
            reward,
            rows,
            arguments.input,
            arguments.output,
            settings,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
            overwrite=arguments.overwrite,
        )


def print_summary(
    summary: "Summary", arguments: argparse.Namespace, title: str, parsed_by: str
) -> None:
    """Prints the rows without a score, the table of the summary, and warnings. The table is printed
    to standard output, and all other lines to standard error.

    title: the table's title. parsed_by: the metric's parser, or "".
    """
    console = Terminal(stderr=True, soft_wrap=True)
    for number, reason in summary.bad_lines[:MAX_NAMED_ROWS]:
        line = f"{arguments.input}:{number}: not scored: {reason}"
        console.print(line, markup=False, highlight=False)
    # If the user has named a wrong column, no row has a score. So only the first rows are printed.
    rest = len(summary.bad_lines) - MAX_NAMED_ROWS
    if rest > 0:
        line = f"... and {rest} more: see `note` in {arguments.output}"
        console.print(line, markup=False, highlight=False)
    if not arguments.quiet:
        table = table_of_summary(summary, f"{title}: {arguments.output}", parsed_by)
        Terminal(markup=False, emoji=False).print(table)
    print_cautions(summary, console)  # also with --quiet


def table_of_summary(summary: "Summary", title: str, parsed_by: str) -> Table:
    """Returns a table with the numbers of a summary, a name and a number in each row.

    parsed_by: the metric's parser, or "".
    """
    table = Table(title=title, show_header=False)
    for name, value in asdict(summary).items():
        # these fields are printed in another form, around the table or in its last rows
        if name in ("bad_lines", "no_answers", "not_read"):
            continue
        text = f"{value:.4g}" if isinstance(value, float) else str(value)
        table.add_row(name, text)
    table.add_row("not read", str(summary.not_read))
    if parsed_by:
        table.add_row("read by", parsed_by)
    return table


def print_cautions(summary: "Summary", console: Terminal) -> None:
    """Prints a note if much of the completions' text was not read, and a warning of completions
    that look like failures of an API.
    """
    from spanreward.rewards.base.unread import UNREAD_SHARE_TO_WARN
    from spanreward.rewards.text.no_answers import in_a_sentence

    if summary.not_read.share > UNREAD_SHARE_TO_WARN:
        console.print(
            f"Note: {summary.not_read.share:.0%} of the completions' characters are not read: "
            "--html shows which.",
            style="yellow",
            markup=False,
            highlight=False,
        )
    if summary.no_answers:
        failed = in_a_sentence(summary.no_answers, summary.rows, "completions")
        console.print(
            f"WARNING: {failed}. The scores count them as answers: have these rows answered again, "
            "or drop them.",
            style="bold red",
            markup=False,
            highlight=False,
        )


def first_rows(
    arguments: argparse.Namespace, reward: "Reward", rows: Sequence["InputRow"]
) -> list[str]:
    """Returns a text for each of the first rows, for --show: the row as the metric reads it, and
    the judge's first question. The judge is not asked.
    """
    from spanreward.rewards.metrics import build_reward
    from spanreward.rewards.scoring import read_verdicts
    from spanreward.training.evaluation.page.read_rows import Listener, in_text, readings_of_rows

    verdicts = read_verdicts(arguments.output)[: arguments.show]
    listener = None
    if reward.judges:
        # make the same metric again, with a judge that only records the questions
        listener = Listener(reward.judges[0])
        options = metric_options.read_options(arguments.options)
        reward = build_reward(arguments.reward, listener, options)
        # a user's own metric may use a judge of its own, so that the listener is not asked
        if listener not in reward.judges:
            listener = None
    read_rows = readings_of_rows(reward, rows, verdicts, listener)
    return list(map(in_text, read_rows))
