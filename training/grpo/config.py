"""Settings of SpanGRPOTrainer: TRL's GRPOConfig with ten more settings, and checks of all of them.

    args = SpanGRPOConfig(output_dir="out", span_coef=0.1, dynamic_sampling=True, epsilon_high=0.28)

The method DAPO (Yu et al. 2025, arXiv 2503.14476) needs six settings. TRL has
`loss_type="dapo"` (TRL's default), `epsilon_high`, `beta=0` and `mask_truncated_completions`. This
module adds `dynamic_sampling` and `soft_overlong_cache`.
"""

import logging
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal

from pydantic import Field
from trl import GRPOConfig

from spanreward.training.trainer_settings import (
    AMOUNT_TYPE,
    COUNT_TYPE,
    POSITIVE_TYPE,
    SETTING_CHOICES,
    SHARE_TYPE,
    fault_of_setting,
)

log = logging.getLogger(__name__)


@dataclass
class SpanGRPOConfig(GRPOConfig):
    """TRL's GRPOConfig with ten more settings.

    Args:
        span_coef: weight of the spans' credit (in standard deviations) beside the scalar advantage;
            0 is stock GRPO. docs/credit.md has the rule, and measurements of when span credit
            helps.
        max_failed_fraction: from 0 to 1. Training stops when a judge fails on a larger fraction of
            a step's completions.
        dynamic_sampling: whether to replace prompts whose completions all have nearly the same
            score (DAPO, equation 11).
        dynamic_sampling_spread: two or more rewards count as nearly the same if their standard
            deviation is at most this number. With 0, as in DAPO, only equal rewards count.
        max_resamples: how many rounds of new prompts dynamic sampling completes for a batch, at
            most. Groups without a replacement after the last round stay in the batch. If half of
            the prompts are solved, five rounds leave one group of 64 without a replacement.
        soft_overlong_cache: a completion that ends within this many tokens of max_completion_length
            loses some of its reward (DAPO, equation 13; TRL's get_soft_overlong_punishment). None:
            no punishment.
        soft_overlong_size: how much reward a completion of the greatest length loses; 1 in DAPO.
            None: the completion falls just below the other completions of its group, by an amount
            that depends on the group's rewards (overlong.py).
        reasoning_end: tag that ends the reasoning of a policy that thinks first, such as
            "</think>". Only the text after the tag is judged and gets span credit. A completion
            without the tag has no answer and scores 0. None: the whole completion is judged. None
            is also right if the chat template closes the reasoning in the prompt.
        judged_turns: which messages of a policy that calls tools are judged and get span credit.
            "last": the assistant's last message. "all": all messages of the assistant, joined with
            an empty line between two messages.
        tool_pictures: whether the judge also sees the pictures that tools return.

    Raises:
        ValueError: for settings that exclude each other, and for a value out of its range. The
            message names the settings.
    """

    span_coef: AMOUNT_TYPE = field(
        default=0.0,
        metadata={
            "help": "Weight of the spans' credit (in standard deviations) beside the scalar "
            "advantage. 0 is stock GRPO."
        },
    )
    max_failed_fraction: SHARE_TYPE = field(
        default=0.5,
        metadata={
            "help": "Training stops when a judge fails on a larger fraction of a step's "
            "completions."
        },
    )
    dynamic_sampling: bool = field(
        default=False,
        metadata={
            "help": "Whether to replace prompts whose completions have nearly the same score "
            "(DAPO)."
        },
    )
    dynamic_sampling_spread: AMOUNT_TYPE = field(
        default=0.01,
        metadata={
            "help": "Dynamic sampling replaces a prompt whose completions' rewards have at most "
            "this standard deviation. 0: only where all are the same, as in DAPO."
        },
    )
    max_resamples: COUNT_TYPE = field(
        default=5,
        metadata={"help": "Rounds of generation that dynamic sampling makes for a batch."},
    )
    soft_overlong_cache: COUNT_TYPE | None = field(
        default=None,
        metadata={
            "help": "A completion that ends within this many tokens of max_completion_length "
            "loses some of its reward (DAPO). None: no punishment."
        },
    )
    soft_overlong_size: POSITIVE_TYPE | None = field(
        default=None,
        metadata={
            "help": "What the longest text loses by soft_overlong_cache, as a reward's weight (1 "
            "is DAPO's). None: it ends just below the other completions of its group."
        },
    )
    reasoning_end: Annotated[str, Field(min_length=1)] | None = field(
        default=None,
        metadata={
            "help": "Tag that ends the reasoning of a policy that thinks first, such as "
            "'</think>'. Only the text after it is judged. None: the whole completion is."
        },
    )
    judged_turns: Literal["last", "all"] = field(
        default="last",
        metadata={
            "help": "Of a policy that calls tools: 'last' judges the assistant's last message, "
            "'all' all of its messages."
        },
    )
    tool_pictures: bool = field(
        default=False,
        metadata={"help": "Whether the judge also sees the pictures that tools return."},
    )
    claimed = False  # True on the config of a SpanGRPOTrainer; not a setting

    def __post_init__(self) -> None:
        self._choose_best_metric()
        super().__post_init__()
        # check each of our settings, and each setting of TRL that has a list of choices
        for name in (*SpanGRPOConfig.__annotations__, *SETTING_CHOICES["GRPOConfig"]):
            value = getattr(self, name)
            wrong = fault_of_setting(SpanGRPOConfig, name, value)
            if wrong:
                raise ValueError(f"{name}: {wrong}, got {value!r}.")
        self._check_combinations()
        if self.span_coef > 0:
            self._check_token_advantages()

    def _choose_best_metric(self) -> None:
        """Chooses the reward as the metric of the best checkpoint, if the user has chosen none.

        This must come before transformers chooses the loss, because GRPO's loss is near 0 all
        along.
        """
        needs_best = self.load_best_model_at_end or self.save_strategy == "best"
        if needs_best and self.metric_for_best_model is None:
            self.metric_for_best_model = "eval_reward"
            self.greater_is_better = True

    def _check_combinations(self) -> None:
        """Raises ValueError for settings that depend on each other and do not fit together."""
        cache = self.soft_overlong_cache
        longest = self.max_completion_length or 0
        if cache is not None and cache > longest:
            raise ValueError(
                f"soft_overlong_cache must be at most max_completion_length, got {cache} and "
                f"{longest}."
            )
        if self.soft_overlong_size is not None and cache is None:
            raise ValueError(
                f"soft_overlong_size={self.soft_overlong_size:g} does nothing without "
                "soft_overlong_cache: set both, or neither."
            )
        if self.judged_turns == "all" and self.reasoning_end is not None:
            raise ValueError(
                'judged_turns="all" and reasoning_end exclude each other: leave one of them out.'
            )

    @property
    def prompts_per_batch(self) -> int:
        """The number of prompts in a batch of completions, over all ranks."""
        assert self.generation_batch_size is not None  # TRL's __post_init__ sets both settings
        assert self.num_generations is not None
        return self.generation_batch_size // self.num_generations

    @property
    def passes_per_batch(self) -> int:
        """The number of forward and backward passes over one batch of completions."""
        assert self.steps_per_generation is not None  # TRL's __post_init__ sets the number
        return self.steps_per_generation * self.num_iterations

    def get_process_log_level(self) -> int:
        """Returns transformers' log level. Warns if span_coef is set and the trainer ignores spans.

        Every trainer calls this method in its constructor. SpanGRPOTrainer sets `claimed` before
        that call, so that only another trainer, such as TRL's GRPOTrainer, gets the warning.
        """
        if self.span_coef > 0 and not self.claimed:
            log.warning(
                "span_coef=%g has no effect here: only SpanGRPOTrainer gives spans to tokens, in "
                "GRPOTrainer's place.",
                self.span_coef,
            )
        return super().get_process_log_level()

    def _check_token_advantages(self) -> None:
        """Raises ValueError for settings with which span credit cannot act token by token.

        Some settings move all tokens of a completion alike, whatever the tokens' advantages are.
        Another setting (top_entropy_quantile) leaves tokens out of the loss. The credit of the
        tokens that remain then has another mean than 0, so that a text with a wrong word may gain.
        """
        if self.top_entropy_quantile < 1:
            raise ValueError(
                f"top_entropy_quantile={self.top_entropy_quantile:g} leaves tokens out after the "
                "spans' credit was centred over all of a completion, so that wrong words may gain: "
                "set span_coef=0, or leave it out."
            )
        # With the level "sequence", all tokens of a completion share one ratio, and only the mean
        # of the tokens' advantages counts. The loss "cispo" is an exception, because this loss
        # multiplies the log-probability of each token by the token's own advantage.
        shares_ratio = self.importance_sampling_level == "sequence"
        counts_only_mean = shares_ratio and self.loss_type != "cispo"
        if self.loss_type == "vespo":
            setting = "loss_type='vespo'"
        elif self.off_policy_mask_threshold is not None:
            setting = "off_policy_mask_threshold"
        elif counts_only_mean:
            setting = "importance_sampling_level='sequence'"
        else:
            return
        raise ValueError(
            f"{setting} moves all tokens of a completion alike: set span_coef=0, or leave it out."
        )


