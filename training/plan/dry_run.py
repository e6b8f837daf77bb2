"""What a recipe would run. Nothing is loaded, started or downloaded, and nothing but the plan is written.

    dry_run(load_recipe("recipes/qwen2.5-vl-7b/docent-posh-dapo.yaml"), "accelerate_configs/zero3.yaml", "plan.json")

Counts come from the recipe and TRL's defaults. A number that depends on completions or absent data is an estimate.
"""

import json
import math
from dataclasses import asdict, dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

import torch
import yaml
from accelerate.commands.config.config_args import load_config_from_file
from rich.console import Console
from rich.table import Table

from spanreward.rewards.cost import WORDS_PER_TOKEN
from spanreward.rewards.judges.local.vllm_arguments import tokens_that_fit
from spanreward.rewards.reward import Reward
from spanreward.training.plan.here import engine_here, gpus_here, is_hub_id, policy_here, prompts_here
from spanreward.training.plan.known_models import size_by_name
from spanreward.training.plan.memory import PROCESS, Plan, Size
from spanreward.training.recipe import DataPart, FilePart, HubPart, JudgePart, Recipe, RecipeError, trainer_config
from spanreward.training.run import build_rewards
from spanreward.training.run_folder import checkpoints

GB = 1e9
NOTHING = Size(parameters=0, layers=0, hidden=0, kv_numbers=0, vocabulary=0, linear=0, context=0)
KV_TOKENS = 40_000  # assumed where the judge's options do not say how much memory its cache has
GPU_MEMORY = 80_000_000_000  # assumed where there is none
REQUESTS_A_SECOND = 1000  # of one engine, on one CPU core (docs/evidence/cost.md)
PROMPT_TOKENS = 1024  # assumed: a picture and a question
PIXELS_PER_TOKEN = 28 * 28  # of Qwen2.5-VL


@dataclass(frozen=True, slots=True)
class Launch:
    """An accelerate launch. sharding: what the processes divide (SHARDED in memory.py). machines: all of equal size."""

    processes: int = 1
    sharding: str = "none"
    machines: int = 1


def dry_run(recipe: Recipe, accelerate_config: str | None = None, json_path: str | None = None) -> dict[str, Any]:
    """Print what this machine has and the plan, write both to `json_path` if that is given, and return them. Raises
    RecipeError as a run would, but not for what this machine lacks, which is in the plan as `here`.
    """
    launch = read_launch(accelerate_config)
    prompts = prompt_files(recipe)
    rewards = build_rewards(  # opens nothing, and refuses unknown names; our prompts stand in for missing ones
        [
            part.model_copy(update={"options": {**part.options, "prompts": None}}) if lacking else part
            for part, (_, lacking) in zip(recipe.rewards, prompts.values(), strict=True)
        ]
    )
    settings = settings_of(recipe)
    here = {name: found for name, found in prompts.items() if found[0]} | findings(recipe, settings, launch)
    console = Console()
    for name, (found, stops) in here.items():
        console.print(f"{name}: {found}", style="red" if stops else None, markup=False, soft_wrap=True)
    policy = size_by_name(recipe.policy.model)
    learns = f"LoRA of rank {recipe.policy.lora.r}" if recipe.policy.lora else "all weights"
    rows = row_count(recipe.data, recipe.algorithm == "sft")
    plan: dict[str, Any] = {
        "recipe": {"algorithm": recipe.algorithm, "output": recipe.output, "folder": folder_state(recipe)},
        "here": {name: {"found": found, "stops": stops} for name, (found, stops) in here.items()},
        "launch": {"config": accelerate_config, **asdict(launch)},
        "policy": {"model": recipe.policy.model, "parameters": policy.parameters if policy else None, "learns": learns},
        "judges": judge_facts(recipe),
        "data": {"source": describe_data(recipe.data), "rows": rows},
        "downloads": downloads(recipe),
        "steps": step_facts(recipe, settings, launch.processes, rows),
    }
    plan["questions"] = question_facts(recipe, rewards, settings, plan["steps"], launch)
    plan["memory"] = memory_facts(recipe, settings, launch)
    table = Table("", "what would run", title="Dry run: nothing is loaded, downloaded or written", show_lines=True)
    for name, text in lines(plan):
        table.add_row(name, text)
    console.print(table)
    if json_path is not None:
        Path(json_path).write_text(json.dumps(plan, indent=2) + "\n")
    return plan


