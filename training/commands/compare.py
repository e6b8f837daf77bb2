"""Compare checkpoints, or files of answers, on the same held-out prompts, and say with error bars
which is better.

    spanreward compare base=outputs/base sft=outputs/sft dapo=outputs/dapo \\
        --recipe recipes/quickstart/scenes-dapo.yaml --output outputs/comparison
    spanreward compare one=a.jsonl two=b.jsonl three=c.jsonl --data rows.jsonl \\
        --metric posh --metric lave --judge vllm:MODEL --set posh.mode=published --output board

A model is NAME=FOLDER, or NAME=FOLDER,FOLDER,... with a folder per training seed, in the same order
for every model; a single folder stands beside all seeds of the others. A folder holds a policy, or
an adapter over one. A hub id, or a file of answers, JSONL ({"id": ..., "completion": ...}) or
another table, may take its place.

The recipe gives rewards, held-out metrics (its key `referees`) and data. Without one, --data names
rows as `spanreward score` reads them (id, and what the metrics need, such as reference), and
--metric and --judge (match, without one) the scores.

The output folder holds report.html, results.json, completions.jsonl, and answers/, which the next
comparison reads in place of sampling again. Another comparison there needs --overwrite. Warnings
are printed last, in red, and first on the page; with --strict they make the exit code 2.
docs/compare.md explains which rows are taken, and when "better" is said.
"""

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanreward.rewards.base.checks import unknown_name_message
from spanreward.rewards.base.terminal import Terminal, exit_with_message, leave_interrupted
from spanreward.rewards.files.outputs import settle_settings, write_json
from spanreward.training.commands import metric_options

if TYPE_CHECKING:
    from spanreward.rewards.reward.reward import Reward
    from spanreward.training.evaluation.answer_scores.evaluate import Evaluation
    from spanreward.training.evaluation.answers.prompts import Prompts
    from spanreward.training.evaluation.answers.setup import Setup
    from spanreward.training.evaluation.statistics.comparison import Comparison
    from spanreward.training.recipe import Recipe, RewardPart

DEFAULT_MAX_TOKENS = 128
DEFAULT_PROMPTS = 256
DATA_FLAGS = {  # {flag: name of its argument} of flags that go with --data and not with --recipe
    "--metric": "metric",
    "--judge": "judge",
    "--set judge.KEY": "judge_option",
    "--columns": "columns",
}
COMPARE_OPTIONS = (
    "keys of the recipe; with --data options of the metrics, mode=published for all, "
    f"posh.mode=published for one; and {metric_options.OF_JUDGE}"
)
OUTPUT_FILES = ("results.json", "completions.jsonl", "report.html")  # written at the end


