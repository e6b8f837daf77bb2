"""How far a judge agrees with the truth, or with people.

    spanreward agreement spans outputs/quickstart --models base sft --count 500
    spanreward agreement people ../shared/data --judge match [--sets hat_aloha ...]
    spanreward agreement people ../shared/data --metric 4grams
    spanreward agreement people ../shared/data --metric harmonic [--judge transformers:smollm2 --images 8]
    spanreward agreement graphs ../shared/data [--rules]
    spanreward agreement answers ../shared/data --judge match [--no-rationale] [--sets evouna_nq ...]
    spanreward agreement filler ../shared/data
    spanreward agreement votes ../shared/data/wildvision_bench
    spanreward agreement judge ../shared/data/vl_rewardbench --judge match

spans: reads the results.json and completions.jsonl that `spanreward compare` wrote about Scenes, where the truth is
known, and answers two questions. Are the words that the judge calls wrong (spans with a score below 0.5) the wrong
ones? And does the credit of a component have the sign of what its words truly add to the description's F1?

people: PoSh's scores and spans against people's judgments, beside a bag of words on the same records. The metrics
4grams and scene_graphs are the PoSh paper's baselines, which ask no judge and need the extra `embed`. The metric
harmonic has a set of its own: HarmonicEval's criteria against THumB's, the references in place of the picture.
graphs: our scene graphs, default and published, against people's; with --rules, what each rule adds.
answers: LAVE and the usual metrics of answers, such as VQA accuracy, against people's judgments of answers.
filler: what the charge for words that say nothing takes from people's own captions.
votes: win rates with intervals over prompts from votes on file (docs/votes.md).
judge: a judge's scores, pairs and rankings against people's, and its biases (docs/agreement.md).
"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from training.commands import judging
from training.commands.judge_options import add_judge_options, judge_of

SPANS = """Words are runs of letters and digits. `precision` is the share of the words the judge calls wrong that are
wrong, `recall` the share of the wrong words it finds; `claims` are the words that state a fact of the picture (not the
`in` of a place); per kind, among the words that spans of that kind touch. The effect of a component is the true F1 of
the text less that of the text without its first span; `equal signs` is over the components where neither credit nor
effect is 0, `spearman` over all with credit; `on nothing` is the share of the squared credit on words without
effect."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    spans = commands.add_parser("spans", help="wrong words and credit against the truth of Scenes", description=SPANS)
    spans.add_argument("folder", type=Path, help="output folder of `spanreward compare`")
    spans.add_argument("--models", nargs="+", default=[], help="which of the compared models (default all)")
    spans.add_argument("--count", type=int, default=500, help="completions, spread over models and seeds (default 500)")
    spans.set_defaults(measure=measure_spans)
    people = commands.add_parser("people", help="scores and spans against people's judgments")
    people.add_argument("folder", type=Path, help="the folder that holds the sets' own folders")
    people.add_argument(
        "--judge", default="match", help="who answers the metric's questions (default match: words alone)"
    )
    people.add_argument("--metric", choices=("posh", "4grams", "scene_graphs", "harmonic"), default="posh")
    people.add_argument("--images", type=int, metavar="N", help="harmonic: only the first N pictures (default all)")
    add_judge_options(people)
    people.add_argument("--sets", nargs="+", metavar="SET", default=[], help="the sets to measure (default all)")
    people.set_defaults(measure=measure_judgments)
    graphs = commands.add_parser("graphs", help="scene graphs against people's, no judge needed")
    graphs.add_argument("folder", type=Path, help="the folder that holds the sets' own folders")
    graphs.add_argument("--rules", action="store_true", help="what each rule adds alone, and what its removal costs")
    graphs.set_defaults(measure=measure_scene_graphs)
    answers = commands.add_parser("answers", help="LAVE and its baselines against people's judgments of answers")
    answers.add_argument("folder", type=Path, help="the folder that holds the sets' own folders")
    answers.add_argument("--judge", default="match", help="who rates the answers (default match: words alone)")
    add_judge_options(answers)
    answers.add_argument("--no-rationale", action="store_true", help="read the rating alone, without a rationale")
    answers.add_argument("--count", type=int, metavar="N", help="only the first N questions of a set (default all)")
    answers.add_argument("--sets", nargs="+", metavar="SET", default=[], help="the sets to measure (default all)")
    answers.set_defaults(measure=measure_answer_sets)
    filler = commands.add_parser("filler", help="what the charge for filler takes from people's captions")
    filler.add_argument("folder", type=Path, help="the folder that holds the sets' own folders")
    filler.set_defaults(measure=measure_fillers)
    votes = commands.add_parser("votes", help="win rates from the votes of a judge or of people on file")
    votes.add_argument("folder", type=Path, help="a folder with votes.jsonl, laid out as docs/votes.md says")
    votes.set_defaults(measure=measure_vote_folder)
    judge = commands.add_parser("judge", help=judging.HELP, description=judging.DESCRIPTION)
    judging.add_arguments(judge)
    judge.set_defaults(measure=judging.measure)
    for command in (spans, people, graphs, answers, filler, votes, judge):
        command.add_argument("--json", type=Path, metavar="PATH", help="write the printed numbers there too")
    arguments = parser.parse_args()
    try:
        numbers, tables = arguments.measure(arguments)
        if arguments.json:
            arguments.json.parent.mkdir(parents=True, exist_ok=True)
            arguments.json.write_text(json.dumps(numbers, indent=2) + "\n")
    except (ValueError, OSError, ImportError, RuntimeError) as error:  # the last one: a judge without an answer
        sys.exit(f"{parser.prog}: {error}")
    for table in tables:
        Console(width=max(Console().width, 140)).print(table)


