"""Train a policy as a recipe says.

    accelerate launch --config_file accelerate_configs/cpu.yaml scripts/train.py RECIPE [key=value ...]

    see what would run:   spanreward train RECIPE --dry-run --accelerate-config accelerate_configs/zero3.yaml
    change the recipe:    ... RECIPE seed=1 output=outputs/try trainer.learning_rate=2e-4 rewards.0.judge=vllm:MODEL
    on your GPUs:         accelerate launch --config_file accelerate_configs/ddp.yaml --num_processes 4 scripts/train.py
                          ... (or fsdp2, zero2, zero3: each file says when to take it)
    after interruptions:  ... scripts/train.py outputs/try/recipe.yaml --resume

The output folder then holds the policy, recipe.yaml (as run), metrics.jsonl, verdicts.jsonl (every completion and what
the judges said; verdicts=false leaves it out), versions.json (git commit and seeds too), checkpoints as
trainer.save_strategy and save_steps say, and check.json where the recipe says what must hold after the run; a check
that fails is printed last, in red, and with --strict makes the exit code 2. A policy or judge with a hub id, and data
with `source: hub`, are downloaded at their first use (HF_HUB_OFFLINE=1: never).

exit codes: 0 trained; 1 not possible as asked, or stopped, with one sentence; 2 trained, with a failed check and
--strict; 143 ended by SIGTERM (of each rank:
accelerate launch makes 1 of it). SIGTERM writes a checkpoint at the end of the step, ends the judges and leaves, on
every rank; a second one leaves at once. Sent to accelerate launch with one process it does not arrive: send it to the
script's own process.
"""

import argparse
import signal
import sys
from typing import Any


def main() -> None:
    from training.callbacks.problems import PROBLEMS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", help="a YAML file, see the folder recipes/, or the recipe.yaml of an output folder")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="dotted recipe keys, such as seed=1")
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on from the last checkpoint in the output folder, with the same recipe and number of processes",
    )
    parser.add_argument(
        "--stop-on",
        nargs="+",
        default=[],
        choices=PROBLEMS,
        metavar="PROBLEM",
        help="end the run, its policy saved, at the first of these, all of which are told in the log anyway: "
        + "; ".join(f"{name} ({meaning})" for name, meaning in PROBLEMS.items()),
    )
    parser.add_argument("--strict", action="store_true", help="exit with 2 where a check of the recipe does not hold")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print what would run (models, judges, memory, steps, questions, data) and stop; nothing is loaded",
    )
    parser.add_argument("--json", metavar="PATH", help="with --dry-run: write the same numbers there")
    parser.add_argument(
        "--accelerate-config",
        metavar="PATH",
        help="with --dry-run: the configuration that you would launch with (default: one process)",
    )
    arguments = parser.parse_intermixed_args()
    if not arguments.dry_run and (arguments.json or arguments.accelerate_config):
        parser.error("--json and --accelerate-config go with --dry-run; a run is launched with accelerate launch.")

    from training.recipe import RecipeError, load_recipe

    try:
        recipe = load_recipe(arguments.recipe, arguments.overrides)  # before the slow imports: typos show at once
        if arguments.dry_run:
            from training.plan.dry_run import dry_run

            dry_run(recipe, arguments.accelerate_config, arguments.json)
            return
        train(recipe, arguments.resume, arguments.stop_on, arguments.strict, parser.prog)
    except RecipeError as error:
        sys.exit(f"{parser.prog}: {error}")
    except KeyboardInterrupt:
        sys.exit(f"{parser.prog}: interrupted; the judges are closed, and what was logged is in the output folder.")


def train(recipe: Any, resume: bool, stop_on: list[str], strict: bool, program: str) -> None:
    from accelerate import PartialState

    from training.callbacks.stop_on_signal import EXIT_CODE, StopOnSignal
    from training.grpo.trainer import JudgeFailure
    from training.run import Unhealthy, run
    from training.run_checks import check_run, print_checks
    from training.run_folder import out_of_disk

    stop = StopOnSignal()
    signal.signal(signal.SIGTERM, stop.receive)
    try:
        output = run(recipe, resume, stop, stop_on)
    except (JudgeFailure, Unhealthy) as error:  # on all ranks alike
        state = PartialState()
        if state.is_main_process:
            print(f"{program}: training stopped: {error}", file=sys.stderr, flush=True)
        state.wait_for_everyone()  # the first rank that ends is the end of the others
        sys.exit(1)
    except Exception as error:
        if not out_of_disk(error):
            raise
        sys.exit(
            f"{program}: there is no room left to write {recipe.output} ({error}): make some, and go on from the last "
            "whole checkpoint with --resume (trainer.save_total_limit=2 keeps only the newest ones)."
        )
    if PartialState().is_main_process:
        if stop.stopped_at is None:
            results = check_run(output, recipe)
            print(f"The policy and its metrics are in {output}")
            print_checks(results)
            if strict and any(result.passed is False for result in results):
                sys.exit(2)
        else:
            print(
                f"{program}: ended by SIGTERM: {output}/checkpoint-{stop.stopped_at} is written. To go on: "
                f"{program} {output}/recipe.yaml --resume",
                file=sys.stderr,
                flush=True,
            )
    if stop.stopped_at is not None:
        sys.exit(EXIT_CODE)


if __name__ == "__main__":
    main()