def main() -> None:
    """Runs `spanreward compare` with the words in sys.argv."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_arguments(parser)
    arguments = metric_options.read_arguments(parser)
    check_flags(parser, arguments)
    try:
        comparison = run_comparison(arguments)
    except (ValueError, OSError, RuntimeError) as error:
        # RuntimeError: a policy that wrote no answer
        exit_with_message(f"{parser.prog}: {error}")
    except KeyboardInterrupt:
        leave_interrupted(
            f"{parser.prog}: interrupted; the same command goes on from what is in "
            f"{arguments.output}/answers."
        )
    if not arguments.quiet:
        print_comparison(comparison, arguments.output)
    # the warnings are printed last, so that they are not scrolled off the screen
    print_warnings(comparison)
    if comparison.warnings and arguments.strict:
        sys.exit(2)


def check_flags(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """Ends the process with a message for flags that cannot be given together: --data without
    --metric, and --recipe with a flag that goes only with --data (DATA_FLAGS, such as --metric).

    The parser has already asked for exactly one of --data and --recipe. Also refuses `--metric
    posh,lave`, which argparse reads as the name of a single metric.
    """
    if any("," in name for name in arguments.metric):
        names = ",".join(arguments.metric).split(",")
        repeated = " ".join(f"--metric {name}" for name in names)
        parser.error(f"--metric takes one metric, and may be repeated: write {repeated}.")
    if arguments.data and not arguments.metric:
        parser.error(
            "--data needs --metric, and --metric goes with --data: a recipe names its own."
        )
    values = vars(arguments)
    data_flags = []  # the flags of DATA_FLAGS that were given
    for flag, name in DATA_FLAGS.items():
        if values[name]:
            data_flags.append(flag)
    if arguments.recipe and data_flags:
        parser.error(
            f"{' and '.join(data_flags)} goes with --data: a recipe names its own; "
            "--set rewards.0.judge=NAME changes one."
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `spanreward compare` to its parser."""
    parser.add_argument(
        "models",
        nargs="*",
        metavar="NAME=FOLDER[,FOLDER...]",
        help="two or more, the oldest first (see above)",
    )
    prompts_from = parser.add_mutually_exclusive_group(required=True)
    prompts_from.add_argument("--recipe", help="whose data, rewards and held-out metrics are used")
    prompts_from.add_argument("--data", metavar="ROWS", help="in place of a recipe, with --metric")
    parser.add_argument(
        "--metric",
        action="append",
        default=[],
        help="who scores the rows of --data: posh, lave, ...; may be repeated",
    )
    metric_options.add_flags(
        parser,
        *metric_options.ALL_FLAGS,
        "quiet",
        limit={
            "default": DEFAULT_PROMPTS,
            "help": f"the first N held-out prompts only (default {DEFAULT_PROMPTS})",
        },
        output={"required": True, "help": "folder for results.json and report.html"},
        overwrite={"help": "replace another comparison in the output folder, but for answers/"},
        json={"help": "write results.json there too"},
        options={"help": COMPARE_OPTIONS},
    )
    # the older name of --limit
    parser.add_argument(
        "--prompts",
        action=metric_options.Once,
        type=int,
        dest="limit",
        default=DEFAULT_PROMPTS,
        help=argparse.SUPPRESS,
    )
    add_run_arguments(parser)
    add_statistics_arguments(parser)


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags for the answers of policies: how long the answers may be, and which training
    seed each folder has.
    """
    longest = (
        f"longest completion (default: the recipe's max_completion_length, {DEFAULT_MAX_TOKENS} "
        "where it has none)"
    )
    parser.add_argument("--max-tokens", type=int, help=longest)
    seeds = (
        "the training seeds of the folders (default 0 1 2 ...); runs of one seed in several "
        "numerical environments (`python -m experiments repeat`) carry the same number"
    )
    parser.add_argument("--seeds", type=int, nargs="+", action="extend", help=seeds)


def add_statistics_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags for the tables and intervals, for warnings, and for the title of the page."""
    columns = "also compare by the values of this column of the data; may be repeated"
    parser.add_argument(
        "--slice", action="append", default=[], dest="slices", metavar="COLUMN", help=columns
    )
    cluster = (
        "rows with the same value in this column of the data are drawn together (default: "
        "those with one picture)"
    )
    parser.add_argument("--cluster", default="", metavar="COLUMN", help=cluster)
    fixed = (
        "the models are fixed systems, not samples of what training gives: verdicts are over "
        "prompts alone (default where all are files of answers)"
    )
    parser.add_argument("--fixed", action=argparse.BooleanOptionalAction, default=None, help=fixed)
    parser.add_argument(
        "--strict", action="store_true", help="exit with 2 where there is something to warn of"
    )
    parser.add_argument(
        "--title", default="Which model is better?", help="of the page (default: %(default)s)"
    )


