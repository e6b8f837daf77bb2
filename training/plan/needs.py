"""Computes what a recipe needs on a launch: judges, memory and steps.

plan = plan_of(load_recipe(path), read_launch("accelerate_configs/zero3.yaml"))
sum(plan.training.values()) / 1e9  # GB on each GPU
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
import yaml
from accelerate.commands.config.config_args import load_config_from_file

from spanreward.training.plan.memory import Awake, Plan, size_by_name
from spanreward.training.policy import base_of
from spanreward.training.recipe import JudgePart, Recipe, RecipeError, trainer_config

ASSUMED_GPU_BYTES = 80_000_000_000  # assumed for a machine without a GPU
PROMPT_TOKENS = 1024  # assumed tokens of a picture and a question
PIXELS_PER_TOKEN = 28 * 28  # of Qwen2.5-VL


@dataclass(frozen=True, slots=True)
class Launch:
    """The processes and machines of a run.

    Attributes:
        processes: the number of processes on all machines together, each with a GPU.
        sharding: how the processes divide the policy, a key of SHARDED_PARTS in memory.py, such as
            "zero3".
        machines: the number of machines, all with equally many processes.
    """

    processes: int = 1
    sharding: str = "none"
    machines: int = 1


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a GRPO or DAPO run.

    Attributes:
        total: all optimizer steps; None if only loading the data shows the number.
        per_batch: the optimizer steps on one batch of completions.
        completions: the completions of one batch, over all processes.
        groups: the groups of one batch. A group is the completions of one prompt.
    """

    total: int | None
    per_batch: float
    completions: int
    groups: int


def read_launch(path: str | None) -> Launch:
    """Returns the launch that a configuration file of accelerate describes; one process without a
    file.

    Raises RecipeError for a file that accelerate cannot read.
    """
    if path is None:
        return Launch()
    try:
        config = load_config_from_file(path)
    except (OSError, ValueError, TypeError, yaml.YAMLError) as error:
        raise RecipeError(
            f"{path} is no configuration of accelerate: {' '.join(str(error).split())}"
        ) from error
    # DDP, which accelerate calls MULTI_GPU, divides nothing
    sharding = "none"
    kind = config.distributed_type.value
    stage = config.deepspeed_config.get("zero_stage", 2)
    if kind == "FSDP":
        sharding = "fsdp"
    elif kind == "DEEPSPEED" and stage:
        sharding = f"zero{stage}"
    return Launch(max(1, config.num_processes), sharding, config.num_machines)


def settings_of(recipe: Recipe) -> dict[str, Any]:
    """Returns the trainer's arguments: those of the recipe, and TRL's defaults for all others."""
    defaults = {}
    for field in fields(trainer_config(recipe.algorithm)):
        defaults[field.name] = field.default
    return defaults | recipe.trainer


def asked_judges(recipe: Recipe) -> list[tuple[JudgePart, list[str]]]:
    """Returns each judge that a run would start, once, with the metrics that ask it.

    HarmonicEval may have a second judge (`text_judge`).
    """
    # by all settings, because two judges with one name and different options are two engines
    metrics_of: dict[str, tuple[JudgePart, list[str]]] = {}
    for part in [*recipe.rewards, *recipe.watching]:
        text_judge = part.options.get("text_judge")
        judges = list(part.judge.answering)  # the members of a jury or cascade, or the judge itself
        if text_judge:
            judges.append(JudgePart(name=text_judge))
        for judge in judges:
            key = judge.model_dump_json()
            _, metrics = metrics_of.setdefault(key, (judge, []))
            metrics.append(part.metric)
    return list(metrics_of.values())


