"""Train a policy as a recipe says.

    accelerate launch --config_file accelerate_configs/cpu.yaml scripts/train.py RECIPE [key=value ...]
    ... scripts/train.py recipes/quickstart/scenes-dapo.yaml seed=1 output=outputs/try trainer.learning_rate=2e-4

The output folder then holds the policy, recipe.yaml (as run), metrics.jsonl, versions.json, and check.json where the
recipe says what must hold after the run; a check that fails is shown, and leaves the exit code 0. A policy or judge
with a hub id, and data with `source: hub`, are downloaded at their first use (HF_HUB_OFFLINE=1: never).
"""

import argparse
import signal
import sys


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", help="a YAML file, see the folder recipes/")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="dotted recipe keys, such as seed=1")
    arguments = parser.parse_args()

    from training.recipe import RecipeError, load_recipe

    try:
        recipe = load_recipe(arguments.recipe, arguments.overrides)  # before the slow imports: typos show at once
        from accelerate import PartialState

        from training.check import check_run, print_checks
        from training.run import run
        from training.trainer import JudgeFailure

        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # so that the judges are closed
        try:
            output = run(recipe)
        except JudgeFailure as error:  # on all ranks alike
            state = PartialState()
            if state.is_main_process:
                print(f"train.py: training stopped: {error}", file=sys.stderr, flush=True)
            state.wait_for_everyone()  # the first rank that ends is the end of the others
            sys.exit(1)
    except RecipeError as error:
        sys.exit(f"train.py: {error}")
    except KeyboardInterrupt:
        sys.exit("train.py: interrupted; the judges are closed, and what was logged is in the output folder.")
    if PartialState().is_main_process:
        print_checks(check_run(output, recipe))
    print(f"The policy and its metrics are in {output}")


if __name__ == "__main__":
    main()
