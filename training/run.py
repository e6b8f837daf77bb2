"""The one place where a recipe's parts are put together.

    run(load_recipe("recipes/quickstart/scenes-dapo.yaml"))

writes into the recipe's output folder the trained policy and its processor, and what training/run_folder.py lists.
"""

import json
import os
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from accelerate import Accelerator, PartialState
from datasets import Dataset
from peft import LoraConfig
from transformers import ProgressCallback, Trainer
from transformers.integrations import is_deepspeed_zero3_enabled
from trl import SFTTrainer

from rewards.judges import Judge, closing, load_judge
from rewards.language.server_reader import ReaderFailure
from rewards.metrics import build_reward
from rewards.reward import Reward
from training.callbacks.metrics_file import MetricsFile, ProgressBar
from training.callbacks.reward_health import RewardHealthCallback
from training.callbacks.span_table import SpanTableCallback
from training.callbacks.stop_on_signal import StopOnSignal
from training.callbacks.verdict_file import VerdictFile
from training.data.load import load_data
from training.grpo.recorder import judges_of
from training.grpo.resuming import CheckpointWeights
from training.grpo.trainer import SpanGRPOTrainer
from training.judging.branches import BranchCollator, branch
from training.judging.conversations import judge_rows
from training.judging.model import load_judge_model
from training.policy import load_policy
from training.recipe import LoraPart, Recipe, RecipeError, RewardPart, ScenesJudgePart, trainer_config
from training.run_folder import begin, check_new, checkpoint_to_resume


class Unhealthy(RuntimeError):
    """The run was ended by a problem of its reward, which the message says; its policy is saved as it was then."""


def run(recipe: Recipe, resume: bool = False, stop: StopOnSignal | None = None, stop_on: Collection[str] = ()) -> Path:
    """Train as the recipe says and return its output folder. Raises RecipeError before any work when it cannot.

    resume: go on from the last checkpoint there. stop: a run that it ends keeps its checkpoint and leaves no policy.
    stop_on: the problems of the reward's health that end the run, as Unhealthy once all is written. The judges are
    started before the policy is loaded, and closed at the end, whatever ends the run.
    """
    output = Path(recipe.output)
    checkpoint = checkpoint_to_resume(recipe, processes()) if resume else None
    if not resume:
        check_new(recipe)
    rewards = build_rewards(recipe.rewards)
    read_by = readers(rewards)
    with closing(judges_of(rewards)):
        start_judges(recipe.rewards, rewards)
        trainer = build_trainer(recipe, rewards)
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


def processes() -> int:
    """How many the launcher has started."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def train(
    trainer: Trainer, recipe: Recipe, checkpoint: Path | None, stop_on: Collection[str], read_by: Mapping[str, str]
) -> str:
    """Train, from the checkpoint if there is one, and write the run's files as it goes. What ended it early, or ""."""
    output = Path(recipe.output)
    health = None
    trainer.remove_callback(ProgressCallback)
    trainer.add_callback(ProgressBar)
    trainer.add_callback(MetricsFile(output / "metrics.jsonl"))
    if isinstance(trainer, SpanGRPOTrainer):
        health = RewardHealthCallback(trainer.recorders, stop_on=stop_on)  # where judges fail the trainer stops itself
        trainer.add_callback(health)
        trainer.add_callback(SpanTableCallback(trainer.recorders, folder=output / "spans"))
        if recipe.verdicts:
            trainer.add_callback(VerdictFile(trainer.recorders, output))
    if trainer.is_world_process_zero():
        begin(recipe, processes(), checkpoint, read_by)
    trainer.accelerator.wait_for_everyone()
    trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    return health.stopped if health is not None else ""


def build_trainer(recipe: Recipe, rewards: Sequence[Reward]) -> Trainer:
    """TRL's SFTTrainer, or SpanGRPOTrainer with the recipe's rewards. Raises RecipeError for what they refuse."""
    arguments: dict[str, Any] = {"output_dir": recipe.output, "seed": recipe.seed, **recipe.trainer}
    if recipe.algorithm == "dapo":
        arguments["reward_weights"] = [part.weight for part in recipe.rewards]
    with refusals():
        args = trainer_config(recipe.algorithm)(**arguments)
    # No rank loads its policy before all judges have started: a sharded one needs the other ranks' devices.
    PartialState().wait_for_everyone()
    if recipe.policy.model == "tiny" and is_deepspeed_zero3_enabled():
        raise RecipeError(
            "the policy tiny cannot be made under ZeRO-3: run its recipe with accelerate_configs/cpu.yaml, and give "
            "policy.model the folder."
        )
    if isinstance(recipe.data, ScenesJudgePart):
        return build_judge_trainer(recipe, recipe.data, args)
    model, processor = load_policy(recipe.policy.model, recipe.seed, recipe.policy.dtype)
    learned = recipe.algorithm == "sft"
    data, validation = recipe.policy_data, recipe.validation_data
    dataset = load_data(data, learned)
    if recipe.algorithm == "dapo":
        check_columns(rewards, dataset.column_names, data.source)
    shared: dict[str, Any] = {
        "model": model,
        "args": args,
        "processing_class": processor,
        "train_dataset": dataset,
        "eval_dataset": load_data(validation, learned) if validation else None,
        "peft_config": lora_config(recipe.policy.lora) if recipe.policy.lora else None,
    }
    with refusals():
        if recipe.algorithm == "sft":
            return SupervisedTrainer(**shared)
        return SpanGRPOTrainer(reward_funcs=rewards, **shared)


