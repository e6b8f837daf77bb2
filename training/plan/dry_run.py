"""What a recipe would run: whether it fits, what it asks, and what is missing here. Nothing is loaded or downloaded.

    dry_run(load_recipe("recipes/qwen2.5-vl-7b/docent-posh-dapo.yaml"), "accelerate_configs/zero3.yaml")

Counts come from the recipe and TRL's defaults. A number that depends on completions or absent data is an estimate.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from spanreward.rewards.base.cost import WORDS_PER_TOKEN, Cost
from spanreward.rewards.files.outputs import check_json, write_json
from spanreward.rewards.files.tables import table_rows
from spanreward.training.plan.here import gpus_here, judge_here, policy_here, vllm_here
from spanreward.training.plan.memory import Plan
from spanreward.training.plan.needs import (
    Launch,
    Steps,
    asked_judges,
    generating_steps,
    gpu_memory,
    plan_of,
    read_launch,
    settings_of,
)
from spanreward.training.recipe import DataPart, JsonlPart, Recipe, RecipeError
from spanreward.training.run import build_rewards, refusals

REQUESTS_A_SECOND = 1000  # of one engine, on one CPU core (docs/evidence/cost.md)


@dataclass(frozen=True, slots=True)
class Planned:
    """memory: None if not computed. rows: None where only loading tells. steps: None for SFT, which asks no judge.
    costs: each reward's name, and what it asks about a completion of the greatest length.
    """

    launch: Launch
    memory: Plan | None
    rows: int | None
    steps: Steps | None
    costs: list[tuple[str, Cost | None]]


def dry_run(recipe: Recipe, accelerate_config: str | None = None, json_path: Path | None = None) -> None:
    """Print what this machine has and the plan, and write the same numbers to `json_path` if that is given. Raises
    RecipeError, at the end where only this machine stops it.
    """
    with refusals():
        check_json(json_path, {"here": None, "launch": None}, recipe.overwrite)
    launch = read_launch(accelerate_config)
    plan = plan_of(recipe, launch)
    settings, console = settings_of(recipe), Console()
    found = [policy_here(recipe.policy.model)]
    found += [judge_here(judge.name, judge.options) for judge, _ in asked_judges(recipe)]
    if settings.get("use_vllm"):
        found.append(vllm_here("trainer.use_vllm"))
    if not settings["use_cpu"]:
        most = max(sum(parts.values()) for parts in phases(recipe, plan).values()) if plan else 0
        found.append(gpus_here(launch.processes // launch.machines, most))
    for one in found:
        console.print(str(one), style="red" if one.ok is False else None, markup=False, soft_wrap=True)
    table = Table("", "what would run", title="Dry run: nothing is loaded, downloaded or written", show_lines=True)
    rows = row_count(recipe.data)
    steps = None if recipe.algorithm == "sft" else generating_steps(settings, launch.processes, rows)
    planned = Planned(launch, plan, rows, steps, costs_of(recipe) if steps else [])
    for line in lines(recipe, planned):
        table.add_row(*line)
    console.print(table)
    write_json(json_path, {"here": [asdict(one) for one in found]} | numbers(recipe, planned))
    if stops := [str(one) for one in found if one.ok is False]:
        raise RecipeError(f"this machine cannot run it ({'; '.join(stops)}).")


def costs_of(recipe: Recipe) -> list[tuple[str, Cost | None]]:
    """Returns each reward's name and what it asks about a completion of the greatest length."""
    words = settings_of(recipe)["max_completion_length"] * WORDS_PER_TOKEN
    return [(reward.__name__, reward.cost(words, 1)) for reward in build_rewards(recipe.rewards)]  # opens nothing


