"""Compare checkpoints on the same held-out prompts, with greedy decoding, and say with error bars which is better.

    spanreward compare base=outputs/base sft=outputs/sft dapo=outputs/dapo \\
        --recipe recipes/quickstart/scenes-dapo.yaml --output outputs/comparison

A model is NAME=FOLDER, or NAME=FOLDER,FOLDER,... with one folder a training seed, in the same order for every model. In
place of a folder there may be a hub id, or a JSONL file of answers ({"id": ..., "completion": ...}). The recipe says
which rewards and which data: what its `validation` names, else the split that is called validation, else test (for a
file: --set validation.path=PATH). Where there is none the rows are those of the training, and that is told in red.

The output folder then holds results.json (means, paired bootstrap 95 % intervals of the differences over prompts,
intervals over three training seeds or more, win/tie/loss), completions.jsonl and report.html. Checks that a training
run has failed, and answers that are cut or padded, are told last, in red, and first on the page; with --strict they
make the exit code 2.
"""

import argparse
import json
import platform
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from training.commands.judge_options import add_cache_option

CURVES = ("loss", "reward", "posh/precision", "posh/recall", "completions/mean_length", "entropy")
EXAMPLES = 12
MAX_TOKENS = 128
HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
LOOKS = 0.05  # the share of answers that look wrong from which a reader is warned


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "models",
        nargs="+",
        metavar="NAME=FOLDER[,FOLDER...]",
        help="two or more, first the oldest; a hub id or a file of answers in place of a folder",
    )
    parser.add_argument("--recipe", required=True, help="whose data and rewards are used")
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
    parser.add_argument("--strict", action="store_true", help="exit with 2 where there is something to warn of")
    parser.add_argument("--set", nargs="*", default=[], metavar="key=value", help="recipe keys to change")
    add_cache_option(parser)
    parser.add_argument(
        "--explain",
        type=int,
        default=0,
        metavar="N",
        choices=range(EXAMPLES + 1),
        help="ask the judge for its reasons, by criterion, of each model's first N completions in the report, "
        f"0 to {EXAMPLES} (default 0; only harmonic gives reasons)",
    )
    parser.add_argument("--title", default="Which checkpoint describes better?")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write results.json there too")
    arguments = parser.parse_args()

    from training.evaluation.evaluate import held_out
    from training.evaluation.held_out import held_out_data
    from training.recipe import load_recipe

    try:
        checkpoints = read_models(arguments.models)
        seeds = read_seeds(arguments.seeds, checkpoints)
        recipe = load_recipe(arguments.recipe, arguments.set)
        data, told = held_out_data(recipe, load_recipe(arguments.recipe))
        results = compare(arguments, checkpoints, seeds, recipe, held_out(data, arguments.prompts), told)
        if arguments.json:
            arguments.json.parent.mkdir(parents=True, exist_ok=True)
            arguments.json.write_text(json.dumps(results, indent=2) + "\n")
    except (ValueError, OSError) as error:
        sys.exit(f"{parser.prog}: {error}")
    for table in tables_of(results):
        Console(width=max(Console().width, 110)).print(table)
    print(f"Numbers: {arguments.output / 'results.json'}")
    print(f"Report:  {arguments.output / 'report.html'}")
    for warning in results["warnings"]:
        Console(soft_wrap=True).print(f"WARNING: {warning}", style="bold red", markup=False, highlight=False)
    if results["warnings"] and arguments.strict:
        sys.exit(2)


def read_models(specs: list[str]) -> dict[str, list[str]]:
    """{name: folders, hub ids or files}. Raises ValueError for fewer than two models, unequal seeds, or one that is not
    there.
    """
    checkpoints: dict[str, list[str]] = {}
    for spec in specs:
        name, _, folders = spec.partition("=")
        if not (name and folders):
            raise ValueError(f"a model is written NAME=FOLDER, got {spec!r}.")
        if name in checkpoints:
            raise ValueError(f"two models are called {name!r}: give them different names.")
        checkpoints[name] = folders.split(",")
    if len(checkpoints) < 2:
        raise ValueError(f"a comparison needs two models or more, got {specs}.")
    seeds = {name: len(paths) for name, paths in checkpoints.items()}
    if len(set(seeds.values())) > 1:
        raise ValueError(f"every model needs as many folders (training seeds) as the others, got {seeds}.")
    for name, paths in checkpoints.items():
        for path in paths:
            check_model(name, path)
    return checkpoints


