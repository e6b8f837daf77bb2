"""Warns of settings without effect: another setting keeps them from acting.

    warn_of_idle(args)              # before anything is loaded; a warning for each cause
    warn_of_small_rate(args)        # for a policy with adapters

Example: `epsilon_high` has no effect with `loss_type="sapo"`. A setting counts as set if its value
is not the default.
"""

import logging
from dataclasses import fields

from spanreward.training.grpo.config import SpanGRPOConfig

log = logging.getLogger(__name__)

# the learning rate of recipes/qwen2.5-vl-3b-lora
ADAPTER_RATE = 1e-5
# The constants OF_... name the settings that act only under one condition.
# Bounds of the ratio of a token's probability, policy to sampler. Bounds need a ratio other than 1.
OF_RATIO = ("epsilon", "epsilon_high", "delta")
UNCLIPPED_LOSSES = ("sapo", "vespo")  # losses that weigh the ratio and do not clip it
# settings of the reference model, which exists only for beta above 0
OF_REFERENCE = (
    "sync_ref_model",
    "ref_model_mixup_alpha",
    "ref_model_sync_steps",
    "use_bias_correction_kl",
)
OF_DYNAMIC_SAMPLING = ("dynamic_sampling_spread", "max_resamples")
# settings of a single loss, by the name of the loss
OF_LOSSES = {
    "sapo": ("sapo_temperature_pos", "sapo_temperature_neg"),
    "vespo": ("vespo_k_pos", "vespo_lambda_pos", "vespo_k_neg", "vespo_lambda_neg"),
}


def warn_of_idle(args: SpanGRPOConfig) -> None:
    """Logs a warning for each cause that keeps settings from acting.

    The warning names the settings, their values and the remedy.
    """
    changed = set_settings(args)
    for names, cause in idle_groups(args):
        idle = []
        for name in names:
            if name in changed:
                idle.append(f"{name}={changed[name]!r}")
        if idle:
            log.warning("%s cannot act: %s", ", ".join(idle), cause)


def idle_groups(args: SpanGRPOConfig) -> list[tuple[tuple[str, ...], str]]:
    """Returns groups of settings that cannot act, each with its cause and the remedy.

    A group is a pair such as `(("max_resamples",), "dynamic_sampling is off: set it, ...")`. A
    group also has settings that the user left at their default: `warn_of_idle` skips these.

    If a batch makes only one update, TRL compares the policy with itself. Then every ratio is
    exactly 1, and no bound of the ratio can act. Example: if a batch has 4 passes, and an update
    accumulates the gradients of 4 or 8 passes, the batch makes one update.
    """
    # a batch makes one update if each update accumulates the gradients of one or more whole batches
    passes_per_update = args.gradient_accumulation_steps
    one_update_per_batch = passes_per_update % args.passes_per_batch == 0
    groups: list[tuple[tuple[str, ...], str]] = []
    if args.loss_type in UNCLIPPED_LOSSES:
        groups.append((OF_RATIO, f"loss_type={args.loss_type!r} clips no ratio: leave it out."))
    elif one_update_per_batch:
        cause = (
            "a batch of completions makes one update, in which every ratio is 1: set "
            "steps_per_generation above gradient_accumulation_steps "
            f"({args.gradient_accumulation_steps}), or leave it out."
        )
        groups.append((OF_RATIO, cause))
    if args.beta == 0:
        cause = "with beta=0 there is no reference model: set beta, or leave it out."
        groups.append((OF_REFERENCE, cause))
    if not args.dynamic_sampling:
        cause = "dynamic_sampling is off: set it, or leave this out."
        groups.append((OF_DYNAMIC_SAMPLING, cause))
    for loss, names in OF_LOSSES.items():
        if args.loss_type != loss:
            cause = (
                f"only loss_type={loss!r} reads it, and this is {args.loss_type!r}: leave it out."
            )
            groups.append((names, cause))
    return groups


def set_settings(args: SpanGRPOConfig) -> dict[str, object]:
    """Returns the settings whose value is not the default: name and value."""
    values = vars(args)
    changed = {}
    for setting in fields(SpanGRPOConfig):
        # skip fields that are computed: the constructor takes no argument for them
        if setting.init and values[setting.name] != setting.default:
            changed[setting.name] = values[setting.name]
    return changed


def warn_of_small_rate(args: SpanGRPOConfig) -> None:
    """Logs a warning for a learning rate, such as TRL's default, at which adapters barely learn."""
    rate = args.learning_rate
    if 0 < rate <= ADAPTER_RATE / 10:
        log.warning(
            "LoRA with learning_rate %g: %.3g times less than the %g of our LoRA recipes, and "
            "adapters barely learn at it: raise it.",
            rate,
            ADAPTER_RATE / rate,
            ADAPTER_RATE,
        )
