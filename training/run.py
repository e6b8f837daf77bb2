"""Puts a recipe's parts together and trains.

    run(load_recipe("recipes/quickstart/scenes-dapo.yaml"))

writes the trained policy, its processor and the files that training/run_folder.py lists to the recipe's output folder.
"""

import json
import logging
import os
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from accelerate import Accelerator, PartialState
from peft import LoraConfig
from transformers import ProcessorMixin, ProgressCallback, Trainer, TrainerCallback
from transformers.integrations import is_deepspeed_zero3_enabled
from trl import SFTTrainer

from spanreward.rewards.files.custom_file import is_custom
from spanreward.rewards.judges import Judge, closing, load_judge
from spanreward.rewards.metrics import build_reward
from spanreward.rewards.reward.reward import Reward
from spanreward.training.callbacks.json_lines import MetricsFile, ProgressBar, VerdictFile
from spanreward.training.callbacks.reward_health import RewardHealthCallback
from spanreward.training.callbacks.span_table import SpanTableCallback
from spanreward.training.callbacks.stop_on_signal import StopOnSignal
from spanreward.training.data.load import load_data
from spanreward.training.grpo.preflight import pad_left
from spanreward.training.grpo.recorder import judges_of
from spanreward.training.grpo.resuming import CheckpointWeights
from spanreward.training.grpo.trainer import SpanGRPOTrainer
from spanreward.training.policy import base_of, load_policy
from spanreward.training.recipe import JudgePart, LoraPart, Recipe, RecipeError, RewardPart, trainer_config
from spanreward.training.run_folder import begin, check_new, checkpoint_to_resume

log = logging.getLogger(__name__)

PROCESSES = int(os.environ.get("WORLD_SIZE", "1"))


class Unhealthy(RuntimeError):
    """A problem of the reward, which the message names, ended the run. Its policy is saved as it was then."""


def run(
    recipe: Recipe,
    resume: bool = False,
    stop: StopOnSignal | None = None,
    stop_on: Collection[str] = (),
    build: Callable[[Recipe, Sequence[Reward]], Trainer] | None = None,
) -> Path:
    """Train as the recipe says and return its output folder. Raises RecipeError, before any work, where it cannot.

    resume: go on from the last checkpoint in the folder. stop: a run that it ends keeps its checkpoint and saves no
    policy. stop_on: names in PROBLEMS that end the run; it saves its policy and raises Unhealthy. build: makes the
    trainer in place of `build_trainer`. The judges start before the policy is loaded, and are closed however the run
    ends.
    """
    output = Path(recipe.output)
    checkpoint = checkpoint_to_resume(recipe, PROCESSES) if resume else None
    if not resume:
        check_new(recipe)
    parts = [] if recipe.algorithm == "sft" else recipe.rewards  # SFT's are for a comparison
    rewards = build_rewards(parts)
    read_by = readers(rewards)
    with closing(judges_of(rewards)):
        start_judges(parts, rewards)
        trainer = (build or build_trainer)(recipe, rewards)
        check_launch(trainer.accelerator)
        if stop is not None:
            trainer.add_callback(stop)
        problem = train(trainer, recipe, checkpoint, stop_on, read_by)
        if stop is None or stop.stopped_at is None:
            trainer.save_model(str(output))
        # A rank that leaves its process group to the interpreter's end may abort there, with everything written.
        trainer.accelerator.wait_for_everyone()
        trainer.accelerator.end_training()
    if problem:
        raise Unhealthy(problem)
    return output


def train(
    trainer: Trainer, recipe: Recipe, checkpoint: Path | None, stop_on: Collection[str], read_by: Mapping[str, str]
) -> str:
    """Train, from a checkpoint if there is one, and write the run's files. Returns the problem that ended it, or ""."""
    output, health = Path(recipe.output), None
    trainer.remove_callback(ProgressCallback)
    callbacks: list[TrainerCallback] = [ProgressBar(), MetricsFile(output / "metrics.jsonl")]
    if isinstance(trainer, SpanGRPOTrainer):
        health = RewardHealthCallback(trainer.recorders, stop_on=stop_on)  # where judges fail the trainer stops itself
        callbacks += [health, SpanTableCallback(trainer.recorders, recipe.spans_every, output / "spans")]
        if recipe.verdicts:
            callbacks.append(VerdictFile(trainer.recorders, output))
    for callback in callbacks:
        trainer.add_callback(callback)
    if trainer.is_world_process_zero():
        begin(recipe, PROCESSES, checkpoint, read_by)
    trainer.accelerator.wait_for_everyone()
    trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    return health.stopped or trainer.pulse.stopped if health and isinstance(trainer, SpanGRPOTrainer) else ""


