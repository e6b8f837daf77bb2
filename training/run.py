"""The one place where a recipe's parts are put together.

    run(load_recipe("recipes/quickstart/scenes-dapo.yaml"))

writes into the recipe's output folder: the trained policy and its processor, `recipe.yaml` (as run, overrides
included), `metrics.jsonl` (one line a logged step) and `versions.json`.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml
from peft import LoraConfig
from transformers import ProgressCallback, Trainer
from trl import SFTTrainer

from rewards.judges import Judge, closing, load_judge
from rewards.judges.judge import Startable
from rewards.metrics import build_reward
from rewards.reward import Reward
from training.callbacks import MetricsFile, ProgressBar
from training.data import load_data
from training.judging import judges_of
from training.policy import load_policy
from training.recipe import LoraPart, Recipe, RecipeError, RewardPart, trainer_config
from training.trainer import SpanGRPOTrainer


def run(recipe: Recipe) -> Path:
    """Train as the recipe says and return its output folder. Raises RecipeError before any work when it cannot.

    The judges are started before the policy is loaded, and closed at the end, whatever ends the run.
    """
    output = Path(recipe.output)
    if output.exists() and any(output.iterdir()) and not recipe.overwrite:
        raise RecipeError(f"the output folder {output} is not empty: choose another output=..., or overwrite=true.")
    rewards = build_rewards(recipe.rewards)
    with closing(judges_of(rewards)):
        start_judges(recipe.rewards, rewards)
        trainer = build_trainer(recipe, rewards)
        train(trainer, recipe)
        # A rank that leaves its process group to the interpreter's end may abort there, with everything written.
        trainer.accelerator.wait_for_everyone()
        trainer.accelerator.end_training()
    return output


def train(trainer: Trainer, recipe: Recipe) -> None:
    """Train, and write the run's files beside the policy."""
    output = Path(recipe.output)
    trainer.remove_callback(ProgressCallback)
    trainer.add_callback(ProgressBar)
    trainer.add_callback(MetricsFile(output / "metrics.jsonl"))
    if trainer.is_world_process_zero():
        output.mkdir(parents=True, exist_ok=True)
        (output / "recipe.yaml").write_text(yaml.safe_dump(recipe.model_dump(), sort_keys=False))
        (output / "versions.json").write_text(json.dumps(versions(), indent=2) + "\n")
    trainer.train()
    trainer.save_model(str(output))


def build_trainer(recipe: Recipe, rewards: Sequence[Reward]) -> Trainer:
    """TRL's SFTTrainer, or SpanGRPOTrainer with the recipe's rewards. Raises RecipeError for what they refuse."""
    arguments: dict[str, Any] = {"output_dir": recipe.output, "seed": recipe.seed, **recipe.trainer}
    if recipe.algorithm == "dapo":
        arguments["reward_weights"] = [part.weight for part in recipe.rewards]
    with refusals():
        args = trainer_config(recipe.algorithm)(**arguments)
    model, processor = load_policy(recipe.policy.model, recipe.seed, recipe.policy.dtype)
    learned = recipe.algorithm == "sft"
    dataset = load_data(recipe.data, learned)
    validation = recipe.validation_data
    if recipe.algorithm == "dapo":
        check_columns(rewards, dataset.column_names, recipe.data.source)
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
            return SFTTrainer(**shared)
        return SpanGRPOTrainer(reward_funcs=rewards, **shared)


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


def start_judges(parts: Sequence[RewardPart], rewards: Sequence[Reward]) -> None:
    """Start the rewards' judges, so that what is wrong with one is told now. Raises RecipeError."""
    pairs = zip(parts, rewards, strict=True)
    for part, judge in {id(judge): (part, judge) for part, reward in pairs for judge in reward.judges}.values():
        if isinstance(judge, Startable):
            try:
                judge.start()
            except Exception as error:
                reason = " ".join(f"{type(error).__name__}: {error}".split())
                raise RecipeError(f"the judge {part.judge.name} of {part.metric} cannot start: {reason}") from error


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


def versions() -> dict[str, str]:
    """Versions of what decides a run's numbers."""
    return {name: version(name) for name in ("spanreward", "torch", "transformers", "trl", "peft", "spacy")}
