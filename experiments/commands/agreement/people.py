"""`python -m experiments agreement people`: scores and spans against people's judgments of
captions.
"""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from spanreward.rewards.comparison.number_text import number_text as shown
from spanreward.training.commands.main import without_nan
from spanreward.training.commands.metric_options import (
    JUDGE_FLAGS,
    add_flags,
    add_words,
    open_metric,
)

HELP = "scores and spans against people's judgments"
DESCRIPTION = """\
PoSh's scores and spans beside a bag of words on the same records. The metrics 4grams and scene_graphs are the PoSh
paper's baselines, which ask no judge and need the extra `embed`. The metric harmonic has a set of its own:
HarmonicEval's criteria against THumB's, the references in place of the picture."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, help="the folder that holds the sets' own folders")
    parser.add_argument(
        "--metric", choices=("posh", "4grams", "scene_graphs", "harmonic"), default="posh"
    )
    parser.add_argument(
        "--images", type=int, metavar="N", help="harmonic: only the first N pictures (default all)"
    )
    parser.add_argument(
        "--sets", nargs="+", metavar="SET", default=[], help="the sets to measure (default all)"
    )
    parser.add_argument(
        "--joined", action="store_true", help="posh: read a text's references as one"
    )
    judge = {
        "default": "match",
        "help": "who answers the metric's questions (default match; harmonic: Scenes' WordJudge)",
    }
    add_flags(parser, *JUDGE_FLAGS, judge=judge)
    add_words(parser)


def measure(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    from experiments.agreement.captions import SETS, Joined, measure_people
    from spanreward.rewards.base.checks import check_known

    check_known("set", arguments.sets, SETS)
    if arguments.metric == "harmonic":
        return measure_criteria(arguments)
    if arguments.metric in ("4grams", "scene_graphs") and arguments.options:
        raise ValueError(
            f"the metric {arguments.metric} takes no options, got {' '.join(arguments.options)}."
        )
    sets = arguments.sets or list(SETS)
    if arguments.metric == "posh":
        with open_metric("posh", arguments) as (reward, settings):
            reader = Joined(reward) if arguments.joined else reward
            rows = [asdict(row) for row in measure_people(arguments.folder, reader, sets)]
        asked = f"judge {arguments.judge}, read by {settings['parsed_by']}"
    else:
        rows = [
            asdict(row)
            for row in measure_people(arguments.folder, embedding_metric(arguments.metric), sets)
        ]
        asked = f"metric {arguments.metric}"
    return rows, [people_table(rows, asked)]


def measure_criteria(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    from experiments.agreement.thumb import measure_thumb
    from experiments.scenes.parts import WORDS

    if arguments.sets or (arguments.images is not None and arguments.images < 1):
        raise ValueError(
            "the metric harmonic is measured on THumB: leave --sets out, and give --images 1 or "
            "more."
        )
    arguments.judge = WORDS if arguments.judge == "match" else arguments.judge
    arguments.options = ["evidence=context", "spans=none", *arguments.options]
    with open_metric("harmonic", arguments) as (reward, _):
        measured = measure_thumb(arguments.folder, reward, arguments.images)
    rows = [without_nan(asdict(row)) for row in measured]
    return rows, [people_table(rows, f"HarmonicEval, judge {arguments.judge}")]


def embedding_metric(name: str) -> Any:
    from experiments.agreement.embedding_baselines import FourGrams, GraphPieces

    return FourGrams() if name == "4grams" else GraphPieces()


def people_table(rows: list[dict[str, Any]], asked: str) -> Table:
    table = Table(title=f"Agreement with people, {asked}")
    for column in ("set", "measure"):
        table.add_column(column)
    for column in ("ours", "95 %", "floor", "target", "n", "note"):
        table.add_column(column, justify="right")
    for row in rows:
        low, high = row["interval"].values()
        interval = "-" if low is None else f"{low:.3f} - {high:.3f}"
        values = (
            shown(row["ours"]),
            interval,
            shown(row["floor"]),
            shown(row["target"]),
            str(row["n"]),
            row["note"],
        )
        table.add_row(row["set"], row["measure"], *values)
    return table
