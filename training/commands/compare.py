"""Compare checkpoints, or files of answers, on the same held-out prompts, and say with error bars which is better.

    spanreward compare base=outputs/base sft=outputs/sft dapo=outputs/dapo \\
        --recipe recipes/quickstart/scenes-dapo.yaml --output outputs/comparison
    spanreward compare one=a.jsonl two=b.jsonl three=c.jsonl \\
        --data rows.jsonl --metric posh --judge match --output outputs/leaderboard

A model is NAME=FOLDER, or NAME=FOLDER,FOLDER,... with one folder a training seed, in the same order for every model; a
single one stands beside all seeds of the others. A folder holds a policy, or an adapter over one. In its place there
may be a hub id, or a JSONL file of answers ({"id": ..., "completion": ...}).

The recipe says which rewards and which data: what its `validation` names, else the split that is called validation,
else test (for a file: --set validation.path=PATH). Where there is none the rows are those of the training, and that is
told in red. Judges that nothing was trained on stand under `referees` in the recipe, written as its rewards are. In
place of a recipe --data names a JSONL file (`id`, and what the metric needs: `reference`, `image`, ...), --metric and
--judge who scores.

"Better" is printed where the 95 % interval over prompts and that over three training seeds or more exclude 0. The
output folder holds results.json, completions.jsonl, report.html, comparator.json (for PAIR's LLM Comparator) and
answers/, from which a second comparison reads what was written. Checks that a training run has failed, answers that are
cut or padded, and referees that contradict each other are told last, in red, and first on the page; with --strict they
make the exit code 2. docs/compare.md says what is in it all.
"""

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from training.commands.json_file import write_json
from training.commands.judge_options import add_cache_option

