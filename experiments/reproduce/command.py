"""Run the tables of the papers as far as the data at hand permits, or list what each of them takes.

    python -m experiments reproduce posh-3 --dry-run
    python -m experiments reproduce here --data ../shared/data --json here.json
    python -m experiments reproduce lave-2 --data my_data --judge
    server:http://127.0.0.1:8000#lmsys/vicuna-13b-v1.3

    python -m experiments reproduce lave-2 --prompts mine.yaml --demonstrations table_6.yaml
    --set rationale=false

Every step is a command `python -m experiments agreement`, which is printed, and then the paper's
figures beside those that were measured, with whose prompts ran. --prompts, --demonstrations and
--set reach the metric of every step. docs/evidence/reproduce.md has the figures of what was run.

A step fails that cannot be measured, or has a row without a single figure. The others run all the
same. exit codes: 0 all that has data was measured, or planned; 1 a step failed or would, or there
is no data, with a sentence for each.
"""

import argparse
import logging
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from experiments.agreement.judging_sets import read_judging
from experiments.commands.agreement import graphs, judging, table as agreement_table, votes
from experiments.labels.column_map import load_map
from experiments.labels.tables import TABLES
from experiments.reproduce.figures import measured_by, without_figures
from experiments.reproduce.steps import REPRODUCTIONS, Step
from experiments.tables import table_with
from spanreward.rewards.base.checks import check_known
from spanreward.rewards.comparison.number_text import number_text
from spanreward.rewards.files.outputs import write_json
from spanreward.rewards.judges import MatchJudge, load_judge
from spanreward.rewards.metrics import build_reward
from spanreward.rewards.reward.viewers import check_viewers
from spanreward.training.commands.metric_options import (
    JUDGE_FLAGS,
    JUDGE_PREFIX,
    OF_JUDGE,
    add_flags,
    read_arguments,
    read_options,
)

COMMAND = ("python", "-m", "experiments", "agreement")
COMMANDS = {"table": agreement_table, "judge": judging, "votes": votes, "graphs": graphs}
ELSEWHERE = (
    "prompts",
    "demonstrations",
    "pipeline",
    "coref",
)  # options that change no cost and may not be on this machine
# what a user can cause; everything else is a mistake in the code
CAUSED = (ValueError, OSError, ImportError, RuntimeError)


@dataclass(frozen=True, slots=True)
class Load:
    """What the judge of a step is asked, in all. None throughout where nobody knows how many texts
    there are.

    counted: the texts were counted in the file, and not taken from the paper. how: where the
    questions' number is from.
    """

    texts: int | None
    questions: float | None
    prompt_tokens: float | None
    written_tokens: float | None
    counted: bool
    how: str


def main() -> None:
    form = argparse.RawDescriptionHelpFormatter
    listed = "\n".join(f"  {name:11} {found.title}" for name, found in REPRODUCTIONS.items())
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=f"tables:\n{listed}", formatter_class=form
    )
    parser.add_argument("name", choices=REPRODUCTIONS, metavar="TABLE", help="one of those below")
    parser.add_argument(
        "--data", type=Path, default=Path("data"), metavar="FOLDER", help="of the judgments"
    )
    options = f"options of the metric, in place of the paper's; and {OF_JUDGE}"
    add_flags(
        parser,
        *JUDGE_FLAGS,
        judge={"help": "in place of the paper's judge"},
        options={"help": options},
    )
    parser.add_argument(
        "--prompts", metavar="PATH", help="in place of ours: the metric's option prompts"
    )
    parser.add_argument(
        "--demonstrations", metavar="PATH", help="the option demonstrations of LAVE"
    )
    parser.add_argument("--clip", type=Path, metavar="FOLDER", help="CLIP's weights, for CLIPScore")
    parser.add_argument(
        "--columns",
        action="append",
        default=[],
        metavar="TABLE=MAP.yaml",
        help="a column map in place of the table's own",
    )
    parser.add_argument(
        "--count", type=int, metavar="N", help="only the first N groups of each file (default all)"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="list steps, downloads, questions and tokens"
    )
    parser.add_argument(
        "--json", type=Path, metavar="PATH", help="write the printed numbers there too"
    )
    arguments = read_arguments(parser)
    try:
        arguments.columns = maps_of(arguments.columns, REPRODUCTIONS[arguments.name].steps)
        numbers = plan(arguments) if arguments.dry_run else run(arguments)
    except CAUSED as error:
        sys.exit(f"{parser.prog}: {error}")
    except KeyboardInterrupt:
        sys.exit(f"{parser.prog}: interrupted; the steps before are printed, and in no file.")
    write_json(arguments.json, numbers)
    if numbers["failed"]:
        failures = [f"{one['step']}: {one['reason']}" for one in numbers["failed"]]
        sys.exit(f"{parser.prog}: failed: {' '.join(failures)}")


