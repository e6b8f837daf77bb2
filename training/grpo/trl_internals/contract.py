"""The private methods and attributes of TRL and transformers that SpanGRPOTrainer overrides or
reads.

A release of TRL may change private names. So the trainer's constructor checks the names. A missing
name is an error. A method with other parameters is only a warning, because the change may be
harmless.
"""

import inspect
import logging
from importlib.metadata import version
from typing import Any

from transformers import Trainer
from trl import GRPOTrainer
from trl.generation.vllm_generation import VLLMGeneration

from spanreward.rewards.base.needs import TRL_VERSIONS

log = logging.getLogger(__name__)

# for each method the first parameters after self; our overrides pass on further parameters unread
TRL_METHODS: dict[tuple[type, str], tuple[str, ...]] = {
    (GRPOTrainer, "_generate_and_score_completions"): ("inputs",),
    (GRPOTrainer, "_generate"): ("prompts",),
    (GRPOTrainer, "_generate_single_turn"): ("prompt_ids", "images", "multimodal_fields"),
    (GRPOTrainer, "_get_per_token_logps_and_entropies"): (
        "model",
        "input_ids",
        "attention_mask",
        "logits_to_keep",
    ),
    (GRPOTrainer, "_compute_loss"): ("model", "inputs"),
    (GRPOTrainer, "_calculate_rewards"): (
        "inputs",
        "prompts",
        "completions",
        "completion_ids_list",
    ),
    (GRPOTrainer, "_log_metric"): ("name", "value"),
    (GRPOTrainer, "log"): ("logs", "start_time"),
    (GRPOTrainer, "_get_train_sampler"): ("dataset",),
    (GRPOTrainer, "_save_checkpoint"): ("model", "trial"),
    (GRPOTrainer, "_load_optimizer_and_scheduler"): ("checkpoint",),
    (VLLMGeneration, "generate"): ("prompts", "images"),
    (VLLMGeneration, "_iter_named_params"): (),
    (VLLMGeneration, "_fix_param_name_to_vllm"): ("name", "extra_prefixes"),
    (Trainer, "_load_from_checkpoint"): ("resume_from_checkpoint", "model"),
    (Trainer, "_load_best_model"): (),
    (Trainer, "_save_rng_state"): ("output_dir",),
    (Trainer, "_get_output_dir"): ("trial",),
    (Trainer, "_run_epoch"): (),
}
# the attributes that a trainer has after its constructor
TRL_ATTRIBUTES = (
    "_metrics",
    "_step",
    "_tokenizer",
    "beta",
    "eos_token_ids",
    "mask_truncated_completions",
    "max_completion_length",
    "num_generations",
    "num_generations_eval",
    "ref_model",
    "reward_func_names",
    "reward_funcs",
    "reward_weights",
    "use_vllm",
)


def check_loss(span_coef: float) -> None:
    """Raises ValueError if span_coef is not 0 and another package has replaced GRPOTrainer's loss.

    Unsloth, for example, replaces the loss. The new loss may put a token's advantage on another
    token.
    """
    owner = GRPOTrainer._compute_loss.__module__
    if span_coef and owner.partition(".")[0] != "trl":
        why = (
            f"GRPOTrainer's loss is {owner}'s, which may put tokens' advantages on others, as "
            "Unsloth's does"
        )
        raise ValueError(
            f"span_coef={span_coef:g} needs TRL's loss, and {why}: set span_coef=0, or import no "
            "unsloth."
        )


def check_contract(trainer: Any) -> None:
    """Raises ValueError if a method or attribute is missing. Warns of a method with other first
    parameters.

    trainer: a trainer after the constructor of GRPOTrainer.
    """
    installed = f"TRL {version('trl')} with transformers {version('transformers')}"
    missing = _missing_names(trainer)
    if missing:
        raise ValueError(
            f"SpanGRPOTrainer needs {', '.join(missing)}, which {installed} lacks: pip install "
            f"'trl{TRL_VERSIONS}', or use rewards (as reward_funcs of TRL's own GRPOTrainer) and "
            "callbacks, "
            "which work here too."
        )
    for (owner, name), expected in TRL_METHODS.items():
        signature = inspect.signature(getattr(owner, name))
        names = list(signature.parameters)[1:]  # without `self`
        parameters = tuple(names[: len(expected)])
        if parameters != expected:
            log.warning(
                "SpanGRPOTrainer was written for TRL 1.15 or 1.16 and transformers 5.19; in %s "
                "%s.%s takes (%s) and not (%s): dynamic sampling, spans and resuming may fail; "
                "rewards and callbacks do not.",
                installed,
                owner.__name__,
                name,
                ", ".join(parameters),
                ", ".join(expected),
            )


def _missing_names(trainer: Any) -> list[str]:
    """Returns the methods of TRL_METHODS and the attributes of TRL_ATTRIBUTES that TRL lacks, such
    as ["GRPOTrainer.eos_token_ids"].

    trainer: a trainer after the constructor of GRPOTrainer.
    """
    missing = []
    for owner, name in TRL_METHODS:
        if not hasattr(owner, name):
            missing.append(f"{owner.__name__}.{name}")
    for name in TRL_ATTRIBUTES:
        if not hasattr(trainer, name):
            missing.append(f"GRPOTrainer.{name}")
    return missing
