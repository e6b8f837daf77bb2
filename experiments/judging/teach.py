"""Teach a language model to judge Scenes: TRL's SFTTrainer, with several prompts about a text in
each row.

    python -m experiments teach experiments/judging/scenes-judge.yaml [key=value ...]

A recipe whose data are questions and whose policy is a model of text alone, with "tiny-judge" for
an untrained one. The output folder is that of `spanreward train`, and a judge as any other:
`transformers:FOLDER`, `vllm:FOLDER`.
"""

import argparse
import sys
from collections.abc import Sequence

from datasets import Dataset
from transformers import Trainer

from experiments.judging.branches import BranchCollator, branch
from experiments.judging.model import load_judge_model
from spanreward.rewards.files.custom_file import custom_function
from spanreward.rewards.reward.reward import Reward
from spanreward.training.adapters import lora_config
from spanreward.training.recipe import FilePart, Recipe, RecipeError, load_recipe, trainer_config
from spanreward.training.recipe_rewards import refusing_in_one_line
from spanreward.training.run import run
from spanreward.training.sft import SupervisedTrainer


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recipe", help="such as experiments/judging/scenes-judge.yaml")
    parser.add_argument(
        "overrides", nargs="*", metavar="key=value", help="dotted recipe keys, such as seed=1"
    )
    parser.add_argument(
        "--resume", action="store_true", help="go on from the last checkpoint in the output folder"
    )
    arguments = parser.parse_args()
    try:
        recipe = load_recipe(arguments.recipe, arguments.overrides)
        check_taught(recipe)
        print(run(recipe, resume=arguments.resume, build=build_trainer))
    except RecipeError as error:
        sys.exit(f"{parser.prog}: {error}")


def check_taught(recipe: Recipe) -> None:
    """Raises RecipeError, before anything is read, for what cannot be taught."""
    if recipe.algorithm != "sft" or not isinstance(recipe.data, FilePart):
        raise RecipeError(
            f"a judge is taught its answers: algorithm must be sft, got {recipe.algorithm}, and "
            f"data.source a function that gives questions, got {recipe.data.source}."
        )


def build_trainer(recipe: Recipe, rewards: Sequence[Reward]) -> Trainer:
    """The trainer of a model that learns its answers. The recipe passed `check_taught`."""
    assert isinstance(recipe.data, FilePart)
    model, tokenizer = load_judge_model(recipe.policy.model, recipe.seed)
    rows = custom_function(recipe.data.source)(**recipe.data.options)
    with refusing_in_one_line():
        return SupervisedTrainer(
            model=model,
            args=trainer_config("sft")(
                output_dir=recipe.output, seed=recipe.seed, **recipe.trainer
            ),
            processing_class=tokenizer,
            train_dataset=Dataset.from_list([branch(row, tokenizer) for row in rows]),
            data_collator=BranchCollator(int(tokenizer.pad_token_id)),
            peft_config=lora_config(recipe.policy.lora, model) if recipe.policy.lora else None,
        )