def measure_spans(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    from training.evaluation.span_agreement import read_completions, summarise

    if arguments.count < 1:
        raise ValueError(f"--count must be 1 or more, got {arguments.count}.")
    completions, skipped = read_completions(arguments.folder, arguments.models, arguments.count)
    agreement = {**summarise(completions), "skipped": skipped}
    counted = f"{agreement['completions']} completions" + (f", {skipped} without a verdict left out" if skipped else "")
    return agreement, [
        table_of(f"Wrong words, judge and referee: {counted}", agreement["words"]),
        table_of("Credit and true effect on F1, per component", agreement["credit"]),
    ]


def measure_judgments(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    from rewards.agreement.captions import SETS, measure_people
    from rewards.naming import unknown

    for name in arguments.sets:
        if name not in SETS:
            raise ValueError(unknown("set", name, SETS))
    if arguments.metric == "harmonic":
        return measure_criteria(arguments)
    reward = metric_of(arguments)
    rows = [asdict(row) for row in measure_people(arguments.folder, reward, arguments.sets or list(SETS))]
    posh = f"judge {arguments.judge}, read by {reward.reader()}"
    asked = posh if arguments.metric == "posh" else f"metric {arguments.metric}"
    return rows, [people_table(rows, asked)]


def measure_criteria(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    from rewards.agreement.thumb import measure_thumb
    from rewards.harmonic import HarmonicReward

    if arguments.sets or (arguments.images is not None and arguments.images < 1):
        raise ValueError("the metric harmonic is measured on THumB: leave --sets out, and give --images 1 or more.")
    reward = HarmonicReward(judge_of(arguments), evidence="context", spans="none")
    rows = [defined(asdict(row)) for row in measure_thumb(arguments.folder, reward, arguments.images)]
    return rows, [people_table(rows, f"HarmonicEval, judge {arguments.judge}")]


def measure_fillers(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    from rewards.agreement.fillers import LOSS, measure_filler

    rows = [asdict(row) for row in measure_filler(arguments.folder)]
    table = Table("set", "texts", "words", f"lose more than {LOSS}", "mean share of filler", title="Filler in captions")
    for row in rows:
        numbers = (f"{row['words']:.1f}", f"{row['charged']:.2%}", f"{row['mean']:.3%}")
        table.add_row(row["name"], str(row["texts"]), *numbers)
    return rows, [table]


def measure_vote_folder(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    from training.commands.votes import measure

    return measure(arguments)


def defined(numbers: dict[str, Any]) -> dict[str, Any]:
    """The same with None for nan, the correlation of what never varies: JSON has no nan."""
    return {
        name: defined(value) if isinstance(value, dict) else None if value != value else value
        for name, value in numbers.items()
    }


def metric_of(arguments: argparse.Namespace) -> Any:
    from rewards.agreement.baselines import FourGrams, GraphPieces
    from rewards.posh import PoshReward

    if arguments.metric == "4grams":
        return FourGrams()
    return GraphPieces() if arguments.metric == "scene_graphs" else PoshReward(judge_of(arguments))


def measure_scene_graphs(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    from rewards.agreement.graphs import measure_graphs, measure_rules, read_drawn

    texts = read_drawn(arguments.folder)
    graphs = [asdict(row) for row in measure_graphs(texts)]
    if not arguments.rules:
        return graphs, [graph_table(graphs)]
    rules = [asdict(row) for row in measure_rules(texts)]
    return {"graphs": graphs, "rules": rules}, [graph_table(graphs), rule_table(rules)]


def measure_answer_sets(arguments: argparse.Namespace) -> tuple[Any, list[Table]]:
    from rewards.agreement.answers import SETS, measure_answers
    from rewards.lave import LaveReward
    from rewards.naming import unknown

    for name in arguments.sets:
        if name not in SETS:
            raise ValueError(unknown("set", name, SETS))
    if arguments.count is not None and arguments.count < 1:
        raise ValueError(f"--count must be 1 or more, got {arguments.count}.")
    reward = LaveReward(judge_of(arguments), rationale=not arguments.no_rationale)
    measured = measure_answers(arguments.folder, reward, arguments.sets or list(SETS), arguments.count)
    rows = [asdict(row) for row in measured]
    asked = "the rating alone" if arguments.no_rationale else "rationale and rating"
    return rows, [answer_table(rows, f"judge {arguments.judge}, {asked}")]


def table_of(title: str, agreement: dict[str, Any]) -> Table:
    """One row for everything, each model and each kind; a column per number."""
    rows = {name: agreement[name] for name in ("all", "claims") if name in agreement}
    rows |= {**agreement["by_model"], **agreement["by_kind"]}
    table = Table(title=title)
    table.add_column("")
    for name in agreement["all"]:
        table.add_column(name.replace("_", " "), justify="right")
    for name, entry in rows.items():
        table.add_row(name, *map(cell, entry.values()))
    return table


def cell(value: float | int | None) -> str:
    return "-" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def people_table(rows: list[dict[str, Any]], asked: str) -> Table:
    table = Table(title=f"Agreement with people, {asked}")
    for column in ("set", "measure"):
        table.add_column(column)
    for column in ("ours", "95 %", "floor", "target", "n", "note"):
        table.add_column(column, justify="right")
    for row in rows:
        low, high = row["interval"].values()
        interval = "-" if low is None else f"{low:.3f} - {high:.3f}"
        values = (shown(row["ours"]), interval, shown(row["floor"]), shown(row["target"]), str(row["n"]), row["note"])
        table.add_row(row["set"], row["measure"], *values)
    return table


def answer_table(rows: list[dict[str, Any]], asked: str) -> Table:
    metrics = list(dict.fromkeys(metric for row in rows for metric in row["metrics"]))
    table = Table(title=f"Answers, {asked}: value [95 %] of the first metric, values of the others")
    for column in ("set", "answers", "measure"):
        table.add_column(column)
    for column in (*metrics, "n", "failed"):
        table.add_column(column.replace("_", " "), justify="right")
    for row in rows:
        first, *others = [row["metrics"].get(metric) for metric in metrics]
        cells = [f"{first['value']:.3f} [{first['interval']['low']:.3f}, {first['interval']['high']:.3f}]"]
        cells += [shown(other["value"] if other else None) for other in others]
        table.add_row(row["set"], row["group"], row["measure"], *cells, str(row["n"]), str(row["failed"]))
    return table


def graph_table(rows: list[dict[str, Any]]) -> Table:
    table = Table(title="Scene graphs against people's (DiscoSG), mean over captions")
    for column in ("mode", "split", "match"):
        table.add_column(column)
    for column in ("precision", "recall", "F1", "95 %", "triples", "people's", "n"):
        table.add_column(column, justify="right")
    for row in rows:
        interval = f"{row['interval']['low']:.3f} - {row['interval']['high']:.3f}"
        scores = (shown(row["precision"]), shown(row["recall"]), shown(row["f1"]), interval)
        sizes = (f"{row['triples']:.1f}", f"{row['people']:.1f}", str(row["n"]))
        table.add_row(row["mode"], row["split"], row["match"], *scores, *sizes)
    return table


def rule_table(rows: list[dict[str, Any]]) -> Table:
    table = Table(
        title="Change in exact matching when a rule is added to published, and when it is removed from default"
    )
    for column in ("rule", "split"):
        table.add_column(column)
    for column in ("alone: F1", "95 %", "removed: F1", "95 %", "precision", "recall", "n"):
        table.add_column(column, justify="right")
    for row in rows:
        cells = []
        for effect in ("alone", "removed"):
            interval = row[f"{effect}_interval"]
            cells += [f"{row[effect]:+.4f}", f"{interval['low']:+.4f} .. {interval['high']:+.4f}"]
        cells += [f"{row['removed_precision']:+.4f}", f"{row['removed_recall']:+.4f}"]
        table.add_row(row["rule"], row["split"], *cells, str(row["n"]))
    return table


def shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


if __name__ == "__main__":
    main()