def read_config(args: GRPOConfig | None, model: Any) -> SpanGRPOConfig:
    """Returns a SpanGRPOConfig for the argument `args` of SpanGRPOTrainer.

    Args:
        args: a SpanGRPOConfig is returned as it is. A GRPOConfig keeps its values, our settings get
            their defaults, and a warning is logged. None gives the default of every setting, and
            the output folder of GRPOTrainer: "name-GRPO" for the model "org/name".
        model: the policy, a model or its name.
    """
    if isinstance(args, SpanGRPOConfig):
        return args
    if args is None:
        name = model
        if not isinstance(model, str):
            name = model.config._name_or_path
        return SpanGRPOConfig(f"{name.split('/')[-1]}-GRPO")
    # Copy the values without __post_init__, which has already run on `args`. __post_init__ computes
    # some settings that the user left out. A second __post_init__ would treat these values as if
    # the user had chosen them.
    config = object.__new__(SpanGRPOConfig)
    settings = {setting.name: setting.default for setting in fields(SpanGRPOConfig)}
    settings.update(vars(args))
    vars(config).update(settings)
    log.warning(
        "args is a %s, which has no span_coef: spans are off, and this is TRL's GRPOTrainer; for "
        "spans pass SpanGRPOConfig(..., span_coef=0.5), and without this warning "
        "SpanGRPOConfig(...).",
        type(args).__name__,
    )
    return config
