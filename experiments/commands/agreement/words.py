"""`python -m experiments agreement words`: which words a judge suspects, beside the words that are
wrong.
"""

import argparse
from pathlib import Path
from typing import Any

from rich.table import Table

from spanreward.rewards.comparison.number_text import interval_text, number_text
from spanreward.training.commands.main import without_nan
from spanreward.training.commands.metric_options import (
    JUDGE_FLAGS,
    add_flags,
    add_words,
    open_metric,
)

HELP = "which words a judge suspects, beside the words that are wrong"
DESCRIPTION = """\
PoSh's suspicion of each content word of marked texts (`agreement marked` writes them): the area under its ROC curve,
and the F1 of the best threshold, which is seen on the texts themselves."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "rows", type=Path, metavar="ROWS.jsonl", help="rows with completion, reference and mistakes"
    )
    parser.add_argument(
        "--unseen", type=Path, metavar="FOLDER", help="only pictures that this encoder did not read"
    )
    parser.add_argument(
        "--limit", type=int, metavar="N", help="N of these, evenly spread (default all)"
    )
    parser.add_argument("--joined", action="store_true", help="read a text's references as one")
    parser.add_argument(
        "--tokens", action="store_true", help="the encoder's own suspicion, without PoSh"
    )
    judge = {"default": "match", "help": "who answers PoSh's questions (default match)"}
    add_flags(parser, *JUDGE_FLAGS, judge=judge)
    add_words(parser)


def measure(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    from experiments.agreement.captions import Joined
    from experiments.agreement.word_suspicion import (
        measure_words,
        read_words,
        suspected_words,
        unseen_of,
    )
    from spanreward.rewards.experimental.encoder_judge import EncoderJudge
    from spanreward.training.data.marks import read_marked

    marked = read_marked(arguments.rows)
    marked = unseen_of(marked, arguments.unseen) if arguments.unseen else marked
    if arguments.limit:
        marked = marked[:: max(1, len(marked) // arguments.limit)][: arguments.limit]
    kind, _, model = arguments.judge.partition(":")
    if arguments.tokens:
        if kind != "encoder":
            raise ValueError(
                f"--tokens reads an encoder: give --judge encoder:FOLDER, got {arguments.judge}."
            )
        found = measure_words(read_words(EncoderJudge(model), marked))
    else:
        with open_metric("posh", arguments) as (reward, _):
            found = measure_words(
                suspected_words(Joined(reward) if arguments.joined else reward, marked)
            )
    table = Table(
        "texts",
        "words",
        "wrong",
        "AUROC",
        "95 %",
        "best F1",
        title=f"{arguments.rows}, {arguments.judge}",
    )
    counts = [str(found[name]) for name in ("texts", "words", "wrong")]
    area = (number_text(found["auroc"], 3), interval_text(found["low"], found["high"], 3))
    table.add_row(*counts, *area, number_text(found["f1"], 3))
    return without_nan(found), [table]
