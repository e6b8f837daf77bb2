"""The private methods and attributes of TRL and transformers that SpanGRPOTrainer overrides or reads.

    differences()      # one clause for each that differs from TRL 1.16; () where nothing does

TRL is free to change them. The trainer compares the methods' parameters when it is imported and the attributes when it
is built. A difference is one warning and not an error, since a change may be harmless.
"""

import inspect
from importlib.metadata import version
from typing import Any

from transformers import Trainer
from trl import GRPOTrainer

# By method: its first parameters after self. Further ones are passed on unread.
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


def differences(methods: dict[tuple[type, str], tuple[str, ...]] = METHODS) -> tuple[str, ...]:
    """Returns a clause for each method that is gone or begins with other parameters."""
    found = []
    for (owner, name), wanted in methods.items():
        method = vars(owner).get(name)
        if method is None:
            found.append(f"{owner.__name__} has no {name}")
            continue
        parameters = tuple(inspect.signature(method).parameters)[1 : len(wanted) + 1]
        if parameters != wanted:
            found.append(f"{owner.__name__}.{name} takes ({', '.join(parameters)}) and not ({', '.join(wanted)})")
    return tuple(found)


def missing_attributes(trainer: Any) -> tuple[str, ...]:
    return tuple(f"a GRPOTrainer has no {name}" for name in ATTRIBUTES if not hasattr(trainer, name))


def warning(found: tuple[str, ...]) -> str:
    return (
        f"SpanGRPOTrainer was written for {WRITTEN_FOR}, and TRL {version('trl')} with transformers "
        f"{version('transformers')} differs: {'; '.join(found)}. Rewards and callbacks work with TRL's own GRPOTrainer "
        "as ever; dynamic sampling, spans and resuming may not."
    )