def check_model(name: str, path: str) -> None:
    """Raises ValueError for what is neither a folder with a policy, nor a file of answers, nor a model of the hub."""
    from training.evaluation.given_answers import is_answers

    if (Path(path) / "config.json").is_file() or (is_answers(path) and Path(path).is_file()):
        return
    if Path(path).exists():
        raise ValueError(f"model {name!r}: {path!r} is not a folder with a trained policy (no config.json).")
    if is_answers(path) or not HUB_ID.fullmatch(path) or not on_hub(path):
        raise ValueError(
            f"model {name!r}: {path!r} is no folder, no file of answers (.jsonl), and no model that the hub has."
        )


def on_hub(model: str) -> bool:
    """Whether the hub, or the local cache of it, has a model of this id."""
    from transformers import AutoConfig

    try:
        AutoConfig.from_pretrained(model)
    except (OSError, ValueError):
        return False
    return True


def read_seeds(seeds: list[int] | None, checkpoints: dict[str, list[str]]) -> list[int]:
    """The training seed of each folder. Raises ValueError when there are more or fewer."""
    (count,) = {len(paths) for paths in checkpoints.values()}
    if seeds is not None and len(seeds) != count:
        raise ValueError(f"every model has {count} folders, and --seeds names {len(seeds)}: {seeds}.")
    return list(range(count)) if seeds is None else seeds


def compare(
    arguments: argparse.Namespace,
    checkpoints: dict[str, list[str]],
    seeds: list[int],
    recipe: Any,
    data: Any,
    told: list[str],
) -> dict[str, Any]:
    """Evaluate on `data`, write the three files into the output folder, and return what results.json holds.

    told: what a reader must know of the data.
    """
    from rewards.judges import closing
    from training.evaluation.evaluate import evaluate
    from training.evaluation.report import ShownPrompt, write_report
    from training.evaluation.statistics import summarise_models
    from training.grpo.recorder import judges_of
    from training.run import build_rewards, readers
    from training.run_folder import versions

    max_tokens = arguments.max_tokens or recipe.trainer.get("max_completion_length", MAX_TOKENS)
    count = sum(len(paths) for paths in checkpoints.values())
    rewards = build_rewards([remembering(part, arguments.cache) for part in recipe.rewards])
    read_by = readers(rewards)
    with closing(judges_of(rewards)), Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("checkpoints", total=count)
        evaluation = evaluate(
            checkpoints,
            data,
            rewards,
            max_tokens,
            progress=lambda done: bar.update(task, advance=1, description=done),
            explain=arguments.explain,
        )
    results = summarise_models(evaluation.scores, seeds=seeds)
    results["data"] = data.model_dump()
    results["max_tokens"] = max_tokens
    results["readers"] = read_by
    results["warnings"] = told + warnings(checkpoints, seeds, results)
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "results.json").write_text(json.dumps(results, indent=2) + "\n")
    write_completions(arguments.output / "completions.jsonl", evaluation, seeds)
    examples = [
        ShownPrompt(
            image=row["image"],
            prompt=row["prompt"][0]["content"],
            references=tuple(row.get("reference") or row.get("answers") or ()),
            answers={model: of_seeds[0][number] for model, of_seeds in evaluation.answers.items()},
        )
        for number, row in enumerate(evaluation.rows[:EXAMPLES])
    ]
    facts = {
        "command": shlex.join(["python", *sys.argv]),
        "commit": commit(),
        "seeds": ", ".join(map(str, seeds)),
        "examples": f"the first {len(examples)} held-out prompts, seed {seeds[0]}; none was chosen",
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        **{f"texts of {name} read by": reader for name, reader in read_by.items()},
        **versions(),
    }
    curves = {
        model: [read_curves(Path(path), seed) for path, seed in zip(paths, seeds, strict=True)]
        for model, paths in checkpoints.items()
    }
    page = arguments.output / "report.html"
    write_report(page, arguments.title, results, curves, examples, facts, results["warnings"])
    return results


