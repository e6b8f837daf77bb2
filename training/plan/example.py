"""Shows what SFT would train on, for the dry run: the whole first row, as its tokens spell the row.

    finding, text = example_of(recipe, policy_is_here=True)

Neither the policy's weights nor a picture is read.
"""

from pathlib import Path

from transformers import AutoConfig, GenerationConfig

from spanreward.rewards.files.custom_file import is_custom
from spanreward.rewards.judges.model_files import model_folder
from spanreward.training.data.load import load_data
from spanreward.training.plan.here import Finding
from spanreward.training.policy import Processor, base_of, saved_processor
from spanreward.training.recipe import JsonlPart, Recipe
from spanreward.training.recipe_rewards import one_line
from spanreward.training.sft import example_text
from spanreward.training.turn_end import endless_turn, eos_ids, tokenizer_of

UNOPENED_PICTURE = "a picture that is not opened"


def example_of(recipe: Recipe, policy_is_here: bool) -> tuple[Finding, str]:
    """Returns a finding on whether SFT can train on the rows, and the first row as text.

    The text is "" if the policy's processor or the rows are no files on this machine.
    policy_is_here: whether the policy's files are on this machine.
    """
    model = recipe.policy.model
    files = all(isinstance(part, JsonlPart) for part in recipe.data.parts)
    # the dry run downloads nothing, and calls no function of the user's
    if is_custom(model) or not (policy_is_here and files):
        advice = "that takes the policy's processor and the rows as files here"
        return Finding("example", None, "what is trained cannot be shown", advice), ""
    try:
        data = load_data(recipe.data, completions=True, look=False)
        folder = str(model_folder(model, download=False))
        processor = saved_processor(folder)
        fault = fault_of_turns(recipe, processor, folder)
        # without the column of pictures, because reading this column would open the picture
        row = data.select_columns(["prompt", "completion"])[0]
        if "image" in data.column_names:
            row["image"] = UNOPENED_PICTURE
        text = example_text(processor, row)
    except (ValueError, OSError) as error:
        return Finding("example", False, one_line(str(error))), ""
    # the text is returned too, because the text shows the fault
    if fault:
        return Finding("example", False, fault), text
    return Finding("example", True, f"the first of {len(data):,}, below the table"), text


def fault_of_turns(recipe: Recipe, processor: Processor, folder: str) -> str:
    """Returns why SFT would refuse the policy's chat template; "" for a good template.

    A template that the recipe changes is not checked here, because the run checks it. folder: the
    policy's folder.
    """
    if recipe.trainer.get("chat_template_path"):
        return ""
    # the generation settings that a loaded policy would have
    config = AutoConfig.from_pretrained(base_of(folder), trust_remote_code=False)
    generation = GenerationConfig.from_model_config(config)
    if (Path(folder) / "generation_config.json").is_file():
        generation = GenerationConfig.from_pretrained(folder)
    ending = eos_ids(processor, generation)
    eos_token = recipe.trainer.get("eos_token")
    if eos_token:
        tokenizer = tokenizer_of(processor)
        ending.add(tokenizer.convert_tokens_to_ids(eos_token))
    endless = endless_turn(processor, ending)
    return "" if endless is None else endless.refusal