def maps_of(given: Sequence[str], steps: Sequence[Step]) -> dict[str, str]:
    """Returns the column maps by table.

    Raises ValueError for what is no TABLE=MAP.yaml, and for another table.
    """
    maps = {}
    for one in given:
        table, sign, path = one.partition("=")
        if not sign:
            raise ValueError(
                f"--columns takes TABLE=MAP.yaml, such as {steps[0].table}=mine.yaml, got {one!r}."
            )
        check_known("table", [table], {step.table for step in steps})
        maps[table] = path
    return maps


def words_of(step: Step, arguments: argparse.Namespace) -> list[str]:
    """What follows COMMAND."""
    options = options_of(step, arguments)
    if step.command == "graphs":
        return [
            "graphs",
            str(arguments.data / step.file if step.file.endswith(".json") else arguments.data),
        ]
    words = [
        step.command,
        *([step.table] if step.command == "table" else []),
        str(arguments.data / step.file),
    ]
    if not step.judge:
        return words
    words += ["--judge", arguments.judge or step.judge]
    settings = [JUDGE_PREFIX + option for option in arguments.judge_option]
    if step.command != "judge":
        settings += options
    if settings:
        words += ["--set", *settings]
    if arguments.cache is not None:
        words.append("--cache" if arguments.cache else "--no-cache")
    if step.command == "judge":
        return [*words, *options]
    if step.table in arguments.columns:
        words += ["--columns", arguments.columns[step.table]]
    if step.metric:
        words += ["--metric", step.metric]
    if step.pictures:
        words += ["--pictures", str(arguments.data / step.pictures)]
    if arguments.clip:
        words += ["--clip", str(arguments.clip)]
    if arguments.count is not None:
        words += ["--count", str(arguments.count)]
    return words


def options_of(step: Step, arguments: argparse.Namespace) -> list[str]:
    """The step's options with those of the command line in their place. Raises ValueError for a
    step that takes none; `agreement judge` takes prompts alone.
    """
    files = {"prompts": arguments.prompts, "demonstrations": arguments.demonstrations}
    given = [*(f"{name}={path}" for name, path in files.items() if path), *arguments.options]
    if step.command == "judge" and [option.partition("=")[0] for option in given] == ["prompts"]:
        return [*step.options, "--prompts", given[0].partition("=")[2]]
    if step.command != "table" and given:
        takes = "takes --prompts alone" if step.judge else "asks no judge and takes none"
        raise ValueError(
            f"{step.table} has no metric with options: it {takes}, got {' '.join(given)}."
        )
    if arguments.demonstrations and step.metric_name not in ("lave", ""):
        raise ValueError(
            f"--demonstrations are LAVE's, and {step.table} is measured with {step.metric_name}."
        )
    named = {option.partition("=")[0] for option in given}
    return [*(option for option in step.options if option.partition("=")[0] not in named), *given]


def wording_of(step: Step, arguments: argparse.Namespace) -> str:
    """Whose prompts the judge is asked with: "ours", or the files; "-" where no judge is asked."""
    words = options_of(step, arguments)
    if step.command == "judge":
        return words[words.index("--prompts") + 1] if "--prompts" in words else "ours"
    files = dict(word.partition("=")[::2] for word in words)
    found = [files[name] for name in ("prompts", "demonstrations") if name in files]
    return ", ".join(found) or ("ours" if step.judge else "-")


def environment_of(step: Step, arguments: argparse.Namespace) -> Mapping[str, str]:
    """The variables that the authors set, for their own judge."""
    return {} if arguments.judge else step.environment


def command_of(step: Step, arguments: argparse.Namespace) -> str:
    """The whole command line."""
    variables = [f"{name}={value}" for name, value in environment_of(step, arguments).items()]
    return shlex.join([*variables, *COMMAND, *words_of(step, arguments)])


