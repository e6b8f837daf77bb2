"""Names the settings that somebody set and that cannot act beside the others.

    warn_of_idle(args)              # before anything is loaded; one warning each
    warn_of_small_rate(args)        # where adapters are trained

A setting counts as set where it differs from its default.
"""

import logging
from dataclasses import fields

from spanreward.training.grpo.config import SpanGRPOConfig

log = logging.getLogger(__name__)

# of recipes/qwen2.5-vl-3b-lora
ADAPTER_RATE = 1e-5
# What follows are settings by what they need in order to act.
# bounds of the ratio between the policy and the one that sampled
OF_RATIO = ("epsilon", "epsilon_high", "delta")
UNCLIPPED = ("sapo", "vespo")  # losses that weigh the ratio in place of clipping it
OF_REFERENCE = (
    "sync_ref_model",
    "ref_model_mixup_alpha",
    "ref_model_sync_steps",
    "use_bias_correction_kl",
)
OF_DYNAMIC_SAMPLING = ("dynamic_sampling_spread", "max_resamples")
OF_LOSSES = {
    "sapo": ("sapo_temperature_pos", "sapo_temperature_neg"),
    "vespo": ("vespo_k_pos", "vespo_lambda_pos", "vespo_k_neg", "vespo_lambda_neg"),
}


def warn_of_idle(args: SpanGRPOConfig) -> None:
    """Logs a warning for each cause that keeps settings from acting, with their names."""
    changed = set_settings(args)
    for names, cause in idle_groups(args):
        idle = []
        for name in names:
            if name in changed:
                idle.append(f"{name}={changed[name]!r}")
        if idle:
            log.warning("%s cannot act: %s", ", ".join(idle), cause)


def idle_groups(args: SpanGRPOConfig) -> list[tuple[tuple[str, ...], str]]:
    """Returns the settings that cannot act beside the others, each group with why and what to do.

    With one update a batch TRL compares the policy with itself, so that each ratio is exactly 1. It
    does so where the accumulation is a multiple of the passes over a batch.
    """
    groups: list[tuple[tuple[str, ...], str]] = []
    if args.loss_type in UNCLIPPED:
        groups.append((OF_RATIO, f"loss_type={args.loss_type!r} clips no ratio: leave it out."))
    elif args.gradient_accumulation_steps % args.passes_per_batch == 0:
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
    """Returns the values that are not the defaults."""
    values = vars(args)
    changed = {}
    for setting in fields(SpanGRPOConfig):
        # what is no argument of the constructor was not set by anybody
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