def run_comparison(arguments: argparse.Namespace) -> "Comparison":
    """Reads the models' answers and the rows, compares the models, and writes the output files.

    Raises ValueError, OSError and RuntimeError, each with one sentence, for a comparison that
    cannot be made. What can be refused without a model is refused before the output folder is made.
    """
    setup = setup_of(arguments)

    # these imports are slow, and come after `setup_of`, which refuses faulty arguments
    from spanreward.rewards.judges import closing
    from spanreward.rewards.reward.reward import judges_of
    from spanreward.training.evaluation.answer_scores.evaluate import (
        answers_in_files,
        check_rewards,
        decided_by,
        evaluate_sides,
    )
    from spanreward.training.evaluation.statistics.comparison import summarise_comparison
    from spanreward.training.garbage import gc_skips_loaded_objects

    check_output_files(arguments, setup)
    check_rewards(setup.rewards, setup.prompts.rows)
    in_files = answers_in_files(setup)
    output = arguments.output
    is_finished = any((output / name).exists() for name in OUTPUT_FILES)
    # If the folder has the files of another comparison, `settle_settings` refuses this comparison,
    # unless the user gives --overwrite.
    to_keep = output if is_finished and not arguments.overwrite else None
    settle_settings(output / "comparison.settings.json", decided_by(setup), to_keep)
    # the garbage collector skips all objects that are loaded by now, which saves time
    with closing(judges_of(setup.rewards)), gc_skips_loaded_objects():
        evaluation = evaluate_sides(setup, output / "answers", in_files)
    # the statistics and the files need no model any more
    comparison = summarise_comparison(setup, evaluation)
    write_outputs(arguments, comparison, evaluation)
    return comparison


def check_output_files(arguments: argparse.Namespace, setup: "Setup") -> None:
    """Raises ValueError if an output file is an input, such as a file of answers. Also raises
    ValueError if --json names a file of another command.
    """
    runs = chain(*setup.sides.values())
    inputs = [arguments.recipe, arguments.data, *arguments.metric, *map(Path, runs)]
    files = [arguments.output / name for name in OUTPUT_FILES]
    # --json may name the folder's own results.json
    outputs = [path for path in (arguments.output, *files) if path != arguments.json]
    # a results.json has these two keys, with any schema and with the same sides
    metric_options.check_files(arguments, outputs, inputs, schema=None, sides=setup.sides)


def write_outputs(
    arguments: argparse.Namespace, comparison: "Comparison", evaluation: "Evaluation"
) -> None:
    """Writes the numbers, the completions and the page of a comparison to the output folder. The
    numbers are written to the file of --json too.
    """
    from spanreward.training.evaluation.page.report import write_report
    from spanreward.training.evaluation.page.results import results_of, write_completions
    from spanreward.training.evaluation.page.shown import shown_prompts

    output = arguments.output
    setup = comparison.setup
    numbers = results_of(comparison)
    for path in (output / "results.json", arguments.json):
        write_json(path, numbers)
    write_completions(output / "completions.jsonl", setup, evaluation.answers)
    examples = shown_prompts(setup.prompts, evaluation.answers, comparison.lost_by)
    write_report(output / "report.html", comparison, examples)


def check_counts(arguments: argparse.Namespace) -> None:
    """Raises ValueError for a --limit or --max-tokens that is not above 0."""
    counts = {"--limit": arguments.limit, "--max-tokens": arguments.max_tokens}
    for flag, count in counts.items():
        if count is not None and not count > 0:
            raise ValueError(f"{flag} is above 0, got {count}.")


def check_models_in_front(arguments: argparse.Namespace) -> None:
    """Raises ValueError if all models are named behind --set or --columns: there, a word such as
    dapo=FOLDER is read as a value of the flag.
    """
    if not arguments.models and (arguments.options or arguments.columns):
        raise ValueError(
            "a comparison needs two models or more: name them in front of --set and --columns, "
            "which take every NAME=VALUE behind them."
        )


