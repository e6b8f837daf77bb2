"""Are a metric's spans good enough for span credit? Labelled completions of your own say it.

    spanreward labels spans labels.jsonl --judge vllm:MODEL

It prints how far the credit of phrases follows the labels, what to set in a recipe, and how often
the judge errs on right and on wrong phrases.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Column, Table

from spanreward.rewards.comparison.number_text import interval_text, number_text
from spanreward.rewards.rows.fingerprint import sample_fingerprint
from spanreward.training.commands.main import run_subcommand, without_nan
from spanreward.training.commands.metric_options import (
    JUDGE_FLAGS,
    ROW_FLAGS,
    add_flags,
    add_words,
    check_files,
    column_names,
    open_metric,
)

if TYPE_CHECKING:
    from spanreward.rewards.base.verdict import Sample, Verdict
    from spanreward.rewards.reward.reward import Reward
    from spanreward.training.data.marks import CharacterSpans
    from spanreward.training.evaluation.statistics.span_reliability import Labelled

CHUNK_COMPLETIONS = 128  # the number of completions that are judged together

HELP = "are a metric's spans good enough for span credit?"
DESCRIPTION = """\
    spanreward labels spans labels.jsonl --judge vllm:MODEL    # PoSh; --metric for another
    spanreward labels spans labels.jsonl                    # by match, which compares words

A labelled sample is a JSONL file, one completion a line: {"id": ..., "completion": ...,
"reference": ..., "mistakes": [[start, end], ...]}; or another table, as `spanreward score` reads.
`mistakes` are the ranges of characters that are wrong, counted from 0 and without the end, or the
wrong words themselves, ["red", 2] for the second "red", [] where nothing is wrong. Twenty
completions with some wrong phrases are enough. r is the correlation of a phrase's credit with its
label. Both are taken less their mean over phrases of the same kind (entity, attribute, relation)
that begin equally far into a text. The line below says what to set in a recipe. A second table
says how often the judge errs on phrases that are right by the labels and on wrong ones, so that
runs with --set evidence=reference, picture and both tell which evidence PoSh should have."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `spanreward labels spans` to its parser."""
    parser.add_argument("sample", help="a labelled sample")
    parser.add_argument("--metric", default="posh", help="whose spans (default posh)")
    overwrite = {"help": "replace the file of --json, whatever it holds"}
    add_flags(
        parser,
        *JUDGE_FLAGS,
        *ROW_FLAGS,
        "overwrite",
        judge={"default": "match"},
        overwrite=overwrite,
    )
    add_words(parser)


def measure(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    """Judges the labelled completions, and compares the metric's spans with the labels.

    Returns (numbers for --json, tables to print). Raises ValueError and OSError for a file that
    cannot be used.
    """
    from spanreward.rewards.reward.viewers import check_seen
    from spanreward.training.data.marks import read_marked

    marked = read_marked(arguments.sample, column_names(arguments.columns), arguments.limit)
    texts = without_repeated_rows(marked)
    samples = [sample for sample, _ in texts]
    with open_metric(arguments.metric, arguments) as (reward, settings):
        # check the file of --json and the judge's sight before the judge is asked
        inputs = (arguments.sample, arguments.metric)
        # a file of this command has the keys "metric", with the same settings, and "reliability"
        check_files(arguments, [], inputs, metric=settings, reliability=None)
        check_seen(reward, samples)
        verdicts = judge_in_chunks(reward, samples)

    from spanreward.training.evaluation.statistics.span_reliability import (  # slow
        judge_errors,
        labelled_rows,
    )

    rows = labelled_rows(texts, verdicts)
    title = f"{len(rows)} labelled completions, {arguments.metric} with {settings['judge']}"
    left_out = len(texts) - len(rows)
    if left_out:
        title += f"; {left_out} without a verdict left out"
    figures, tables = reliability_of(rows, title)
    errors = judge_errors(rows)
    numbers = {
        "metric": settings,
        "completions": len(rows),
        **figures,
        "errors": errors,
    }
    return without_nan(numbers), [*tables, table_of_errors(errors)]


def without_repeated_rows(
    marked: Sequence[tuple["Sample", "CharacterSpans"]],
) -> list[tuple["Sample", "CharacterSpans"]]:
    """Returns the labelled completions without repeated ones: a row with the id, the texts and the
    marks of another row. Two rows without an id both stay.

    marked: each completion with the character ranges that people marked as wrong.
    """
    distinct = {}
    for index, (sample, wrong) in enumerate(marked):
        key = (sample.id or index, sample_fingerprint(sample), wrong)
        distinct[key] = (sample, wrong)
    return list(distinct.values())


def judge_in_chunks(reward: "Reward", samples: Sequence["Sample"]) -> list["Verdict"]:
    """Returns the metric's verdict on each completion. CHUNK_COMPLETIONS are judged at a time,
    because a judge's deadline is for one batch.
    """
    verdicts: list[Verdict] = []
    for start in range(0, len(samples), CHUNK_COMPLETIONS):
        chunk = samples[start : start + CHUNK_COMPLETIONS]
        verdicts += reward.judge_samples(chunk)
    return verdicts


def reliability_of(rows: Sequence["Labelled"], title: str) -> tuple[dict[str, Any], list[Table]]:
    """Returns (numbers, [table]) on how well the credit of phrases follows the labels: the
    correlation r for each kind of phrase, and the advice for a recipe.

    rows: from `labelled_rows`. title: the title of the table.
    """
    from spanreward.training.evaluation.statistics.span_reliability import (
        span_coef_advice,
        span_reliability,
    )

    # {kind of phrase: its numbers}, with the key "all" for the phrases of all kinds
    figures_of = span_reliability(rows)
    sentence = span_coef_advice(figures_of["all"])
    # a row of the table for each kind
    headings = ("r", "95 %", "phrases", "wrong", "blamed")
    numbers = [Column(heading, justify="right") for heading in headings]
    table = Table(
        "phrases of kind",
        *numbers,
        title=title,
        caption=sentence,
        caption_justify="left",
    )
    for kind, row in figures_of.items():
        table.add_row(
            kind,
            number_text(row["r"], 2),
            interval_text(row["low"], row["high"], 2),
            f"{row['phrases']:,}",
            f"{row['wrong']:.0%}",
            f"{row['blamed']:.0%}",
        )
    return {"reliability": figures_of, "advice": sentence}, [table]


def table_of_errors(errors: dict[str, dict[str, Any]]) -> Table:
    """Returns a table of how often the judge errs. errors: the result of `judge_errors`."""
    headings = ("the judge errs", "95 %", "phrases")
    numbers = [Column(heading, justify="right") for heading in headings]
    table = Table("phrases, by the labels", *numbers)
    of_right = errors["right"]
    of_wrong = errors["wrong"]
    # the two kinds of errors: right phrases that are judged wrong, and wrong phrases judged right
    for label, share, row in (
        ("right, judged wrong", of_right["judged_wrong"], of_right),
        ("wrong, judged right", of_wrong["judged_right"], of_wrong),
    ):
        bounds = interval_text(row["low"], row["high"], 2)
        table.add_row(label, number_text(share, 2), bounds, f"{row['phrases']:,}")
    return table


def ways() -> dict[str, Any]:
    """Returns {name of a subcommand: its module}. Such a module has HELP, DESCRIPTION,
    `add_arguments` and `measure`.
    """
    return {"spans": sys.modules[__name__]}


def main() -> None:
    """Runs `spanreward labels` with the words in sys.argv."""
    run_subcommand("spanreward labels", __doc__, ways())