def plan_of(recipe: Recipe, launch: Launch) -> Plan | None:
    """Returns the memory of a run; None on the CPU, and if a model's size is not known on this
    machine.
    """
    settings = settings_of(recipe)
    policy = size_by_name(base_of(recipe.policy.model))
    if settings["use_cpu"] or policy is None:
        return None
    # the judges that share the training GPUs
    judges = []
    for judge, _ in asked_judges(recipe):
        kind, _, model = judge.name.partition(":")
        # other kinds of judges, such as servers, hold nothing large on a rank's GPU
        if kind not in ("vllm", "transformers"):
            continue
        size = size_by_name(model)
        if size is None:
            return None
        parallel = int(judge.options.get("tensor_parallel", 1))
        awake = Awake(size, parallel)
        # above 1, `memory` is the bytes of the KV cache; up to 1, it is a share of the GPU's memory
        cache = judge.options.get("memory") or 0
        if cache > 1:
            awake = replace(awake, kv_tokens=int(cache / size.kv_bytes))
        judges.append(awake)
    # the tokens of one pass: each row has a prompt with its picture, and a completion
    pixels = [part.max_pixels for part in recipe.data.parts if part.max_pixels]
    prompt = PROMPT_TOKENS
    if pixels:
        prompt = max(pixels) // PIXELS_PER_TOKEN + 128
    longest = settings.get("max_completion_length") or settings.get("max_length") or 1024
    tokens = settings["per_device_train_batch_size"] * (prompt + longest)
    # the bytes of TRL's engine, if TRL writes through vLLM
    share = 0.0  # of each GPU's memory, for TRL's engine
    if settings.get("vllm_mode") == "colocate":
        share = settings["vllm_gpu_memory_utilization"]
    engine = None
    if settings.get("use_vllm"):
        engine = int(share * gpu_bytes())
    # transformers writes the completions of this many passes at once
    batches = settings.get("steps_per_generation") or settings["gradient_accumulation_steps"]
    return Plan(
        policy=policy,
        judges=tuple(judges),
        gpus=launch.processes,
        sharding=launch.sharding,
        lora_rank=recipe.policy.lora.r if recipe.policy.lora else None,
        tokens=tokens,
        written_tokens=tokens * batches,
        dtype=recipe.policy.dtype,
        engine=engine,
        engine_sleeps=settings.get("vllm_enable_sleep_mode", False),
    )


def generating_steps(settings: Mapping[str, Any], processes: int, rows: int | None) -> Steps:
    """Returns the steps of a GRPO or DAPO run, counted as TRL counts them.

    settings: those of `settings_of`. processes: the number of processes of the launch. rows: the
    number of rows of the data; None if unknown. Raises RecipeError for a batch that is no whole
    number of groups.
    """
    per_device = settings["per_device_train_batch_size"]
    generations = settings["num_generations"]
    batch = settings["generation_batch_size"]
    accumulation = settings["gradient_accumulation_steps"]
    # A batch of completions is split into passes. The settings have the size of the batch or the
    # number of passes, and each decides the other.
    passes = settings["steps_per_generation"]
    per_pass = per_device * processes  # completions of a pass, over all processes
    if not passes and batch:
        passes = batch // per_pass
    elif not passes:
        passes = accumulation
    batch = batch or per_pass * passes
    if batch % generations:
        raise RecipeError(
            f"a batch of {batch} completions ({per_device} x {passes} on {processes} processes) is "
            f"not a whole number of groups of trainer.num_generations {generations}."
        )
    groups = batch // generations
    all_passes = passes * settings["num_iterations"]  # with the iterations over the same batch
    # as in transformers, max_steps overrides the epochs
    total = None
    if settings["max_steps"] > 0:
        total = settings["max_steps"]
    if rows is not None and total is None:
        batches_per_epoch = rows // groups
        steps_per_epoch = math.ceil(batches_per_epoch * all_passes / accumulation)
        total = math.ceil(steps_per_epoch * settings["num_train_epochs"])
    return Steps(
        total=total,
        per_batch=all_passes / accumulation,
        completions=batch,
        groups=groups,
    )


def gpu_bytes() -> int:
    """Returns the bytes of memory of this machine's first GPU; without a GPU, ASSUMED_GPU_BYTES."""
    if torch.cuda.is_available():
        return torch.cuda.get_device_properties(0).total_memory
    return ASSUMED_GPU_BYTES
