"""The one place where a recipe's parts are put together.

    run(load_recipe("recipes/quickstart/scenes-dapo.yaml"))

writes into the recipe's output folder: the trained policy and its processor, `recipe.yaml` (as run, overrides
included), `metrics.jsonl` (one line a logged step) and `versions.json`.
"""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml
from peft import LoraConfig
from transformers import ProgressCallback, Trainer
from trl import SFTTrainer

from rewards.judges import load_judge
from rewards.metrics import build_reward
from rewards.reward import Reward
from training.callbacks import MetricsFile, ProgressBar
from training.data import load_data
from training.policy import load_policy
from training.recipe import LoraPart, Recipe, RecipeError, RewardPart, trainer_config
from training.trainer import SpanGRPOTrainer


def run(recipe: Recipe) -> Path:
    """Train as the recipe says and return its output folder. Raises RecipeError before any work when it cannot."""
    output = Path(recipe.output)
    if output.exists() and any(output.iterdir()) and not recipe.overwrite:
        raise RecipeError(f"the output folder {output} is not empty: choose another output=..., or overwrite=true.")
    trainer = build_trainer(recipe)
    trainer.remove_callback(ProgressCallback)
    trainer.add_callback(ProgressBar)
    trainer.add_callback(MetricsFile(output / "metrics.jsonl"))
    if trainer.is_world_process_zero():
        output.mkdir(parents=True, exist_ok=True)
        (output / "recipe.yaml").write_text(yaml.safe_dump(recipe.model_dump(), sort_keys=False))
        (output / "versions.json").write_text(json.dumps(versions(), indent=2) + "\n")
    trainer.train()
    trainer.save_model(str(output))
    return output


def build_trainer(recipe: Recipe) -> Trainer:
    """TRL's SFTTrainer, or SpanGRPOTrainer with the recipe's rewards. The judges are built before the policy."""
    rewards = build_rewards(recipe.rewards)
    arguments: dict[str, Any] = {"output_dir": recipe.output, "seed": recipe.seed, **recipe.trainer}
    if recipe.algorithm == "dapo":
        arguments["reward_weights"] = [part.weight for part in recipe.rewards]
    args = trainer_config(recipe.algorithm)(**arguments)
    model, processor = load_policy(recipe.policy.model, recipe.seed, recipe.policy.dtype)
    shared: dict[str, Any] = {
        "model": model,
        "args": args,
        "processing_class": processor,
        "train_dataset": load_data(recipe.data, completions=recipe.algorithm == "sft"),
        "peft_config": lora_config(recipe.policy.lora) if recipe.policy.lora else None,
    }
    if recipe.algorithm == "sft":
        return SFTTrainer(**shared)
    return SpanGRPOTrainer(reward_funcs=rewards, **shared)


def build_rewards(parts: list[RewardPart]) -> list[Reward]:
    """The recipe's rewards; entries that name the same judge share one. Raises RecipeError for names that are not."""
    try:
        judges = {spec: load_judge(spec) for spec in dict.fromkeys(part.judge for part in parts)}
        return [build_reward(part.metric, judges[part.judge], part.options) for part in parts]
    except ValueError as error:
        raise RecipeError(str(error)) from None


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
