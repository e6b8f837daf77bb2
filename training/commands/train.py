"""Train a policy as a recipe says.

    # copy a recipe to start from, and see what would run
    spanreward recipes recipes/qwen2.5-vl-3b-lora/docent-posh-dapo.yaml
    spanreward train recipes/qwen2.5-vl-3b-lora/docent-posh-dapo.yaml --dry-run
    # train on one GPU, with other settings
    spanreward train RECIPE --set seed=1 output=outputs/try trainer.learning_rate=2e-4
    # on four GPUs (fsdp2, zero2, zero3: each file says when to take it)
    accelerate launch --config_file accelerate_configs/ddp.yaml --num_processes 4 \\
        -m spanreward train RECIPE
    # after an interruption
    spanreward train outputs/try/recipe.yaml --resume

docs/recipes.md lists the keys of a recipe. `rewards` are what the policy is trained on, `referees`
held-out metrics that only compare it.

The output folder gets the trained policy, recipe.yaml (as run), versions.json, metrics.jsonl,
verdicts.jsonl (every completion with its verdicts; --set verdicts=false leaves it out), spans/
(pages of coloured completions), and checkpoint-STEP/ as trainer.save_strategy and save_steps say. A
policy or judge with a hub id, and data with `source: hub`, are downloaded at their first use
(HF_HUB_OFFLINE=1: never).

exit codes: 0 trained, or planned; 1 not possible as asked or (with --dry-run) on this machine, or
stopped, with one sentence that says why; 143 ended by SIGTERM, 130 by Ctrl-C (accelerate launch
turns them into 1).

SIGTERM and Ctrl-C write a checkpoint at the end of the step and end the judges and every rank. A
second one, 5 s later, ends the run at once. accelerate launch with one process does not pass
SIGTERM on: send it to the training itself.
"""

import argparse
import signal
import sys
from typing import Any

from spanreward.rewards.base.terminal import exit_with_message, leave_interrupted, printable_text
from spanreward.training.commands.metric_options import (
    OF_RUN,
    add_flags,
    add_words,
    overrides_of,
    read_arguments,
)
from spanreward.training.recipe_file import RecipeError


def main() -> None:
    """Runs `spanreward train` with the words in sys.argv."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_arguments(parser)
    arguments = read_arguments(parser)
    if not arguments.dry_run and (arguments.json or arguments.accelerate_config):
        parser.error(
            "--json and --accelerate-config go with --dry-run; a run is launched with accelerate "
            "launch."
        )

    from spanreward.training.recipe import load_recipe

    try:
        # read the recipe before the slow imports, so that typos are found at once
        recipe = load_recipe(arguments.recipe, overrides_of(arguments))
        # refuse --stop-on, print the plan of --dry-run, or train
        if arguments.stop_on and recipe.algorithm == "sft":
            raise RecipeError("--stop-on watches rewards, and an sft run asks none: leave it out.")
        if arguments.dry_run:
            from spanreward.training.plan.dry_run import dry_run  # slow: torch

            dry_run(recipe, arguments.accelerate_config, arguments.json)
            return
        train_and_report(recipe, arguments.resume, arguments.stop_on, parser.prog)
    except RecipeError as error:
        exit_with_message(f"{parser.prog}: {error}")
    except KeyboardInterrupt:
        leave_interrupted(
            f"{parser.prog}: interrupted; the judges are closed, and what was logged is in the "
            "output folder."
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `spanreward train` to its parser."""
    from spanreward.training.callbacks import PROBLEMS

    parser.add_argument(
        "recipe",
        help="a YAML file: see `spanreward recipes`, or the recipe.yaml of an output folder",
    )
    # the help texts of these flags differ from those in other commands
    changes = {**OF_RUN, "json": {"help": "with --dry-run: write the same numbers there"}}
    add_flags(parser, "options", "output", "overwrite", "limit", "json", **changes)
    resume = (
        "go on from the last checkpoint in the output folder, with the same recipe and "
        "number of processes"
    )
    parser.add_argument("--resume", action="store_true", help=resume)
    problems = "; ".join(f"{name} ({meaning})" for name, meaning in PROBLEMS.items())
    stop_on = (
        "save the policy and end the run at the first of these problems; the log warns of "
        f"all: {problems}"
    )
    parser.add_argument(
        "--stop-on",
        nargs="+",
        action="extend",
        default=[],
        choices=PROBLEMS,
        metavar="PROBLEM",
        help=stop_on,
    )
    add_plan_arguments(parser)
    add_words(parser)


def add_plan_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags that print what a run would do, without running it."""
    plan = (
        "print what is missing here and what would run (models, judges, memory, steps, "
        "questions, data)"
    )
    parser.add_argument("--dry-run", action="store_true", help=f"{plan}; no model is loaded")
    config = "with --dry-run: the configuration that you would launch with (default: one process)"
    parser.add_argument("--accelerate-config", metavar="PATH", help=config)


def train_and_report(recipe: Any, resume: bool, stop_on: list[str], program: str) -> None:
    """Trains, and prints the end of the run: the output folder, a problem or a signal. Exits with
    the exit code that the help states.

    recipe: a Recipe. resume: whether to go on from the last checkpoint. stop_on: the problems that
    end the run. program: the beginning of messages, such as "spanreward train".
    """
    from accelerate import PartialState

    from spanreward.training.callbacks.stop_on_signal import StopOnSignal
    from spanreward.training.grpo.trainer import JudgeFailure, NothingScored
    from spanreward.training.ranks.groups import MixedGroup
    from spanreward.training.run import Unhealthy, run

    # from now on, a signal ends the run after the current step, with a checkpoint
    stop = StopOnSignal()
    for stopping_signal in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stopping_signal, stop.receive)
    try:
        output = run(recipe, resume, stop, stop_on)
    except (JudgeFailure, MixedGroup, NothingScored, Unhealthy) as error:  # on all ranks alike
        print_once(printable_text(f"{program}: training stopped: {error}"))
        PartialState().wait_for_everyone()  # when a rank ends, the launcher kills the other ranks
        sys.exit(1)
    if stop.stopped_at is not None:  # a signal ended the run after this step
        print_once(
            f"{program}: ended by {stop.signal.name}: {output}/checkpoint-{stop.stopped_at} is "
            f"written. To go on: {program} {output}/recipe.yaml --resume"
        )
        sys.exit(128 + stop.signal)  # the exit code that shells use for a signal
    if PartialState().is_main_process:
        print(f"The policy and its metrics are in {output}")


def print_once(message: str) -> None:
    """Prints a message to standard error. Of several training processes, only one prints it."""
    from accelerate import PartialState

    if PartialState().is_main_process:
        print(message, file=sys.stderr, flush=True)
