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
QUESTION_TOKENS = 128  # assumed tokens of a question alone
DEFAULT_COMPLETION_TOKENS = 1024  # assumed where the trainer's settings have no limit
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

    HarmonicEval may have a second judge (`text_judge`). Two judges with one name and different
    options are two judges.
    """
    # (judge, metrics that ask it) by the judge's whole block as text
    metrics_of: dict[str, tuple[JudgePart, list[str]]] = {}
    for part in [*recipe.rewards, *recipe.watching]:
        text_judge = part.options.get("text_judge")
        judges = list(part.judge.answering)  # the members of a jury or cascade, or the judge itself
        if text_judge:
            judges.append(JudgePart(name=text_judge))
        for judge in judges:
            block_as_text = judge.model_dump_json()
            _, metrics = metrics_of.setdefault(block_as_text, (judge, []))
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
    judges = judges_on_gpus(recipe)
    if judges is None:
        return None
    tokens = tokens_of_pass(recipe, settings)
    # transformers writes the completions of this many passes at once
    passes = settings.get("steps_per_generation") or settings["gradient_accumulation_steps"]
    return Plan(
        policy=policy,
        judges=tuple(judges),
        gpus=launch.processes,
        sharding=launch.sharding,
        lora_rank=recipe.policy.lora.r if recipe.policy.lora else None,
        tokens=tokens,
        written_tokens=tokens * passes,
        dtype=recipe.policy.dtype,
        engine=engine_bytes(settings),
        engine_sleeps=settings.get("vllm_enable_sleep_mode", False),
    )


def judges_on_gpus(recipe: Recipe) -> list[Awake] | None:
    """Returns the judges that share the GPUs of training; None if the size of a judge's model is
    not known on this machine.

    Other kinds of judges, such as servers, need no memory of these GPUs worth counting.
    """
    judges = []
    for judge, _ in asked_judges(recipe):
        kind, _, model = judge.name.partition(":")  # such as "vllm:Qwen/Qwen3-14B"
        if kind not in ("vllm", "transformers"):
            continue
        size = size_by_name(model)
        if size is None:
            return None
        awake = Awake(size, parallel=int(judge.options.get("tensor_parallel", 1)))
        # above 1, `memory` is the bytes of the KV cache; up to 1, it is a share of the GPU's memory
        cache = judge.options.get("memory") or 0
        if cache > 1:
            awake = replace(awake, kv_tokens=int(cache / size.kv_bytes))
        judges.append(awake)
    return judges


def tokens_of_pass(recipe: Recipe, settings: Mapping[str, Any]) -> int:
    """Returns the number of tokens in one pass on one GPU: of the prompts with their pictures, and
    of the longest completions. The length of a prompt is an estimate.

    settings: those of `settings_of`.
    """
    prompt_tokens = PROMPT_TOKENS
    pixels = [part.max_pixels for part in recipe.data.parts if part.max_pixels]
    if pixels:
        prompt_tokens = max(pixels) // PIXELS_PER_TOKEN + QUESTION_TOKENS
    completion_tokens = (
        settings.get("max_completion_length")
        or settings.get("max_length")
        or DEFAULT_COMPLETION_TOKENS
    )
    return settings["per_device_train_batch_size"] * (prompt_tokens + completion_tokens)


def engine_bytes(settings: Mapping[str, Any]) -> int | None:
    """Returns the bytes of each training GPU that TRL's vLLM engine takes: 0 if the engine has GPUs
    of its own, and None if TRL writes completions without vLLM.

    settings: those of `settings_of`.
    """
    if not settings.get("use_vllm"):
        return None
    if settings.get("vllm_mode") != "colocate":
        return 0
    return int(settings["vllm_gpu_memory_utilization"] * gpu_bytes())


def generating_steps(settings: Mapping[str, Any], processes: int, rows: int | None) -> Steps:
    """Returns the steps of a GRPO or DAPO run, counted as TRL counts them.

    settings: those of `settings_of`. processes: the number of processes of the launch. rows: the
    number of rows of the data; None if unknown. Raises RecipeError for a batch that is no whole
    number of groups.
    """
    generations = settings["num_generations"]
    # a pass is a forward and backward pass of the policy over a part of a batch of completions
    passes, completions = batch_of_completions(settings, processes)
    if completions % generations:
        per_device = settings["per_device_train_batch_size"]
        raise RecipeError(
            f"a batch of {completions} completions ({per_device} x {passes} on {processes} "
            "processes) is not a whole number of groups of trainer.num_generations "
            f"{generations}."
        )
    groups = completions // generations
    # `passes` passes go once over the batch, and TRL goes num_iterations times over each batch
    passes_per_batch = passes * settings["num_iterations"]
    passes_per_step = settings["gradient_accumulation_steps"]
    steps_per_batch = passes_per_batch / passes_per_step
    # as in transformers, max_steps overrides the epochs
    total = None
    if settings["max_steps"] > 0:
        total = settings["max_steps"]
    elif rows is not None:
        batches_per_epoch = rows // groups
        steps_per_epoch = math.ceil(batches_per_epoch * passes_per_batch / passes_per_step)
        total = math.ceil(steps_per_epoch * settings["num_train_epochs"])
    return Steps(
        total=total,
        per_batch=steps_per_batch,
        completions=completions,
        groups=groups,
    )


def batch_of_completions(settings: Mapping[str, Any], processes: int) -> tuple[int, int]:
    """Returns (passes, completions): into how many passes a batch of completions is split, and how
    many completions the batch has, over all processes.

    The settings give the number of passes (steps_per_generation) or the size of the batch
    (generation_batch_size), and the other number follows. If they give neither, a batch has the
    passes of one optimizer step. Example: 4 completions of a process in a pass, 2 processes and a
    batch of 24 give (3, 24).
    """
    completions_of_pass = settings["per_device_train_batch_size"] * processes
    given_passes = settings["steps_per_generation"]
    given_completions = settings["generation_batch_size"]
    if given_passes and given_completions:
        return given_passes, given_completions
    if given_completions:
        return given_completions // completions_of_pass, given_completions
    passes = given_passes or settings["gradient_accumulation_steps"]
    return passes, completions_of_pass * passes


def gpu_bytes() -> int:
    """Returns the bytes of memory of this machine's first GPU; without a GPU, ASSUMED_GPU_BYTES."""
    if torch.cuda.is_available():
        return torch.cuda.get_device_properties(0).total_memory
    return ASSUMED_GPU_BYTES
