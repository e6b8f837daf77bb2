"""What a recipe would run, before anything is loaded, started, downloaded or written.

    dry_run(load_recipe("recipes/qwen2.5-vl-7b/docent-posh-dapo.yaml"), "accelerate_configs/zero3.yaml", "plan.json")

Counts come from the recipe and from TRL's defaults. What depends on what the policy will write, or on data that is not
here yet, is an estimate, and says so. Memory is training/plan/memory.py's arithmetic.
"""

import json
import math
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import yaml
from accelerate.commands.config.config_args import load_config_from_file
from rich.console import Console
from rich.table import Table

from rewards.cost import WORDS_PER_TOKEN
from rewards.judges.local.kv_cache import tokens_that_fit
from rewards.reward import Reward
from training.plan.known_models import size_by_name
from training.plan.memory import PROCESS, Plan, Size
from training.recipe import (
    DataPart,
    HubPart,
    JudgePart,
    MixedPart,
    Recipe,
    RecipeError,
    RowsPart,
    ScenesJudgePart,
    ScenesPart,
    trainer_config,
)
from training.run import build_rewards
from training.run_folder import checkpoints

GB = 1e9
NOTHING = Size(parameters=0, layers=0, hidden=0, kv_numbers=0, vocabulary=0, linear=0, context=0)
KV_TOKENS = 40_000  # assumed where the judge's options do not say how much memory its cache has
PROMPT_TOKENS = 1024  # assumed: a picture and a question
PIXELS_PER_TOKEN = 28 * 28  # of Qwen2.5-VL


@dataclass(frozen=True, slots=True)
class Launch:
    """How many processes, what of the training state they divide (see training/plan/memory.py), and on how many
    machines they are, as many on each.
    """

    processes: int = 1
    sharding: str = "none"
    machines: int = 1


def dry_run(recipe: Recipe, accelerate_config: str | None = None, json_path: str | None = None) -> dict[str, Any]:
    """Print the plan, write it to `json_path` if that is given, and return it. Raises RecipeError as a run would."""
    launch = read_launch(accelerate_config)
    rewards = build_rewards(recipe.rewards)  # opens nothing, and refuses what does not exist
    settings = settings_of(recipe)
    rows = row_count(recipe.data, recipe.algorithm == "sft")
    plan: dict[str, Any] = {
        "recipe": {"algorithm": recipe.algorithm, "output": recipe.output, "folder": folder_state(recipe)},
        "launch": {"config": accelerate_config, **asdict(launch)},
        "policy": policy_facts(recipe),
        "judges": judge_facts(recipe),
        "data": {"source": describe_data(recipe.data), "rows": rows},
        "downloads": downloads(recipe),
        "steps": step_facts(recipe, settings, launch.processes, rows),
    }
    plan["questions"] = question_facts(recipe, rewards, settings, plan["steps"])
    plan["memory"] = memory_facts(recipe, settings, launch)
    show(plan)
    if json_path is not None:
        Path(json_path).write_text(json.dumps(plan, indent=2) + "\n")
    return plan


def settings_of(recipe: Recipe) -> dict[str, Any]:
    """The trainer's settings: TRL's defaults, and ours, with what the recipe says."""
    return {field.name: field.default for field in fields(trainer_config(recipe.algorithm))} | recipe.trainer


def read_launch(path: str | None) -> Launch:
    """What accelerate's configuration says; one process without. Raises RecipeError where accelerate refuses it."""
    if path is None:
        return Launch()
    try:
        config = load_config_from_file(path)
    except (OSError, ValueError, TypeError, yaml.YAMLError) as error:
        raise RecipeError(f"{path} is no configuration of accelerate: {' '.join(str(error).split())}") from error
    kind = str(config.distributed_type.value)
    sharding = {"DEEPSPEED": f"zero{config.deepspeed_config.get('zero_stage', 2)}", "FSDP": "fsdp"}.get(kind, "none")
    return Launch(max(1, config.num_processes), "none" if sharding == "zero0" else sharding, config.num_machines)


def folder_state(recipe: Recipe) -> str:
    output = Path(recipe.output)
    if not output.exists() or not any(output.iterdir()):
        return "new"
    found = checkpoints(output)
    last = f"--resume would go on from {found[-1].name}" if found else "it has no checkpoint to resume from"
    return f"not empty, {'would be overwritten' if recipe.overwrite else 'a new run would be refused'}; {last}"


def policy_facts(recipe: Recipe) -> dict[str, Any]:
    size = None if recipe.policy.model == "tiny" else size_by_name(recipe.policy.model)
    learns = f"LoRA of rank {recipe.policy.lora.r}" if recipe.policy.lora else "all weights"
    return {"model": recipe.policy.model, "parameters": size.parameters if size else None, "learns": learns}