def build_judge_trainer(recipe: Recipe, data: ScenesJudgePart, args: Any) -> Trainer:
    """TRL's SFTTrainer on a language model that learns to judge, with several prompts about a text in each row."""
    model, tokenizer = load_judge_model(recipe.policy.model, recipe.seed)
    dataset = Dataset.from_list([branch(row, tokenizer) for row in judge_rows(data)])
    lora = lora_config(recipe.policy.lora) if recipe.policy.lora else None
    collator = BranchCollator(int(tokenizer.pad_token_id))
    with refusals():
        return SupervisedTrainer(
            model=model,
            args=args,
            processing_class=tokenizer,
            train_dataset=dataset,
            data_collator=collator,
            peft_config=lora,
        )


class SupervisedTrainer(CheckpointWeights, SFTTrainer):
    """TRL's, which can be resumed."""


def check_launch(accelerator: Accelerator) -> None:
    """Raises RecipeError where accelerate would train in another way than its configuration says, and say nothing."""
    for library in ("DEEPSPEED", "FSDP"):
        asked = os.environ.get(f"ACCELERATE_USE_{library}") == "true"
        if asked and accelerator.distributed_type.value != library:
            raise RecipeError(
                f"the accelerate configuration asks for {library}, and accelerate does not take it on "
                f"{accelerator.device.type} (it would train with {accelerator.distributed_type.value}): leave out "
                "trainer.use_cpu where there are GPUs, or launch with accelerate_configs/ddp.yaml or cpu.yaml."
            )


def check_columns(rewards: Sequence[Reward], present: Sequence[str], source: str) -> None:
    """Raises RecipeError for a reward that needs a column that no row has, before any step is made."""
    for reward in rewards:
        missing = reward.missing_column(present)
        if missing:
            own = "change data.ask" if source == "scenes" else "say in data.columns which of the data's keys holds it"
            raise RecipeError(
                f"the reward {reward.__name__} needs the column {missing}, and the data of {source} has "
                f"{sorted(present)}: {own}, or choose another reward."
            )


def build_rewards(parts: Sequence[RewardPart]) -> list[Reward]:
    """The recipe's rewards; entries with equal judges share one. Raises RecipeError for names that are not."""
    with refusals():
        judges: dict[str, Judge] = {}
        rewards = []
        for part in parts:
            asked = part.judge
            key = json.dumps(asked.model_dump(), sort_keys=True, default=str)
            if key not in judges:
                judges[key] = load_judge(asked.name, asked.cache, asked.placement, **asked.options)
            rewards.append(build_reward(part.metric, judges[key], part.options))
        return rewards


def readers(rewards: Sequence[Reward]) -> dict[str, str]:
    """What reads the texts, by the names of those rewards that have them read. Raises RecipeError for one missing."""
    found = {}
    for reward in rewards:
        try:
            found[reward.__name__] = reward.reader()
        except (ImportError, ReaderFailure) as error:
            raise RecipeError(f"the reward {reward.__name__} cannot read texts: {error}") from error
    return {name: reader for name, reader in found.items() if reader}


def start_judges(parts: Sequence[RewardPart], rewards: Sequence[Reward]) -> None:
    """Start the rewards' judges, so that what is wrong with one is told now. Raises RecipeError.

    Large ones take minutes, and on one machine they start one after another: each rank says where it is.
    """
    pairs = zip(parts, rewards, strict=True)
    for part, judge in {id(judge): (part, judge) for part, reward in pairs for judge in reward.judges}.values():
        what = f"rank {os.environ.get('RANK', '0')}: the judge {part.judge.name} of {part.metric}"
        told = not judge.remote and ":" in part.judge.name
        if told:
            print(f"{what} is starting", file=sys.stderr, flush=True)
        began = time.monotonic()
        try:
            judge.start()
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise RecipeError(f"the judge {part.judge.name} of {part.metric} cannot start: {reason}") from error
        if told:
            print(f"{what} is ready after {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


@contextmanager
def refusals() -> Iterator[None]:
    """What is refused within becomes a RecipeError of one line."""
    try:
        yield
    except ValueError as error:
        raise RecipeError(" ".join(str(error).split())) from error


def lora_config(part: LoraPart) -> LoraConfig:
    return LoraConfig(
        r=part.r,
        lora_alpha=part.alpha,
        lora_dropout=part.dropout,
        target_modules=part.target_modules,
        task_type="CAUSAL_LM",
    )
