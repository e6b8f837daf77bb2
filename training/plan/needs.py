"""What a recipe needs on a launch: its judges, its memory and its steps.

plan = plan_of(load_recipe(path), read_launch("accelerate_configs/zero3.yaml"))
sum(plan.training.values()) / 1e9       # GB on each GPU
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import torch
import yaml
from accelerate.commands.config.config_args import load_config_from_file

from spanreward.training.plan.known_models import size_by_name
from spanreward.training.plan.memory import Awake, Plan
from spanreward.training.recipe import JudgePart, Recipe, RecipeError, trainer_config

Settings = Mapping[str, Any]  # trainer arguments with TRL's defaults

GPU_MEMORY = 80_000_000_000  # assumed where there is none
KV_TOKENS = 40_000  # assumed where the judge's options do not say how much memory its cache has
PROMPT_TOKENS = 1024  # assumed: a picture and a question
PIXELS_PER_TOKEN = 28 * 28  # of Qwen2.5-VL


@dataclass(frozen=True, slots=True)
class Launch:
    """An accelerate launch. sharding: what the processes divide (SHARDED in memory.py). machines: all of equal size."""

    processes: int = 1
    sharding: str = "none"
    machines: int = 1


@dataclass(frozen=True, slots=True)
class Steps:
    total: int | None  # optimizer steps; None where only loading the data tells
    per_batch: float  # of these, on one batch of completions
    completions: int  # of a batch
    groups: int


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


def settings_of(recipe: Recipe) -> Settings:
    return {field.name: field.default for field in fields(trainer_config(recipe.algorithm))} | recipe.trainer


def asked_judges(recipe: Recipe) -> list[tuple[JudgePart, list[str]]]:
    """Returns each judge that a run would start, once, with the metrics that ask it. HarmonicEval may have two."""
    found: dict[str, tuple[JudgePart, list[str]]] = {}
    for part in recipe.rewards:
        second = [JudgePart(name=part.options["text_judge"])] if part.options.get("text_judge") else []
        for judge in [*part.judge.answering, *second]:
            found.setdefault(judge.model_dump_json(), (judge, []))[1].append(part.metric)
    return list(found.values())


def local_model(judge: JudgePart) -> str:
    """Returns the model that a judge has on a rank's GPU, "" without one."""
    kind, _, model = judge.name.partition(":")
    return model if kind in ("vllm", "transformers") else ""


def plan_of(recipe: Recipe, launch: Launch) -> Plan | None:
    """Returns the memory of a run; None on the CPU, and where the size of a model is not known here."""
    settings, parts = settings_of(recipe), [judge for judge, _ in asked_judges(recipe) if local_model(judge)]
    policy, *sizes = (size_by_name(model) for model in (recipe.policy.model, *map(local_model, parts)))
    if settings["use_cpu"] or policy is None or None in sizes:
        return None
    judges = []
    for options, size in zip((judge.options for judge in parts), filter(None, sizes), strict=True):
        cache, parallel = options.get("memory"), int(options.get("tensor_parallel", 1))
        judges.append(Awake(size, parallel, int(cache / size.kv_bytes) if cache and cache > 1 else KV_TOKENS))
    pixels = [part.max_pixels for part in recipe.data.parts if part.max_pixels]
    prompt = max(pixels) // PIXELS_PER_TOKEN + 128 if pixels else PROMPT_TOKENS
    longest = settings.get("max_completion_length") or settings.get("max_length") or 1024
    tokens = settings["per_device_train_batch_size"] * (prompt + longest)
    engine = None
    if settings.get("use_vllm"):
        share = settings["vllm_gpu_memory_utilization"] if settings["vllm_mode"] == "colocate" else 0
        engine = int(share * gpu_memory())
    return Plan(
        policy=policy,
        judges=tuple(judges),
        gpus=launch.processes,
        sharding=launch.sharding,
        lora_rank=recipe.policy.lora.r if recipe.policy.lora else None,
        tokens=tokens,
        written_tokens=tokens * (settings.get("steps_per_generation") or settings["gradient_accumulation_steps"]),
        dtype=recipe.policy.dtype,
        engine=engine,
        engine_sleeps=settings.get("vllm_enable_sleep_mode", False),
    )


def generating_steps(settings: Settings, processes: int, rows: int | None) -> Steps:
    """Returns the steps of GRPO and DAPO. rows: None where their number is not known. Raises RecipeError for a batch
    that is no whole number of groups.
    """
    per_device, generations = settings["per_device_train_batch_size"], settings["num_generations"]
    batch, accumulation = settings["generation_batch_size"], settings["gradient_accumulation_steps"]
    rounds = settings["steps_per_generation"] or (batch // (per_device * processes) if batch else accumulation)
    batch = batch or per_device * processes * rounds
    if batch % generations:
        raise RecipeError(
            f"a batch of {batch} completions ({per_device} x {rounds} on {processes} processes) is not a whole "
            f"number of groups of trainer.num_generations {generations}."
        )
    groups, passes = batch // generations, rounds * settings["num_iterations"]  # of a process over one batch
    total = settings["max_steps"] if settings["max_steps"] > 0 else None
    if rows is not None and total is None:
        total = math.ceil(math.ceil(rows // groups * passes / accumulation) * settings["num_train_epochs"])
    return Steps(total, passes / accumulation, batch, groups)


def gpu_memory() -> int:
    """Returns the bytes of this machine's first GPU; GPU_MEMORY without one."""
    return torch.cuda.get_device_properties(0).total_memory if torch.cuda.is_available() else GPU_MEMORY