def judge_facts(recipe: Recipe) -> list[dict[str, Any]]:
    """Each judge once, with the metrics that ask it."""
    facts = []
    for asked, metrics in asked_judges(recipe):
        kind, model = judge_model(asked.name)
        size = size_by_name(model) if kind in ("vllm", "transformers") else None
        facts.append(
            {
                "name": asked.name,
                "placement": {"match": "in each rank, no model", "server": "on its server"}.get(kind, asked.placement),
                "parameters": size.parameters if size else None,
                "metrics": metrics,
                "cache": cache_facts(asked, size) if size and kind == "vllm" else None,
            }
        )
    return facts


def cache_facts(judge: JudgePart, size: Size) -> dict[str, int] | None:
    """What the engine's KV cache holds, in bfloat16: vLLM refuses one that does not hold the longest request.

    Raises RecipeError where it holds next to nothing.
    """
    memory = judge.options.get("memory")
    if memory is None or memory <= 1:
        return None
    token = size.kv_bytes // int(judge.options.get("tensor_parallel", 1))
    context = min(int(judge.options.get("max_model_len") or size.context), size.context)
    try:
        held = tokens_that_fit(int(memory), token)
    except ValueError as error:
        raise RecipeError(f"the judge {judge.name}: {error}") from error
    return {"bytes": int(memory), "context": context, "bytes_of_context": token * context, "reads": min(held, context)}


def asked_judges(recipe: Recipe) -> list[tuple[JudgePart, list[str]]]:
    """Each judge that a run would start, once, with the metrics that ask it. HarmonicEval may have a second one."""
    found: dict[str, tuple[JudgePart, list[str]]] = {}
    for part in recipe.rewards:
        judges = [part.judge]
        if isinstance(part.options.get("text_judge"), str):
            judges.append(JudgePart(name=part.options["text_judge"]))
        for judge in judges:
            found.setdefault(judge.model_dump_json(), (judge, []))[1].append(part.metric)
    return list(found.values())


def judge_model(name: str) -> tuple[str, str]:
    """A judge's kind (match, transformers, vllm or server) and its model."""
    kind, _, model = name.partition(":")
    return ("server", model.partition("#")[2]) if kind in ("server", "chat") else (kind, model)


def describe_data(data: DataPart | ScenesJudgePart) -> str:
    if isinstance(data, ScenesJudgePart):
        return f"questions to a judge of scenes, levels {', '.join(map(str, data.levels))}, {data.split}"
    if isinstance(data, MixedPart):
        return " + ".join(describe_data(part) for part in data.parts)
    if isinstance(data, ScenesPart):
        return f"scenes, level {data.level}, {data.split}"
    return f"hub {data.id}, {data.split}" if isinstance(data, HubPart) else f"jsonl {data.path}"


def downloads(recipe: Recipe) -> list[str]:
    """What would be downloaded at its first use, unless it is in the hub's cache already."""
    parts = recipe.data.parts if isinstance(recipe.data, MixedPart) else [recipe.data]
    found = [f"data {part.id}" for part in parts if isinstance(part, HubPart) and not Path(part.id).exists()]
    models = [recipe.policy.model]
    for fact in judge_facts(recipe):
        kind, model = judge_model(fact["name"])
        if kind in ("vllm", "transformers"):
            models.append(model)
    return found + [f"model {model}" for model in models if "/" in model and not Path(model).exists() and is_id(model)]


def is_id(model: str) -> bool:
    """Hub ids have one slash and do not begin as paths do."""
    return model.count("/") == 1 and model[0] not in "./~"