def setup_of(arguments: argparse.Namespace) -> "Setup":
    """Returns the setup of the comparison from the command line. The rows are read and the judges
    are made, but no model is loaded.

    Raises ValueError for arguments that cannot be used, and OSError for files that cannot be read.
    """
    from spanreward.rewards.rows.tables import is_table
    from spanreward.training.evaluation.answers.sides import read_seeds, read_sides

    check_counts(arguments)
    check_models_in_front(arguments)
    sides = read_sides(arguments.models)
    seeds = read_seeds(arguments.seeds, sides)
    all_are_files = all(map(is_table, chain(*sides.values())))
    if all_are_files and arguments.max_tokens:
        raise ValueError(
            "--max-tokens is for models that answer here, and all of these are files of answers."
        )
    renamed_columns = metric_options.column_names(arguments.columns)
    parts, recipe = metrics_and_recipe(arguments)

    # these imports are slow (spaCy, torch), so all quick checks are done above
    from spanreward.training.evaluation.answers.setup import Setup
    from spanreward.training.recipe_rewards import build_rewards, parsers_of_rewards

    rewards = build_rewards([with_judge_cache(part, arguments.cache) for part in parts])
    metric_options.check_asked(arguments, rewards)
    prompts = prompts_to_compare_on(arguments, recipe, renamed_columns, rewards)
    readers = parsers_of_rewards(rewards)
    trainer = recipe.trainer if recipe else {}
    longest = arguments.max_tokens or trainer.get("max_completion_length", DEFAULT_MAX_TOKENS)
    return Setup(
        sides=sides,
        seeds=seeds,
        prompts=prompts,
        parts=parts,
        rewards=rewards,
        max_tokens=longest,
        learned=recipe.rewards if recipe else [],
        readers=readers,
        title=arguments.title,
        facts=facts_of_page(seeds, readers),
        reasoning_end=trainer.get("reasoning_end"),
        fixed=all_are_files if arguments.fixed is None else arguments.fixed,
        columns=arguments.slices,
    )


def metrics_and_recipe(
    arguments: argparse.Namespace,
) -> tuple[list["RewardPart"], "Recipe | None"]:
    """Returns the metrics of the comparison, and the recipe of --recipe; None with --data.

    With --data, --metric names the metrics. A recipe names them as its rewards and its held-out
    metrics. Raises ValueError for an unknown metric, and OSError for a missing file of --data.
    """
    from spanreward.rewards.metric_names import check_metric
    from spanreward.rewards.rows.tables import check_there
    from spanreward.training.recipe import load_recipe

    recipe = None
    if arguments.data:
        parts = metric_parts(arguments)
        check_there(arguments.data)
    else:
        recipe = load_recipe(arguments.recipe, arguments.options)
        parts = [*recipe.rewards, *recipe.referees]
    for part in parts:
        check_metric(part.metric)
    return parts, recipe


def prompts_to_compare_on(
    arguments: argparse.Namespace,
    recipe: "Recipe | None",
    columns: Mapping[str, str],
    rewards: Sequence["Reward"],
) -> "Prompts":
    """Returns the rows that all models answer: the file of --data, or held-out rows of the recipe.

    recipe: None with --data. columns: {our name of a column: the file's name}, with --data.
    rewards: may be metrics of the user that read further columns, which the rows then hold.
    """
    from spanreward.training.evaluation.answers.prompts import prompts_of_file, prompts_of_recipe
    from spanreward.training.recipe import load_recipe
    from spanreward.training.recipe_rewards import columns_asked_by

    limit = arguments.limit
    slices = arguments.slices
    cluster = arguments.cluster
    extra_columns = columns_asked_by(rewards)
    if recipe is None:
        return prompts_of_file(arguments.data, limit, slices, cluster, columns, extra_columns)
    # `recipe` has the changes of --set, which may name other rows than those of the training. So
    # read the file again, without --set: its rows are those that the models were trained on.
    as_written = load_recipe(arguments.recipe)
    return prompts_of_recipe(recipe, as_written, limit, slices, cluster, extra_columns)