def settings_of(recipe: Recipe) -> dict[str, Any]:
    return {field.name: field.default for field in fields(trainer_config(recipe.algorithm))} | recipe.trainer


def prompt_files(recipe: Recipe) -> dict[str, tuple[str, bool]]:
    """Returns whether each reward's prompts are there, as here.py says; ("", False) for a reward with our own."""
    given = [(part.metric, part.options.get("prompts")) for part in recipe.rewards]
    return {
        f"rewards.{number}.options.prompts": prompts_here(metric, path) if isinstance(path, str) else ("", False)
        for number, (metric, path) in enumerate(given)
    }


def findings(recipe: Recipe, settings: dict[str, Any], launch: Launch) -> dict[str, tuple[str, bool]]:
    """Returns what this machine has for the policy, each judge and the launch, as here.py says."""
    found = {"policy": policy_here(recipe.policy.model)}
    found |= {f"judge {judge.name}": engine_here(judge_model(judge.name)[0]) for judge, _ in asked_judges(recipe)}
    if settings.get("use_vllm"):
        found["trainer.use_vllm"] = engine_here("vllm")
    if not settings["use_cpu"]:
        found["GPUs"] = gpus_here(launch.processes // launch.machines)
    return found


def read_launch(path: str | None) -> Launch:
    """Returns the launch in accelerate's configuration; one process without. Raises RecipeError for a bad file."""
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


def judge_facts(recipe: Recipe) -> list[dict[str, Any]]:
    facts = []
    for asked, metrics in asked_judges(recipe):
        kind, model = judge_model(asked.name)
        size = size_by_name(model) if kind in ("vllm", "transformers") else None
        placement = {"match": "in each rank, no model", "server": "on its server"}.get(kind, "per_rank")
        cache = cache_facts(asked, size) if size and kind == "vllm" else None
        parameters = size.parameters if size else None
        names = {"name": asked.name, "placement": placement, "parameters": parameters, "metrics": metrics}
        facts.append({**names, "cache": cache})
    return facts


def cache_facts(judge: JudgePart, size: Size) -> dict[str, int] | None:
    """Returns what the engine's KV cache holds, in bfloat16. Raises RecipeError where it holds next to nothing.

    vLLM refuses a cache that does not hold the longest request.
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
    """Returns each judge that a run would start, once, with the metrics that ask it. HarmonicEval may have two."""
    found: dict[str, tuple[JudgePart, list[str]]] = {}
    for part in recipe.rewards:
        judges = part.judge.answering
        if isinstance(part.options.get("text_judge"), str):
            judges = [*judges, JudgePart(name=part.options["text_judge"])]
        for judge in judges:
            found.setdefault(judge.model_dump_json(), (judge, []))[1].append(part.metric)
    return list(found.values())


def judge_model(name: str) -> tuple[str, str]:
    """Returns a judge's kind (match, transformers, vllm or server) and its model."""
    kind, _, model = name.partition(":")
    return ("server", model.partition("#")[2]) if kind in ("server", "chat") else (kind, model)


def describe_data(data: DataPart) -> str:
    texts = []
    for part in data.parts:
        if isinstance(part, FilePart):
            texts.append(" ".join([part.source, *(f"{name}={value}" for name, value in part.options.items())]))
        else:
            texts.append(f"hub {part.id}, {part.split}" if isinstance(part, HubPart) else f"jsonl {part.path}")
    return " + ".join(texts)


def downloads(recipe: Recipe) -> list[str]:
    """Returns what the first use downloads where the hub's cache does not have it."""
    data = [part.id for part in recipe.data.parts if isinstance(part, HubPart)]
    judges = [judge_model(judge.name) for judge, _ in asked_judges(recipe)]
    models = [recipe.policy.model, *(model for kind, model in judges if kind in ("vllm", "transformers"))]
    missing = [f"data {name}" for name in data if not Path(name).exists()]
    return missing + [f"model {name}" for name in models if is_hub_id(name)]


def row_count(data: DataPart, completions: bool) -> int | None:
    """Returns the number of rows; None where only loading tells. Raises RecipeError for a missing file."""
    if completions:
        return None  # one for each of a row's references
    counts: list[int | None] = []
    for part in data.parts:
        if isinstance(part, HubPart | FilePart):
            counts.append(part.count)
            continue
        if not Path(part.path).is_file():
            raise RecipeError(f"there is no data file {part.path}: data.path goes from the folder that you start in.")
        with Path(part.path).open() as file:
            counts.append(sum(1 for _ in islice((line for line in file if line.strip()), part.count)))
    return None if None in counts else sum(filter(None, counts))


def step_facts(recipe: Recipe, settings: dict[str, Any], processes: int, rows: int | None) -> dict[str, Any]:
    """Returns the optimizer steps and their batches. Raises RecipeError for a batch that is no whole groups."""
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
    whole = None if passes is None else math.ceil(math.ceil(passes / accumulation) * settings["num_train_epochs"])
    return {**facts, "optimizer_steps": settings["max_steps"] if settings["max_steps"] > 0 else whole}


def question_facts(
    recipe: Recipe, rewards: list[Reward], settings: dict[str, Any], steps: dict[str, Any], launch: Launch
) -> list[dict[str, Any]]:
    """Returns for each reward what it asks its judges, per completion that it applies to and per batch of these. For a
    vLLM judge also its engines, and the seconds per batch that they need for requests alone.
    """
    words = settings.get("max_completion_length", 0) * WORDS_PER_TOKEN
    facts: list[dict[str, Any]] = []
    for part, reward in zip(recipe.rewards, rewards, strict=True):
        fact: dict[str, Any] = {"reward": reward.__name__, "metric": part.metric}
        cost = reward.cost(words, 1)
        if cost is not None:
            batch = steps.get("completions_per_batch", 0)  # SFT generates none
            fact |= {"per_completion": cost.questions, "exact": cost.exact, "how": cost.how}
            fact |= {"prompt_tokens": round(cost.prompt_tokens), "written_tokens": round(cost.written_tokens)}
            fact |= {"per_batch": cost.questions * batch, "prompt_tokens_per_batch": round(cost.prompt_tokens * batch)}
            if cost.computed_tokens is not None:
                fact["computed_tokens_per_batch"] = round(cost.computed_tokens * batch)
            if batch and judge_model(part.judge.name)[0] == "vllm":
                parallel = int(part.judge.options.get("tensor_parallel", 1))
                engines = max(1, launch.processes // parallel)
                fact |= {"engines": engines, "request_seconds": fact["per_batch"] / REQUESTS_A_SECOND / engines}
        facts.append(fact)
    return facts


def memory_facts(recipe: Recipe, settings: dict[str, Any], launch: Launch) -> dict[str, Any]:
    """Returns the bytes on each GPU, or under "unknown" why they cannot be computed."""
    if settings["use_cpu"]:
        return {"unknown": "the recipe trains on the CPU (trainer.use_cpu)"}
    policy = size_by_name(recipe.policy.model)
    if policy is None:
        return {"unknown": f"the size of {recipe.policy.model} is not known here (no config.json, not in the table)"}
    longest = settings.get("max_completion_length") or settings.get("max_length") or 1024
    tokens = settings["per_device_train_batch_size"] * (prompt_tokens(recipe.data) + longest)
    rank = recipe.policy.lora.r if recipe.policy.lora else None
    alone = Plan(policy, NOTHING, launch.processes, launch.sharding, "server", rank, tokens, dtype=recipe.policy.dtype)
    if settings.get("use_vllm"):
        share = settings["vllm_gpu_memory_utilization"] if settings["vllm_mode"] == "colocate" else 0
        alone = replace(alone, engine=int(share * gpu_memory()), engine_sleeps=settings["vllm_enable_sleep_mode"])
    rounds = settings.get("steps_per_generation") or settings["gradient_accumulation_steps"]
    alone = replace(alone, written_tokens=tokens * rounds)
    plans: list[Plan] = []
    asleep = 0  # main memory of the fullest machine
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
        plan = replace(alone, judge=size, placement="per_rank", judge_parallel=parallel, kv_tokens=kv_tokens)
        plans.append(plan)
        asleep += plan.main_memory // launch.machines
    largest = max(plans, key=lambda plan: sum(plan.judge_awake.values()), default=alone)  # awake one after another
    others = {"other judges' processes": (len(plans) - 1) * PROCESS} if len(plans) > 1 else {}
    return {
        "tokens_per_pass": tokens,
        "training": {**largest.training, **others},
        "judging": {**largest.judging, **others},
        **({} if recipe.algorithm == "sft" else {"writing": {**largest.writing, **others}}),
        "main_memory": asleep,
        "gpu": gpu_memory(),
    }


def gpu_memory() -> int:
    """Returns the bytes of this machine's first GPU; GPU_MEMORY without one."""
    return torch.cuda.get_device_properties(0).total_memory if torch.cuda.is_available() else GPU_MEMORY


def prompt_tokens(data: DataPart) -> int:
    limits = [part.max_pixels for part in data.parts if part.max_pixels]
    return max(limits) // PIXELS_PER_TOKEN + 128 if limits else PROMPT_TOKENS


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
        ("launch", f"{launch['processes']} processes{on}, sharding: {launch['sharding']}{configured}"),
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
    batch = f"{steps['steps_per_batch']:g} per batch of {steps['completions_per_batch']} completions ({groups})"
    return f"{whole}, {batch}" + (", and dynamic sampling writes more" if steps["dynamic_sampling"] else "")


def questions_text(fact: dict[str, Any]) -> str:
    if "per_completion" not in fact:
        return f"{fact['reward']}: not known, since the metric does not define Reward.cost"
    about = "" if fact["exact"] else "about "
    counts = f"{about}{fact['per_completion']:,} per completion, {about}{fact['per_batch']:,} per batch"
    read = f"the judge reads about {fact['prompt_tokens_per_batch']:,} tokens per batch, pictures not counted"
    if "computed_tokens_per_batch" in fact:
        read += f", and computes {fact['computed_tokens_per_batch']:,} of them if its prefix cache keeps the rest"
    if "engines" in fact:
        rate = f"at {REQUESTS_A_SECOND:,} a second, about what vLLM does where the model has nothing to compute"
        read += f"; the requests alone take {fact['request_seconds']:.1f} s, engines: {fact['engines']} ({rate})"
    return f"{fact['reward']}: {counts}, {read} ({fact['how']})"


def memory_text(memory: dict[str, Any]) -> str:
    if "unknown" in memory:
        return f"not computed: {memory['unknown']}"
    texts = [
        f"while {phase}: {sum(memory[phase].values()) / GB:.1f} GB on a GPU = "
        + " + ".join(f"{part} {size / GB:.1f}" for part, size in memory[phase].items())
        for phase in ("writing", "judging", "training")
        if phase in memory
    ]
    texts.append(f"main memory of a machine, for sleeping judges: {memory['main_memory'] / GB:.1f} GB")
    on = f"a GPU of {memory['gpu'] / GB:.0f} GB"
    texts.append(
        f"computed for {memory['tokens_per_pass']:,} tokens per pass (prompts estimated) and {on}, not measured"
    )
    return "\n".join(texts)
