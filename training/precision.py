"""Checks that the recipe's precision (`trainer.bf16` or `trainer.fp16`) agrees with the precision
of accelerate's configuration.

    check_precision(recipe)      # before anything is loaded

If the recipe sets neither key, TRL uses bf16. If the recipe sets bf16 to false, the user expects
float32, but transformers uses the precision that `accelerate launch` has written into the
environment. DeepSpeed refuses two different precisions with a traceback that names neither setting.
"""

import logging
import os

from spanreward.training.recipe import Recipe, RecipeError

log = logging.getLogger(__name__)

# environment variables that `accelerate launch` sets
PRECISION_VARIABLE = "ACCELERATE_MIXED_PRECISION"
DEEPSPEED_VARIABLE = "ACCELERATE_USE_DEEPSPEED"
# accelerate's name of each precision, and the name in our messages
PRECISION_NAMES = {"no": "float32", "bf16": "bf16", "fp16": "fp16"}


def check_precision(recipe: Recipe) -> None:
    """Raises RecipeError if the launch uses DeepSpeed, which refuses a precision that differs from
    the recipe's.

    Without DeepSpeed, logs a warning if the run will use the launch's precision and not the
    recipe's.
    """
    launched = os.environ.get(PRECISION_VARIABLE, "no")
    precision = precision_of(recipe)
    if launched == "no" or launched == precision:  # the launch sets no precision, or the same
        return
    cure = f"launch with --mixed_precision {precision}, or set trainer.{launched}=true."
    if os.environ.get(DEEPSPEED_VARIABLE) == "true":
        raise RecipeError(
            f"the recipe computes in {PRECISION_NAMES[precision]} and accelerate's configuration "
            "has "
            f"mixed_precision {launched}, and DeepSpeed takes no two of them: {cure}"
        )
    # The recipe may ask for float32 ("no"), or for bf16 where the launch has fp16, or the reverse.
    # transformers uses the launch's precision only in the first case.
    if precision == "no":
        log.warning(
            "trainer.bf16 is false, and accelerate's mixed_precision %s is used all the same: %s",
            launched,
            cure,
        )


def precision_of(recipe: Recipe) -> str:
    """Returns accelerate's name of the recipe's precision: "fp16", "no" (float32), or "bf16", TRL's
    default.
    """
    if recipe.trainer.get("fp16"):
        return "fp16"
    if recipe.trainer.get("bf16") is not False:
        return "bf16"
    return "no"