def build_trainer(recipe: Recipe, rewards: Sequence[Reward]) -> Trainer:
    """Returns TRL's SFTTrainer or a SpanGRPOTrainer with the rewards. Raises RecipeError for what they refuse."""
    learned = recipe.algorithm == "sft"
    arguments: dict[str, Any] = {"output_dir": recipe.output, "seed": recipe.seed, **recipe.trainer}
    if not learned:
        arguments["reward_weights"] = [part.weight for part in recipe.rewards]
    with refusals():
        args = trainer_config(recipe.algorithm)(**arguments)
    # No rank loads its policy before all judges have started: a sharded one needs the other ranks' devices.
    PartialState().wait_for_everyone()
    if is_custom(recipe.policy.model) and is_deepspeed_zero3_enabled():
        raise RecipeError(
            f"the policy {recipe.policy.model} cannot be made under ZeRO-3: run its recipe with "
            "accelerate_configs/cpu.yaml, and give policy.model the folder."
        )
    if (base := base_of(recipe.policy.model)) != recipe.policy.model:  # peft would begin it anew, or freeze it
        raise RecipeError(
            f"policy.model {recipe.policy.model} is an adapter over {base}, and training does not go on from one: "
            "merge it into its base (docs/recipes.md), and give the merged folder."
        )
    model, processor = load_policy(recipe.policy.model, recipe.seed, recipe.policy.dtype)
    if not learned:
        pad_left(processor)
    dataset, validation = load_data(recipe.data, learned), recipe.validation_data
    if isinstance(processor, ProcessorMixin) and "image" not in dataset.column_names:
        log.warning("no row of %s has a picture: %s learns from text alone.", recipe.data.source, recipe.policy.model)
    shared: dict[str, Any] = {
        "model": model,
        "args": args,
        "processing_class": processor,
        "train_dataset": dataset,
        "eval_dataset": load_data(validation, learned) if validation and args.eval_strategy != "no" else None,
        "peft_config": lora_config(recipe.policy.lora) if recipe.policy.lora else None,
    }
    with refusals():
        return SupervisedTrainer(**shared) if learned else SpanGRPOTrainer(reward_funcs=rewards, **shared)


class SupervisedTrainer(CheckpointWeights, SFTTrainer):
    """TRL's SFTTrainer that resumes a vision-language model's weights."""


def check_launch(accelerator: Accelerator) -> None:
    """Raises RecipeError where accelerate silently trains in another way than its configuration says."""
    for library in ("DEEPSPEED", "FSDP"):
        asked = os.environ.get(f"ACCELERATE_USE_{library}") == "true"
        if asked and accelerator.distributed_type.value != library:
            raise RecipeError(
                f"the accelerate configuration asks for {library}, and accelerate does not take it on "
                f"{accelerator.device.type} (it would train with {accelerator.distributed_type.value}): leave out "
                "trainer.use_cpu where there are GPUs, or launch with accelerate_configs/ddp.yaml or cpu.yaml."
            )


def build_rewards(parts: Sequence[RewardPart]) -> list[Reward]:
    """Returns the recipe's rewards, equal judges made once. Raises RecipeError for unknown names and options."""
    judges: dict[str, Judge] = {}
    rewards = []
    with refusals():
        for part in parts:
            key = json.dumps(part.judge.model_dump(), sort_keys=True, default=str)
            if key not in judges:
                judges[key] = build_judge(part.judge)
            rewards.append(build_reward(part.metric, judges[key], part.options))
    return rewards


def build_judge(part: JudgePart) -> Judge:
    options = part.options
    if part.cascade is not None:
        both = {"student": build_judge(part.cascade.student), "teacher": build_judge(part.cascade.teacher)}
        options = part.cascade.model_dump() | both
    return load_judge(part.name, part.cache, **options)


def readers(rewards: Sequence[Reward]) -> dict[str, str]:
    """Returns {reward's name: what parses its texts}. Raises RecipeError where that is missing."""
    found = {}
    for reward in rewards:
        try:
            if reader := reward.reader():
                found[reward.__name__] = reader
        except ImportError as error:
            raise RecipeError(f"the reward {reward.__name__} cannot read texts: {error}") from error
    return found


def start_judges(parts: Sequence[RewardPart], rewards: Sequence[Reward]) -> None:
    """Start the rewards' judges and print when each rank's local judges start and are ready. Raises RecipeError.

    Large judges take minutes. Those of one GPU start one after another, those of different GPUs at once.
    """
    pairs = zip(parts, rewards, strict=True)
    for part, judge in {id(judge): (part, judge) for part, reward in pairs for judge in reward.judges}.values():
        what, rank = f"the judge {part.judge.name} of {part.metric}", f"rank {os.environ.get('RANK', '0')}"
        local = not judge.remote and any(":" in one.name for one in part.judge.answering)
        if local:
            print(f"{rank}: {what} is starting", file=sys.stderr, flush=True)
        began = time.monotonic()
        try:
            judge.start()
        except Exception as error:
            raise RecipeError(one_line(f"{what} cannot start: {type(error).__name__}: {error}")) from error
        if local:
            print(f"{rank}: {what} is ready after {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


@contextmanager
def refusals() -> Iterator[None]:
    """Turns a ValueError into a RecipeError of one line."""
    try:
        yield
    except ValueError as error:
        raise RecipeError(one_line(str(error))) from error


def one_line(text: str) -> str:
    return " ".join(text.split())


def lora_config(part: LoraPart) -> LoraConfig:
    settings: dict[str, Any] = {"r": part.r, "lora_alpha": part.alpha, "lora_dropout": part.dropout}
    return LoraConfig(**settings, target_modules=part.target_modules, task_type="CAUSAL_LM")
