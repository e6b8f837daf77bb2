"""What a recipe costs as it grows: questions and tokens, which are counted, and memory and seconds,
which are reckoned.

python -m experiments benchmark scale recipes/qwen2.5-vl-7b/docent-posh-dapo.yaml --json scale.json
"""

import argparse
import json
from collections.abc import Callable, Sequence
from itertools import product
from math import ceil
from pathlib import Path
from statistics import mean
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

GB = 1e9
DESCRIPTION = """What a recipe's judges are asked and what a GPU holds, as functions of prompts, group size, description
length, judge size, GPUs and placement. Nothing is loaded or started. Three tables:

asked        of each reward, group size and length, --traced groups of descriptions of Scenes are parsed and their
             questions counted (`match` answers, with --tokens' chat): exact for those prompts, and for a batch their
             mean times its prompts, as no two prompts share a question. Computed: tokens that a prefix cache with
             blocks of 16 leaves. Pictures are told in words.
servers      what servers that share a batch compute together, each with a prefix cache of its own
placements   memory of a GPU by training/plan/memory.py (main memory: of a machine with 8 GPUs), and the seconds of
             judging the largest batch of the first table: computed tokens / (engines x the rate of one engine)

The rate is one that you measured: --calibration FILE takes it from what `benchmark judge --json` wrote (its
first line with tokens), --tokens-per-second gives it for the first of --judges; for a judge of another size it is
divided by the parameters. Without either no seconds are told. They hold neither what judges write nor the policy's own
work (step_time in metrics.jsonl)."""
SERVERS = (1, 2, 4, 8)
GPUS_OF_A_NODE = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recipe", help="a YAML file, see the folder recipes/")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="dotted recipe keys")
    parser.add_argument(
        "--prompts", type=int, nargs="+", default=[8, 64], help="in a batch (default 8 64)"
    )
    parser.add_argument(
        "--group-sizes",
        type=int,
        nargs="+",
        default=[8, 16],
        help="completions each (default 8 16)",
    )
    parser.add_argument(
        "--words",
        type=int,
        nargs="+",
        default=[25, 100, 250],
        help="of a text (default 25 100 250)",
    )
    parser.add_argument(
        "--gpus", type=int, nargs="+", default=[1, 8, 16], help="that train (default 1 8 16)"
    )
    parser.add_argument(
        "--judges", nargs="+", default=["Qwen/Qwen3-8B", "Qwen/Qwen3-14B"], metavar="MODEL"
    )
    parser.add_argument(
        "--accelerate-config",
        metavar="PATH",
        help="how several GPUs share the policy (default: not)",
    )
    parser.add_argument(
        "--traced", type=int, default=3, help="prompts that are counted (default 3)"
    )
    parser.add_argument(
        "--tokens",
        default="smollm2",
        metavar="MODEL",
        help="whose tokens to count (default smollm2)",
    )
    rate = parser.add_mutually_exclusive_group()
    rate.add_argument(
        "--tokens-per-second",
        type=float,
        metavar="RATE",
        help="that one engine computes of prompts",
    )
    rate.add_argument(
        "--calibration", type=Path, metavar="FILE", help="written by benchmark judge --json"
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    from experiments.benchmark.posh import encoder
    from spanreward.training.plan.needs import read_launch
    from spanreward.training.recipe import load_recipe

    least = min(
        *arguments.prompts,
        *arguments.group_sizes,
        *arguments.words,
        *arguments.gpus,
        arguments.traced,
    )
    if least < 1:
        raise ValueError(
            f"numbers of prompts, completions, words and GPUs must be 1 or more, got {least}"
        )
    recipe = load_recipe(arguments.recipe, arguments.overrides)
    if recipe.algorithm == "sft":
        raise ValueError(f"{arguments.recipe} is SFT, which asks no judge")
    sharding = read_launch(arguments.accelerate_config).sharding
    rates = rates_of(arguments.judges, arguments.tokens_per_second, arguments.calibration)
    encode = encoder(arguments.tokens)
    cells = asked(arguments, recipe, encode)
    largest = (
        max(row["prompts"] * row["group"] for row in cells),
        max(row["words"] for row in cells),
    )
    tokens = sum(
        row["computed"] for row in cells if (row["prompts"] * row["group"], row["words"]) == largest
    )
    result = {
        "recipe": arguments.recipe,
        "traced": arguments.traced,
        "asked": cells,
        "servers": servers(arguments, recipe, encode),
        "placements": placements(recipe, arguments.gpus, sharding, rates, tokens),
    }
    show(result)
    return result


def asked(
    arguments: argparse.Namespace, recipe: Any, encode: Callable[[Any], Any]
) -> list[dict[str, Any]]:
    """A row for each reward, length, group size and number of prompts."""
    from experiments.benchmark.scale_trace import trace_of

    cells = list(product(recipe.rewards, arguments.words, arguments.group_sizes))
    rows = []
    for part, words, group in track(cells, "counting", console=Console(stderr=True)):
        trace = trace_of(part, references_of(recipe), arguments.traced, group, words, encode)
        means = {
            "questions": mean(trace.questions),
            "written": mean(trace.writes),
            "tokens": mean(trace.tokens),
            "computed": mean(trace.computed),
        }
        for prompts in arguments.prompts:
            rows.append(
                {
                    "reward": part.options.get("name", part.metric),
                    "prompts": prompts,
                    "group": group,
                    "words": words,
                    "words_counted": round(trace.words, 1),
                    **{name: round(value * prompts) for name, value in means.items()},
                    "questions_of_traced": list(trace.questions),
                    "computed_of_traced": list(trace.computed),
                }
            )
    return rows


def references_of(recipe: Any) -> int:
    """Of a row: as many as the recipe's Scenes have, one elsewhere."""
    options = getattr(recipe.data, "options", {})
    return int(options.get("references", 3)) if str(recipe.data.source).endswith(":scenes") else 1


def servers(
    arguments: argparse.Namespace, recipe: Any, encode: Callable[[Any], Any]
) -> list[dict[str, Any]]:
    """Of one batch of the smallest groups and the middle length: the tokens that all servers
    compute together.
    """
    from experiments.benchmark.scale_trace import make_groups, shared, waves_of

    words, group, prompts = (
        sorted(arguments.words)[len(arguments.words) // 2],
        min(arguments.group_sizes),
        SERVERS[-1],
    )
    samples = [
        sample
        for one in make_groups(prompts, group, words, references_of(recipe))
        for sample in one
    ]
    waves = [waves_of(part, samples, encode)[0] for part in recipe.rewards]
    return [
        {
            "servers": count,
            **{"prompts": prompts, "group": group, "words": words},
            "stretches": sum(shared(one, count, dealt=False) for one in waves),
            "dealt": sum(shared(one, count, dealt=True) for one in waves),
        }
        for count in SERVERS
    ]


def rates_of(
    models: Sequence[str], given: float | None, calibration: Path | None
) -> dict[str, float | None]:
    """Prompt tokens that one engine of each judge computes in a second; None where nobody measured.
    A rate is divided by the parameters, as a token costs two operations for each. Raises ValueError
    for a judge of unknown size.
    """
    from spanreward.training.plan.memory import size_by_name

    sizes: dict[str, int] = {}
    for model in models:
        size = size_by_name(model)
        if size is None:
            raise ValueError(
                f"the size of the judge {model} is not known here (no config.json, not in the "
                "table)"
            )
        sizes[model] = size.parameters
    if given is not None:
        operations = given * sizes[models[0]]
    elif calibration is not None:
        operations = calibrated(calibration)
    else:
        return dict.fromkeys(sizes)
    return {model: operations / parameters for model, parameters in sizes.items()}


def calibrated(path: Path) -> float:
    """Parameters times tokens a second, of the first line of `benchmark judge --json` that has
    tokens.
    """
    from spanreward.rewards.judges.model_files import model_folder
    from spanreward.training.plan.memory import size_by_name

    line = next((line for line in json.loads(path.read_text())["lines"] if line["computed"]), None)
    if line is None:
        raise ValueError(
            f"{path} has no line with tokens: measure a judge with a model, such as "
            "transformers:smollm2"
        )
    model = str(line["what"]).partition(":")[2]
    size = size_by_name(str(model_folder(model, download=False)))
    if size is None:
        raise ValueError(f"the size of {model}, which {path} measured, is not known here")
    rate = line["computed"] / (line["seconds_per_question"] * line["questions"])
    return float(rate) * size.parameters


def placements(
    recipe: Any, gpus: Sequence[int], sharding: str, rates: dict[str, float | None], tokens: int
) -> list[dict[str, Any]]:
    """Memory, and seconds of a batch with so many tokens to compute, for each judge, number of GPUs
    and placement; machines have eight GPUs.
    """
    from spanreward.training.plan.needs import Launch, plan_of

    launches = {
        count: Launch(count, sharding if count > 1 else "none", ceil(count / GPUS_OF_A_NODE))
        for count in gpus
    }

    rows = []
    for (model, rate), count, placement in product(rates.items(), gpus, ("per_rank", "server")):
        placed = judged_by(recipe, model, placement)
        launch = launches[count]
        plan = plan_of(placed, launch)
        engines = count if placement == "per_rank" else 1
        row: dict[str, Any] = {
            "judge": model,
            "gpus": count,
            "placement": placement,
            "engines": engines,
        }
        if plan is not None:
            phases = {"training": plan.training, "judging": plan.judging}
            row["peaks"] = {
                phase: round(sum(parts.values()) / GB, 1) for phase, parts in phases.items()
            }
            row["main_memory"] = round(plan.main_memory / launch.machines / GB, 1)
        if rate is not None:
            row |= {
                "tokens_per_second": round(rate, 1),
                "judging_seconds": round(tokens / (engines * rate), 1),
            }
        rows.append(row)
    return rows


def judged_by(recipe: Any, model: str, placement: str) -> Any:
    """The recipe with this judge, placed so, in all its rewards."""
    from spanreward.training.recipe import JudgePart

    def changed(part: Any) -> Any:
        if placement == "server":
            judge = JudgePart(name=f"server:http://judge:8000#{model}")
        else:
            options = {
                name: value for name, value in part.judge.options.items() if name == "memory"
            }
            judge = JudgePart(name=f"vllm:{model}", options=options)
        rest = {name: value for name, value in part.options.items() if name != "text_judge"}
        return part.model_copy(update={"judge": judge, "options": rest})

    return recipe.model_copy(update={"rewards": [changed(part) for part in recipe.rewards]})


def show(result: dict[str, Any]) -> None:
    console = Console(stderr=True, width=140)
    table = Table(
        title=f"asked in a step with one batch: counted on {result['traced']} prompts each"
    )
    texts = ("prompts", "group", "words (counted)")
    for heading in ("reward", *texts, "questions", "written", "tokens", "computed", "a question"):
        table.add_column(heading, justify="left" if heading == "reward" else "right")
    for row in result["asked"]:
        numbers = [f"{row[name]:,}" for name in ("questions", "written", "tokens", "computed")]
        each = f"{row['computed'] / max(row['questions'], 1):.0f}"
        shape = (
            str(row["prompts"]),
            str(row["group"]),
            f"{row['words']} ({row['words_counted']:.0f})",
        )
        table.add_row(row["reward"], *shape, *numbers, each)
    console.print(table)
    first = result["servers"][0]
    table = Table(
        title=f"computed by servers together: {first['prompts']} groups of {first['group']}, "
        f"{first['words']} words"
    )
    for heading in ("servers", "in stretches", "dealt one by one"):
        table.add_column(heading, justify="right")
    for row in result["servers"]:
        shares = (
            f"{row[way]:,} ({row[way] / max(first[way], 1):.2f})" for way in ("stretches", "dealt")
        )
        table.add_row(str(row["servers"]), *shares)
    console.print(table)
    table = Table(
        title="reckoned: GB on each GPU, and seconds of judging the largest batch of the first "
        "table"
    )
    for heading in (
        "judge",
        "GPUs",
        "placement",
        "engines",
        "training",
        "judging",
        "main memory",
        "tokens / s",
        "seconds",
    ):
        table.add_column(heading, justify="left" if heading in ("judge", "placement") else "right")
    for row in result["placements"]:
        sizes = ["-", "-", "-"]
        if "peaks" in row:
            sizes = [
                f"{row['peaks']['training']:g}",
                f"{row['peaks']['judging']:g}",
                f"{row['main_memory']:g}",
            ]
        rate = ["not measured", "-"]
        if "judging_seconds" in row:
            rate = [f"{row['tokens_per_second']:,.1f}", f"{row['judging_seconds']:,.0f}"]
        table.add_row(
            row["judge"], str(row["gpus"]), row["placement"], str(row["engines"]), *sizes, *rate
        )
    console.print(table)
    if not any("peaks" in row for row in result["placements"]):
        console.print(
            "no memory is reckoned: the recipe trains on the CPU, or the size of a model is not "
            "known here"
        )