def numbers(recipe: Recipe, planned: Planned) -> dict[str, Any]:
    """Returns the plan as plain data. Memory is in bytes, by phase and part."""
    plan, launch, steps = planned.memory, planned.launch, planned.steps
    made: dict[str, Any] = {"launch": asdict(launch), "data": {"rows": planned.rows}}
    if steps is not None:
        made["steps"] = asdict(steps)
        made["questions"] = [
            {"reward": name, "per_batch": cost.questions * steps.completions, **asdict(cost)}
            for name, cost in planned.costs
            if cost is not None
        ]
    memory = plan and {**phases(recipe, plan), "main_memory": plan.main_memory // launch.machines, "gpu": gpu_memory()}
    return {**made, "memory": memory}


def phases(recipe: Recipe, plan: Plan) -> dict[str, dict[str, int]]:
    writing = {} if recipe.algorithm == "sft" else {"writing": plan.writing}
    return {**writing, "judging": plan.judging, "training": plan.training}


def lines(recipe: Recipe, planned: Planned) -> Iterator[tuple[str, str]]:
    launch, rows, steps = planned.launch, planned.rows, planned.steps
    yield "launch", f"{launch.processes} processes on {launch.machines} machines, sharding: {launch.sharding}"
    learns = f"LoRA of rank {recipe.policy.lora.r}" if recipe.policy.lora else "all weights"
    yield "policy", f"{recipe.policy.model}, {learns}"
    yield "data", "its number of rows shows when it is read" if rows is None else f"{rows:,} rows"
    if steps is not None:
        total = "as many steps as the data gives" if steps.total is None else f"{steps.total:,} optimizer steps"
        batch = f"{steps.completions} completions ({steps.groups} groups of {steps.completions // steps.groups})"
        yield "steps", f"{total}, {steps.per_batch:g} per batch of {batch}"
        yield "judges", "\n".join(f"{one.name} for {', '.join(of)}" for one, of in asked_judges(recipe))
        yield "questions", "\n".join(question_lines(recipe, planned.costs, steps.completions, launch.processes))
    unknown = "not computed: on the CPU, or of models not known here"
    yield "memory", memory_text(recipe, launch, planned.memory) if planned.memory else unknown


def row_count(data: DataPart) -> int | None:
    """Returns the number of rows; None where only loading tells. Raises RecipeError for a missing file."""
    counts: list[int | None] = [part.count for part in data.parts]
    for number, part in enumerate(data.parts):
        if isinstance(part, JsonlPart):
            counts[number] = sum(1 for _ in table_rows(part.file, limit=part.count))
    return None if None in counts else sum(filter(None, counts))


def question_lines(
    recipe: Recipe, costs: Sequence[tuple[str, Cost | None]], batch: int, processes: int
) -> Iterator[str]:
    """Yields what each reward asks, and for a vLLM judge the seconds that its engines need for the requests alone."""
    for part, (name, cost) in zip(recipe.rewards, costs, strict=True):
        if cost is None:
            yield f"{name}: not known, since the metric does not define Reward.cost"
            continue
        about, questions = "" if cost.exact else "about ", cost.questions * batch
        text = f"{name}: {about}{cost.questions:,} per completion, {about}{questions:,} per batch"
        text += f", with about {cost.prompt_tokens * batch:,.0f} tokens, pictures not counted"
        if cost.computed_tokens is not None:
            text += f", and a prefix cache leaves {cost.computed_tokens * batch:,.0f} of them to compute"
        if part.judge.name.startswith("vllm:"):
            engines = max(1, processes // int(part.judge.options.get("tensor_parallel", 1)))
            seconds = questions / REQUESTS_A_SECOND / engines
            text += f"; the requests alone take {seconds:.1f} s (engines: {engines}, of {REQUESTS_A_SECOND:,} a second)"
        yield f"{text} ({cost.how})"


def memory_text(recipe: Recipe, launch: Launch, plan: Plan) -> str:
    text = ""
    for phase, parts in phases(recipe, plan).items():
        sizes = " + ".join(f"{part} {size / 1e9:.1f}" for part, size in parts.items())
        text += f"while {phase}: {sum(parts.values()) / 1e9:.1f} GB on a GPU = {sizes}\n"
    asleep, on = plan.main_memory / launch.machines / 1e9, f"a GPU of {gpu_memory() / 1e9:.0f} GB"
    text += f"main memory of a machine, for sleeping judges: {asleep:.1f} GB\n"
    return text + f"computed for {plan.tokens:,} tokens per pass (prompts estimated) and {on}, not measured"
