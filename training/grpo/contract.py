"""What SpanGRPOTrainer relies on beside the public interface of TRL and transformers, and whether it is still there.

    differences()      # one sentence each; () where all is as it was when the trainer was written (TRL 1.16)

A trainer that changes GRPO must override methods that TRL is free to change. Their parameters are compared when it
is imported, and the attributes of an instance when one is built. What differs is one warning, not an error, as a change
may be harmless.
"""

import inspect
from importlib.metadata import version
from typing import Any

from transformers import Trainer
from trl import GRPOTrainer

# By method: its first parameters after self; further ones are passed on unread.
METHODS: dict[tuple[type, str], tuple[str, ...]] = {
    (GRPOTrainer, "_generate_and_score_completions"): ("inputs",),
    (GRPOTrainer, "_generate"): ("prompts",),
    (GRPOTrainer, "_generate_single_turn"): ("prompt_ids", "images", "multimodal_fields"),
    (GRPOTrainer, "_get_per_token_logps_and_entropies"): ("model", "input_ids", "attention_mask", "logits_to_keep"),
    (GRPOTrainer, "_calculate_rewards"): ("inputs", "prompts", "completions", "completion_ids_list"),
    (GRPOTrainer, "_log_metric"): ("name", "value"),
    (GRPOTrainer, "_get_train_sampler"): ("dataset",),
    (GRPOTrainer, "_save_checkpoint"): ("model", "trial"),
    (GRPOTrainer, "_load_optimizer_and_scheduler"): ("checkpoint",),
    (Trainer, "_load_from_checkpoint"): ("resume_from_checkpoint", "model"),
    (Trainer, "_load_best_model"): (),
    (Trainer, "_save_rng_state"): ("output_dir",),
    (Trainer, "_get_output_dir"): ("trial",),
    (Trainer, "_run_epoch"): (),
}
ATTRIBUTES = (
    *("_metrics", "_step", "_tokenizer", "eos_token_ids", "max_completion_length", "num_generations"),
    *("num_generations_eval", "reward_func_names", "reward_funcs", "reward_weights", "rollout_func"),
)
WRITTEN_FOR = "TRL 1.16 and transformers 5.19"


def differences(methods: dict[tuple[type, str], tuple[str, ...]] | None = None) -> tuple[str, ...]:
    """The methods that are gone or begin with other parameters."""
    found = []
    for (owner, name), wanted in (METHODS if methods is None else methods).items():
        method = vars(owner).get(name)
        if method is None:
            found.append(f"{owner.__name__} has no {name}")
            continue
        parameters = tuple(inspect.signature(method).parameters)[1 : len(wanted) + 1]
        if parameters != wanted:
            found.append(f"{owner.__name__}.{name} takes ({', '.join(parameters)}) and not ({', '.join(wanted)})")
    return tuple(found)


def missing_attributes(trainer: Any) -> tuple[str, ...]:
    """What a built trainer lacks."""
    return tuple(f"a GRPOTrainer has no {name}" for name in ATTRIBUTES if not hasattr(trainer, name))


def warning(found: tuple[str, ...]) -> str:
    """One sentence for the log."""
    return (
        f"SpanGRPOTrainer was written for {WRITTEN_FOR}, and TRL {version('trl')} with transformers "
        f"{version('transformers')} differs: {'; '.join(found)}. Rewards and callbacks work with TRL's own GRPOTrainer "
        "as ever; dynamic sampling, spans and resuming may not."
    )