def missing(step: Step, data: Path) -> str:
    """What of the step's data is not there, "" where all is."""
    wanted = [data / step.file, *([data / step.pictures] if step.pictures else [])]
    absent = [str(path) for path in wanted if not path.exists()]
    return f"{' and '.join(absent)} not there; it is from {step.from_where}" if absent else ""


def name_of(step: Step) -> str:
    """Returns what the step is called in tables and sentences."""
    metric = step.metric_name.rpartition(":")[2]
    return ", ".join(filter(None, (step.table, metric, step.title)))


def kept_options(step: Step, arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns the metric's options without those that may not be on this machine."""
    options = read_options(options_of(step, arguments))
    return {name: value for name, value in options.items() if name not in ELSEWHERE}


def fault_of(step: Step, arguments: argparse.Namespace) -> str:
    """Returns why the step's judge cannot be asked, as far as is known before anything starts: ""
    where it can be, and where the step has no data.
    """
    if not step.judge or missing(step, arguments.data):
        return ""
    try:
        check_judge(step, arguments)
    except CAUSED as error:
        return sentence(error)
    return ""


def check_judge(step: Step, arguments: argparse.Namespace) -> None:
    """Raises ValueError for a judge that is known to read text only where it is shown pictures, and
    for one that there is not.
    """
    options = read_options(arguments.judge_option)
    judge = load_judge(arguments.judge or step.judge, arguments.cache, **options)
    if step.command == "judge" and judge.reads_text_only():
        judging.check_pictures(judge, read_judging(arguments.data / step.file))
    if step.pictures:
        check_viewers(build_reward(step.metric_name, judge, kept_options(step, arguments)))


def sentence(error: Exception) -> str:
    """Returns the error on one line that ends like a sentence."""
    text = " ".join(str(error).split()) or type(error).__name__
    return f"{text.rstrip('.')}."


def plan(arguments: argparse.Namespace) -> dict[str, Any]:
    """Print the steps with what they need, and what they ask."""
    reproduction = REPRODUCTIONS[arguments.name]
    steps = []
    failed = []
    table = Table(title=f"{arguments.name}: {reproduction.title}")
    for column in ("step", "judge", "prompts"):
        table.add_column(column)
    for column in ("texts", "questions", "prompt tokens", "written tokens"):
        table.add_column(column, justify="right")
    table.add_column("data")
    for step in reproduction.steps:
        absent = missing(step, arguments.data)
        load = load_of(step, arguments)
        numbers = [load.texts, load.questions, load.prompt_tokens, load.written_tokens]
        shown = ["-" if number is None else f"{number:,.0f}" for number in numbers]
        judge = (arguments.judge or step.judge) if step.judge else "-"
        wording = wording_of(step, arguments)
        table.add_row(name_of(step), judge, wording, *shown, "missing" if absent else "there")
        paper = {"title": step.title, "paper": dict(step.figures), "prompts": wording}
        fault = fault_of(step, arguments)
        if fault:
            failed.append({"step": name_of(step), "reason": fault})
        steps.append(
            {
                "command": command_of(step, arguments),
                "missing": absent,
                "needs": list(step.needs),
                **asdict(load),
                **paper,
            }
        )
    console = Console(width=max(Console().width, 140))
    console.print(table)
    for entry in steps:
        counted = (
            "counted in the file" if entry["counted"] else "as the paper or the dataset's page says"
        )
        known = entry["texts"] is not None
        lines = [
            f"$ {entry['command']}",
            *([f"  data: {entry['missing']}"] if entry["missing"] else []),
            *(f"  needs: {need}" for need in entry["needs"]),
            f"  texts: {counted}; questions: {entry['how']}"
            if known
            else "  texts: counted once the file is there",
        ]
        for line in lines:
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    return {"table": arguments.name, "steps": steps, "failed": failed}


def load_of(step: Step, arguments: argparse.Namespace) -> Load:
    """What the judge is asked: of the file where it is there, else as far as the paper says how
    much there is.
    """
    if step.command != "table":
        return Load(None, None, None, None, False, "")
    table = TABLES[step.table]
    texts, words, references = step.texts, step.words, float(step.references)
    data, columns = arguments.data, arguments.columns.get(step.table)
    counted = (data / step.file).is_file()
    if counted:
        samples = {
            (sample.completion, sample.references, sample.question): sample
            for record in table.read(data / step.file, load_map(columns) if columns else None)
            for sample in record.samples
        }
        texts = len(samples)
        words = sum(len(sample.completion.split()) for sample in samples.values()) / texts
        references = (
            sum(len(sample.references or sample.answers) for sample in samples.values()) / texts
        )
    kept = kept_options(step, arguments)
    cost = build_reward(step.metric_name, MatchJudge(), kept).cost(words, round(references))
    if texts is None or cost is None:
        return Load(texts, None, None, None, counted, "")
    asked, read, written = cost.questions, cost.prompt_tokens, cost.written_tokens
    return Load(texts, texts * asked, texts * read, texts * written, counted, cost.how)


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Print the tables of the steps whose data is at hand. A failed step costs no other.

    Raises FileNotFoundError where no step has data.
    """
    console = Console(width=max(Console().width, 140))
    done: list[Mapping[str, Any]] = []
    left_out = []
    failed = []
    steps = REPRODUCTIONS[arguments.name].steps
    faults = [fault_of(step, arguments) for step in steps]  # before the first one starts
    for step, fault in zip(steps, faults, strict=True):
        absent = missing(step, arguments.data)
        if absent:
            left_out.append(f"{step.table}: left out, {absent}.")
            continue
        if not fault:
            console.print(f"$ {command_of(step, arguments)}", markup=False, soft_wrap=True)
            try:
                numbers, tables = measured(step, arguments)
            except CAUSED as error:
                fault = sentence(error)
            else:
                for table in tables:
                    console.print(table)
                done.append(numbers)
                fault = lacking_figures(step, numbers)
        if fault:
            failed.append({"step": name_of(step), "reason": fault})
    if not done and not failed:
        raise FileNotFoundError(" ".join(left_out))
    for text in left_out:
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    return {"table": arguments.name, "steps": done, "left_out": left_out, "failed": failed}


def measured(step: Step, arguments: argparse.Namespace) -> tuple[dict[str, Any], list[Table]]:
    """Returns the numbers of the step, with the paper's, and its tables.

    Raises what a user can cause.
    """
    wording = wording_of(step, arguments)
    command, *words = words_of(step, arguments)
    os.environ.update(environment_of(step, arguments))
    parser = argparse.ArgumentParser()
    COMMANDS[command].add_arguments(parser)
    with without_tracebacks():
        numbers, tables = COMMANDS[command].measure(read_arguments(parser, words))
    found = measured_by(command, numbers)
    compared = {}
    for name, paper in step.figures.items():
        compared[name] = {"paper": paper, "measured": found.get(name)}
    if compared:
        tables = [*tables, beside_paper(step, compared, wording)]
    own = numbers if isinstance(numbers, dict) else {"rows": numbers}
    about = {"command": words, "title": step.title, "prompts": wording, "compared": compared}
    return {**own, **about}, tables


@contextmanager
def without_tracebacks() -> Iterator[None]:
    """Keeps quiet what a metric logs of a judge that raises: the table's notes have the reason."""
    log = logging.getLogger("spanreward.rewards")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)


def lacking_figures(step: Step, numbers: Mapping[str, Any]) -> str:
    """Returns a sentence on the rows without a single figure, and why texts have no score; "" if
    every row has one.
    """
    rows = without_figures(step.command, numbers)
    if not rows:
        return ""
    named = "; ".join(rows)
    reasons = " ".join(numbers.get("unscored", ())[:1])
    return f"no figure for {named}. {reasons}".rstrip()


def beside_paper(
    step: Step, compared: Mapping[str, Mapping[str, float | None]], wording: str
) -> Table:
    """The paper's figures and the measured ones, with whose prompts; without one where the file has
    no such part.
    """
    title = f"Beside the paper: {step.title or step.table}"
    table = table_with(title, ["figure", "prompts"], ["paper", "measured"])
    for name, both in compared.items():
        baseline = step.metric_name and " of " in name  # which asks no judge
        table.add_row(
            escape(name),
            "-" if baseline else escape(wording),
            number_text(both["paper"]),
            number_text(both["measured"]),
        )
    return table


if __name__ == "__main__":
    main()
