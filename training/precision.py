"""What a run computes in: the recipe's `trainer.bf16` or `fp16` against accelerate's configuration.

    check_precision(recipe)      # before anything is loaded

Where the recipe sets neither, TRL takes bf16. Where it sets bf16 to false, transformers takes what
`accelerate launch` has written into the environment, and not float32; DeepSpeed refuses such a
pair, with a traceback that names neither.
"""

import logging
import os

from spanreward.training.recipe import Recipe, RecipeError

log = logging.getLogger(__name__)

LAUNCHED = "ACCELERATE_MIXED_PRECISION"  # of accelerate launch
DEEPSPEED = "ACCELERATE_USE_DEEPSPEED"
# of accelerate's words, those for a sentence
NAMES = {"no": "float32", "bf16": "bf16", "fp16": "fp16"}


def check_precision(recipe: Recipe) -> None:
    """Raises RecipeError where DeepSpeed would refuse the recipe's precision beside the launch's.

    Warns where the launch's is taken against the recipe.
    """
    launched = os.environ.get(LAUNCHED, "no")
    precision = precision_of(recipe)
    if launched == "no" or precision == launched:  # nothing else is set, or the same
        return
    cure = f"launch with --mixed_precision {precision}, or set trainer.{launched}=true."
    if os.environ.get(DEEPSPEED) == "true":
        raise RecipeError(
            f"the recipe computes in {NAMES[precision]} and accelerate's configuration has "
            f"mixed_precision {launched}, and DeepSpeed takes no two of them: {cure}"
        )
    # between bf16 and fp16 transformers takes the recipe's
    if precision == "no":
        log.warning(
            "trainer.bf16 is false, and accelerate's mixed_precision %s is used all the same: %s",
            launched,
            cure,
        )


def precision_of(recipe: Recipe) -> str:
    """Returns accelerate's name of what the recipe asks for; TRL's default is bf16."""
    if recipe.trainer.get("fp16"):
        return "fp16"
    if recipe.trainer.get("bf16") is not False:
        return "bf16"
    return "no"