EXPLAINED = 12  # prompts at most
MAX_TOKENS = 128


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "models",
        nargs="+",
        metavar="NAME=FOLDER[,FOLDER...]",
        help="two or more, first the oldest; a hub id or a file of answers in place of a folder",
    )
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("--recipe", help="whose data, rewards and referees are used")
    asked.add_argument("--data", metavar="ROWS.jsonl", help="in place of a recipe, with --metric")
    parser.add_argument("--metric", help="who scores the rows of --data: posh, harmonic, lave, ...")
    parser.add_argument("--judge", default="match", help="who answers the metric's questions (default match)")
    parser.add_argument("--output", required=True, type=Path, help="folder for results.json and report.html")
    parser.add_argument("--prompts", type=int, default=256, help="how many held-out prompts (default 256)")
    parser.add_argument(
        "--max-tokens",
        type=int,
        help=f"longest completion (default: the recipe's max_completion_length, {MAX_TOKENS} where it has none)",
    )
    parser.add_argument(
        "--seeds",
        type=int,
        nargs="+",
        help="the training seeds of the folders (default 0 1 2 ...); runs of one seed in several numerical "
        "environments (`spanreward repeat`) carry the same number",
    )
    parser.add_argument(
        "--slice",
        action="append",
        default=[],
        dest="slices",
        metavar="COLUMN",
        help="compare by the values of this column of the data, too; may be repeated",
    )
    parser.add_argument(
        "--until-decided",
        metavar="METRIC",
        help="judge prompt after prompt, and stop once it is known which of the last two models is better by this "
        "metric, such as posh_f1; everything is written first",
    )
    parser.add_argument(
        "--export-blind",
        type=int,
        metavar="N",
        help="write N pairs of the last two models for people to compare, into OUTPUT/blind: see `spanreward blind`",
    )
    parser.add_argument("--strict", action="store_true", help="exit with 2 where there is something to warn of")
    parser.add_argument("--set", nargs="*", default=[], metavar="key=value", help="recipe keys to change")
    add_cache_option(parser)
    parser.add_argument(
        "--explain",
        type=int,
        default=0,
        metavar="N",
        choices=range(EXPLAINED + 1),
        help="ask the judge for its reasons, by criterion, of each model's answers to the first N prompts, "
        f"0 to {EXPLAINED} (default 0; only harmonic gives reasons)",
    )
    parser.add_argument("--title", default="Which checkpoint describes better?")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write results.json there too")
    arguments = parser.parse_args()
    if (arguments.data is None) != (arguments.metric is None):
        parser.error("--data needs --metric, and --metric goes with --data: a recipe names its own.")
    try:
        results = run(arguments)
    except (ValueError, OSError, RuntimeError) as error:  # the last one: a policy that wrote no answer
        sys.exit(f"{parser.prog}: {error}")
    except KeyboardInterrupt:
        sys.exit(f"{parser.prog}: interrupted; the same command goes on from what is in {arguments.output}/answers.")
    tell(results, arguments.output)
    if results["warnings"] and arguments.strict:
        sys.exit(2)


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Read what is compared, compare it, and return what results.json holds."""
    from rewards.judges import closing
    from training.blind.export import export
    from training.evaluation.comparison import Setup, compare
    from training.evaluation.prompts import prompts_of_file, prompts_of_recipe
    from training.evaluation.sides import read_seeds, read_sides
    from training.grpo.recorder import judges_of
    from training.recipe import RewardPart, load_recipe
    from training.run import build_rewards, readers

    sides = read_sides(arguments.models)
    seeds = read_seeds(arguments.seeds, sides)
    if arguments.prompts < 1:
        raise ValueError(f"a comparison needs a prompt or more, got --prompts {arguments.prompts}.")
    if arguments.recipe:
        recipe = load_recipe(arguments.recipe, arguments.set)
        prompts = prompts_of_recipe(recipe, load_recipe(arguments.recipe), arguments.prompts, arguments.slices)
        learned, parts = recipe.rewards, [*recipe.rewards, *recipe.referees]
        longest = recipe.trainer.get("max_completion_length", MAX_TOKENS)
        thinks = recipe.trainer.get("reasoning_end")
    else:
        prompts = prompts_of_file(arguments.data, arguments.prompts, arguments.slices)
        learned, parts = [], [RewardPart(metric=arguments.metric, judge=arguments.judge)]
        longest, thinks = MAX_TOKENS, None
    rewards = build_rewards([remembering(part, arguments.cache) for part in parts])
    read_by = readers(rewards)
    setup = Setup(
        sides=sides,
        seeds=seeds,
        prompts=prompts,
        parts=parts,
        rewards=rewards,
        learned=learned,
        readers=read_by,
        max_tokens=arguments.max_tokens or longest,
        explain=arguments.explain,
        title=arguments.title,
        facts=facts(seeds, read_by),
        until=arguments.until_decided,
        reasoning_end=thinks,
    )
    with closing(judges_of(rewards)), Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("checkpoints", total=sum(len(runs) for runs in sides.values()))
        results = compare(setup, arguments.output, lambda done: bar.update(task, advance=1, description=done))
    if arguments.export_blind is not None:
        export(arguments.output, (list(sides)[-1], list(sides)[-2]), arguments.export_blind, arguments.output / "blind")
    write_json(arguments.json, results)
    return results


def remembering(part: Any, cache: bool | None) -> Any:
    """The recipe's reward, its judge remembering as --cache says, or else as the recipe does, or else by default."""
    chosen = (part.judge.cache or None) if cache is None else cache and (part.judge.cache or True)
    return part.model_copy(update={"judge": part.judge.model_copy(update={"cache": chosen})})


def facts(seeds: list[int], read_by: dict[str, str]) -> dict[str, str]:
    """The foot of the page: what made it."""
    from training.run_folder import git_state, machine, versions

    state = git_state(Path(__file__))
    return {
        "command": shlex.join(["python", *sys.argv]),
        "commit": "unknown" if state is None else state["commit"] + (" (with changes)" if state["dirty"] else ""),
        "seeds": ", ".join(map(str, seeds)),
        "machine": machine(),
        **{f"texts of {name} read by": reader for name, reader in read_by.items()},
        **versions(),
    }


def tell(results: dict[str, Any], output: Path) -> None:
    """Tables, a sentence on every pair, where the files are, and last, in red, what there is to warn of."""
    from training.evaluation.tables import tables_of

    console = Console(soft_wrap=True)
    for table in tables_of(results):
        Console(width=max(Console().width, 110)).print(table)
    for said in results["sentences"].values():
        console.print(said, style="bold", markup=False, highlight=False)
    for note in results["notes"]:
        console.print(f"Note: {note}", style="yellow", markup=False, highlight=False)
    print(f"Numbers: {output / 'results.json'}")
    print(f"Report:  {output / 'report.html'}")
    if (output / "blind").is_dir():
        print(f"People:  {output / 'blind'} (the key, not to be handed out: {output / 'blind.key.json'})")
    for warning in results["warnings"]:
        console.print(f"WARNING: {warning}", style="bold red", markup=False, highlight=False)


if __name__ == "__main__":
    main()