def row_count(data: DataPart | ScenesJudgePart, completions: bool) -> int | None:
    """Rows of the dataset; None where only loading it tells."""
    if isinstance(data, ScenesJudgePart):
        return None  # equal texts of different pictures share a row
    if isinstance(data, MixedPart):
        counts = [row_count(part, completions) for part in data.parts]
        return None if None in counts else sum(filter(None, counts))
    if isinstance(data, ScenesPart):
        described = {"descriptions": data.count, "questions": 0, "both": (data.count + 1) // 2}[data.ask]
        return data.count - described + described * (data.references if completions else 1)
    if isinstance(data, RowsPart) and completions:
        return None  # one for each of a row's references
    if isinstance(data, HubPart):
        return data.count
    if not Path(data.path).is_file():
        raise RecipeError(f"there is no data file {data.path}: data.path goes from the folder that you start in.")
    with Path(data.path).open() as file:
        return min(sum(1 for line in file if line.strip()), data.count or math.inf)  # type: ignore[return-value]


def step_facts(recipe: Recipe, settings: dict[str, Any], processes: int, rows: int | None) -> dict[str, Any]:
    """Optimizer steps and what is generated for them. Raises RecipeError for groups that do not divide the batch."""
    per_device, accumulation = settings["per_device_train_batch_size"], settings["gradient_accumulation_steps"]
    facts: dict[str, Any] = {"rows_per_step": per_device * accumulation * processes}
    if recipe.algorithm == "sft":
        passes = None if rows is None else math.ceil(rows / (per_device * processes))
    else:
        generations = settings["num_generations"]
        batch = settings["generation_batch_size"]
        rounds = settings["steps_per_generation"] or (batch // (per_device * processes) if batch else accumulation)
        batch = batch or per_device * processes * rounds
        if batch % generations:
            raise RecipeError(
                f"a batch of {batch} completions ({per_device} x {rounds} on {processes} processes) is not a whole "
                f"number of groups of trainer.num_generations {generations}."
            )
        repeated = rounds * settings["num_iterations"]
        passes = None if rows is None else rows // (batch // generations) * repeated
        facts = {
            "completions_per_batch": batch,
            "groups_per_batch": batch // generations,
            "completions_per_group": generations,
            "steps_per_batch": repeated / accumulation,
            "dynamic_sampling": settings["dynamic_sampling"],
        }
    if settings["max_steps"] > 0:
        facts["optimizer_steps"] = settings["max_steps"]
    else:
        known = None if passes is None else math.ceil(math.ceil(passes / accumulation) * settings["num_train_epochs"])
        facts["optimizer_steps"] = known
    return facts


def question_facts(
    recipe: Recipe, rewards: list[Reward], settings: dict[str, Any], steps: dict[str, Any]
) -> list[dict[str, Any]]:
    """Of each reward what it asks its judges, for a completion that it applies to and for a batch of such."""
    words = settings.get("max_completion_length", 0) * WORDS_PER_TOKEN
    references = recipe.data.references if isinstance(recipe.data, ScenesPart) else 1
    facts: list[dict[str, Any]] = []
    for part, reward in zip(recipe.rewards, rewards, strict=True):
        fact: dict[str, Any] = {"reward": reward.__name__, "metric": part.metric}
        cost = reward.cost(words, references)
        if cost is not None:
            batch = steps["completions_per_batch"]
            fact |= {"per_completion": cost.questions, "exact": cost.exact, "how": cost.how}
            fact |= {"prompt_tokens": round(cost.prompt_tokens), "written_tokens": round(cost.written_tokens)}
            fact |= {"per_batch": cost.questions * batch, "prompt_tokens_per_batch": round(cost.prompt_tokens * batch)}
        facts.append(fact)
    return facts


def memory_facts(recipe: Recipe, settings: dict[str, Any], launch: Launch) -> dict[str, Any]:
    """Bytes on each GPU, or why there are none to tell."""
    if settings["use_cpu"]:
        return {"unknown": "the recipe trains on the CPU (trainer.use_cpu)"}
    policy = None if recipe.policy.model == "tiny" else size_by_name(recipe.policy.model)
    if policy is None:
        return {"unknown": f"the size of {recipe.policy.model} is not known here (no config.json, not in the table)"}
    tokens = settings["per_device_train_batch_size"] * (prompt_tokens(recipe.data) + longest(settings))
    rank = recipe.policy.lora.r if recipe.policy.lora else None
    alone = Plan(policy, NOTHING, launch.processes, launch.sharding, "server", rank, tokens)
    plans: list[Plan] = []
    for judge, _ in asked_judges(recipe):
        kind, model = judge_model(judge.name)
        if kind not in ("vllm", "transformers"):
            continue
        size = size_by_name(model)
        if size is None:
            return {"unknown": f"the size of the judge {model} is not known here (no config.json, not in the table)"}
        cache = judge.options.get("memory")
        kv_tokens = int(cache / size.kv_bytes) if cache and cache > 1 else KV_TOKENS
        parallel = int(judge.options.get("tensor_parallel", 1))
        plans.append(
            replace(alone, judge=size, placement=judge.placement, judge_parallel=parallel, kv_tokens=kv_tokens)
        )
    largest = max(plans, key=lambda plan: sum(plan.judge_awake.values()), default=alone)  # awake one after another
    others = {"other judges' processes": (len(plans) - 1) * PROCESS} if len(plans) > 1 else {}
    return {
        "tokens_per_pass": tokens,
        "training": {**largest.training, **others},
        "judging": {**largest.judging, **others},
        "main_memory": sum(main_memory(plan, launch.machines) for plan in plans),
        "generation_engine": bool(settings.get("use_vllm")),
    }


def main_memory(plan: Plan, machines: int) -> int:
    """Bytes of the fullest machine: engines of all ranks are on all machines, the one of rank 0 is on the first."""
    return plan.main_memory // machines if plan.placement == "per_rank" else plan.main_memory


def longest(settings: dict[str, Any]) -> int:
    return settings.get("max_completion_length") or settings.get("max_length") or 1024


def prompt_tokens(data: DataPart | ScenesJudgePart) -> int:
    """Of a prompt with its picture, roughly."""
    parts = data.parts if isinstance(data, MixedPart) else [data]
    limits = [part.max_pixels for part in parts if isinstance(part, RowsPart) and part.max_pixels]
    return max(limits) // PIXELS_PER_TOKEN + 128 if limits else PROMPT_TOKENS


def show(plan: dict[str, Any]) -> None:
    console = Console()
    table = Table("", "what would run", title="Dry run: nothing is loaded, downloaded or written", show_lines=True)
    for name, text in lines(plan):
        table.add_row(name, text)
    console.print(table)


def lines(plan: dict[str, Any]) -> list[tuple[str, str]]:
    recipe, launch, policy, data = plan["recipe"], plan["launch"], plan["policy"], plan["data"]
    judges = [
        f"{j['name']}{billions(j['parameters'])}: {j['placement']}, for {', '.join(j['metrics'])}{cache_text(j)}"
        for j in plan["judges"]
    ]
    rows = "its number of rows shows when it is read" if data["rows"] is None else f"{data['rows']:,} rows"
    on = f" on {launch['machines']} machines" if launch["machines"] > 1 else ""
    configured = f" ({launch['config']})" if launch["config"] else "; say --accelerate-config for another"
    return [
        ("algorithm", recipe["algorithm"]),
        ("launch", f"{launch['processes']} processes{on}, divided: {launch['sharding']}{configured}"),
        ("policy", f"{policy['model']}{billions(policy['parameters'])}, {policy['learns']}"),
        ("judges", "\n".join(judges) or "none"),
        ("data", f"{data['source']}: {rows}"),
        ("downloads", "\n".join(plan["downloads"]) or "none"),
        ("steps", steps_text(plan["steps"])),
        ("questions", "\n".join(map(questions_text, plan["questions"])) or "none"),
        ("memory", memory_text(plan["memory"])),
        ("output", f"{recipe['output']}: {recipe['folder']}"),
    ]


def cache_text(judge: dict[str, Any]) -> str:
    cache = judge["cache"]
    if cache is None:
        return ""
    whole = f"{cache['bytes_of_context'] / GB:.1f} GB would hold {cache['context']:,}"
    return f"; its KV cache of {cache['bytes'] / GB:.1f} GB lets it read {cache['reads']:,} tokens at once ({whole})"


def billions(parameters: int | None) -> str:
    return "" if parameters is None else f" ({parameters / 1e9:.2f} B parameters)"


def steps_text(steps: dict[str, Any]) -> str:
    total = steps["optimizer_steps"]
    whole = "as many optimizer steps as the data gives" if total is None else f"{total:,} optimizer steps"
    if "rows_per_step" in steps:
        return f"{whole}, {steps['rows_per_step']} rows each"
    groups = f"{steps['groups_per_batch']} groups of {steps['completions_per_group']}"
    batch = f"a batch of {steps['completions_per_batch']} completions ({groups}) serves {steps['steps_per_batch']:g}"
    return f"{whole}; {batch}" + (", and dynamic sampling writes more" if steps["dynamic_sampling"] else "")


def questions_text(fact: dict[str, Any]) -> str:
    if "per_completion" not in fact:
        return f"{fact['reward']}: not known, as the metric does not say (Reward.cost)"
    about = "" if fact["exact"] else "about "
    counts = f"{about}{fact['per_completion']:,} a completion, {about}{fact['per_batch']:,} a batch"
    read = f"about {fact['prompt_tokens_per_batch']:,} tokens read for a batch, pictures not counted"
    return f"{fact['reward']}: {counts}, {read} ({fact['how']})"


def memory_text(memory: dict[str, Any]) -> str:
    if "unknown" in memory:
        return f"not reckoned: {memory['unknown']}"
    texts = [
        f"while {phase}: {sum(memory[phase].values()) / GB:.1f} GB on a GPU = "
        + " + ".join(f"{part} {size / GB:.1f}" for part, size in memory[phase].items())
        for phase in ("training", "judging")
    ]
    engine = "; TRL's engine that generates is not in it" if memory["generation_engine"] else ""
    return "\n".join(
        [
            *texts,
            f"main memory of a machine, for sleeping judges: {memory['main_memory'] / GB:.1f} GB",
            f"computed for {memory['tokens_per_pass']:,} tokens a pass (prompts estimated), not measured{engine}",
        ]
    )