def warnings(checkpoints: dict[str, list[str]], seeds: list[int], results: dict[str, Any]) -> list[str]:
    """What a reader must know before any number: checks that a run has failed, answers that are cut or padded."""
    from training.run_checks import failed_checks

    told = [
        f"{model}, seed {seed}: the check {check.name} of its training failed: {check.found}, wanted {check.wanted}"
        for model, folders in checkpoints.items()
        for seed, folder in zip(seeds, folders, strict=True)
        for check in failed_checks(folder)
    ]
    looks = {"truncated": "cut at the maximal length", "degenerate": "padded with words that say nothing"}
    for metric, what in looks.items():
        for model, table in results["models"].items():
            for seed, share in zip(seeds, table[metric]["per_seed"], strict=True):
                if share is not None and share > LOOKS:
                    told.append(f"{model}, seed {seed}: {share:.0%} of its answers here are {what}")
    return told


def remembering(part: Any, cache: bool | None) -> Any:
    """The recipe's reward, its judge remembering as --cache says, or else as the recipe does, or else by default."""
    chosen = (part.judge.cache or None) if cache is None else cache and (part.judge.cache or True)
    return part.model_copy(update={"judge": part.judge.model_copy(update={"cache": chosen})})


def write_completions(path: Path, evaluation: Any, seeds: list[int]) -> None:
    """One line per model, seed and prompt: the completion, its scores, the first reward's verdict, the referee's wrong
    characters and the judge's reasons.
    """
    from rewards.scoring import to_json

    with path.open("w", encoding="utf-8") as file:
        for model, of_seeds in evaluation.answers.items():
            for seed, answers in zip(seeds, of_seeds, strict=True):
                for row, answer in zip(evaluation.rows, answers, strict=True):
                    line = {"model": model, "seed": seed, "id": row["id"], "completion": answer.text}
                    line |= {"scores": answer.scores, "wrong": answer.wrong, "verdict": to_json(answer.verdict)}
                    line |= {"reasons": answer.reasons}
                    file.write(json.dumps(line) + "\n")


def read_curves(folder: Path, seed: int) -> dict[str, Any]:
    """The metrics.jsonl of a training run as columns; only the step when there is none."""
    path = folder / "metrics.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []
    lines = [line for line in lines if "loss" in line]
    columns = {name: [line[name] for line in lines] for name in CURVES if lines and all(name in li for li in lines)}
    return {"seed": seed, "step": [line["step"] for line in lines], **columns}


def tables_of(results: dict[str, Any]) -> list[Table]:
    """The models' means, and every paired difference, each with its interval."""
    of_runs = "; {over runs}" if len(set(results["seeds"])) >= 3 else ""
    what = f"{results['prompts']} held-out prompts, seeds {results['seeds']}: mean [95 % over prompts{of_runs}]"
    tables = []
    for title, columns in (("Models", results["models"]), ("Paired differences", results["difference"])):
        table = Table(title=f"{title}, {what}")
        table.add_column("metric", no_wrap=True)
        for name in columns:
            table.add_column(name.replace("_minus_", " \N{MINUS SIGN} "), no_wrap=True)
        for metric in next(iter(results["models"].values())):
            table.add_row(metric, *(cell(columns[name][metric]) for name in columns))
        table.caption = "; ".join(f"{name} read by {reader}" for name, reader in results["readers"].items())
        tables.append(table)
    return tables


def cell(entry: dict[str, Any]) -> str:
    if entry["mean"] is None or entry["low"] is None:
        return "-" if entry["mean"] is None else f"{entry['mean']:.3f}"
    over_runs = f" {{{entry['runs_low']:.3f}, {entry['runs_high']:.3f}}}" if entry["runs_low"] is not None else ""
    return f"{entry['mean']:.3f} [{entry['low']:.3f}, {entry['high']:.3f}]{over_runs}"


def commit() -> str:
    """The git commit of this file's folder, or "unknown" outside a repository."""
    try:
        answer = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:  # no git
        return "unknown"
    return answer.stdout.strip() or "unknown"


if __name__ == "__main__":
    main()