def facts_of_page(seeds: Sequence[int], readers: Mapping[str, str]) -> dict[str, str]:
    """Returns the lines at the foot of the page: the command, the seeds, the machine, the parser of
    each metric's texts, and the versions of packages.

    readers: by a metric's name, its parser.
    """
    from spanreward.training.run_folder import machine_name, package_versions

    facts = {
        "command": shlex.join(["python", *sys.argv]),
        "seeds": ", ".join(map(str, seeds)),
        "machine": machine_name(),
    }
    for name, reader in readers.items():
        facts[f"texts of {name} read by"] = reader
    return {**facts, **package_versions()}


def metric_parts(arguments: argparse.Namespace) -> list["RewardPart"]:
    """Returns the metrics of a comparison with --data, in the form of a recipe's rewards.

    Raises ValueError for a key such as posh.mode in --set if --metric does not name posh.
    """
    from spanreward.training.recipe import RewardPart, checked_part

    judge_name = arguments.judge or "match"
    judge_options = metric_options.read_options(arguments.judge_option)
    judge = {"name": judge_name, "options": judge_options}
    if judge_name == "cascade":
        judge = {"cascade": judge_options}
    options = metric_options.read_options(arguments.options)
    parts = []
    for metric, values in options_by_metric(arguments.metric, options).items():
        block = {"metric": metric, "judge": judge, "options": values}
        parts.append(checked_part(RewardPart, block))
    return parts


def options_by_metric(
    metrics: Sequence[str], options: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Returns {metric: its options}, each metric once. Raises ValueError for an option of a metric
    that `metrics` lacks.

    An option such as "posh.mode" is for the metric posh, and an option such as "mode" is for all
    metrics: ["posh", "lave"] and {"posh.mode": "published", "top": 5} give {"posh": {"mode":
    "published", "top": 5}, "lave": {"top": 5}}.
    """
    options_of: dict[str, dict[str, Any]] = {}
    for name in metrics:
        options_of[name] = {}
    for key, value in options.items():
        metric, _, option = key.rpartition(".")
        if metric and metric not in options_of:
            raise ValueError(unknown_name_message("metric of --set", metric, options_of, key))
        metrics_with_option = [metric] if metric else list(options_of)
        for name in metrics_with_option:
            options_of[name][option] = value
    return options_of


def with_judge_cache(part: "RewardPart", cache: bool | None) -> "RewardPart":
    """Returns the block of a reward with the judge's cache set by --cache.

    cache: True for --cache, False for --no-cache. None if neither flag was given: then the recipe
    decides, or the judge's default if the recipe does not name a cache. `cache: false` in a recipe
    counts as no cache named, because False is the default of this key.
    """
    recipe_cache = part.judge.cache  # True, the path of a file, or False
    judge_cache: bool | str | None
    if cache is False:
        judge_cache = False
    elif recipe_cache:
        judge_cache = recipe_cache
    else:
        judge_cache = cache  # True, or None for the judge's default
    judge = part.judge.model_copy(update={"cache": judge_cache})
    return part.model_copy(update={"judge": judge})


def print_comparison(comparison: "Comparison", output: Path) -> None:
    """Prints a sentence for every pair of models, and the paths of the output files."""
    console = Terminal(soft_wrap=True)
    for pair in comparison.pairs:
        console.print(pair.sentence, style="bold", markup=False, highlight=False)
    for note in comparison.notes:
        console.print(f"Note: {note}", style="yellow", markup=False, highlight=False)
    print(f"Report:  {output / 'report.html'}")
    print(f"Numbers: {output / 'results.json'}")


def print_warnings(comparison: "Comparison") -> None:
    """Prints the warnings in red, also with --quiet."""
    console = Terminal(soft_wrap=True)
    for warning in comparison.warnings:
        console.print(f"WARNING: {warning}", style="bold red", markup=False, highlight=False)
