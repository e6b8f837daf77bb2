"""The settings of SpanGRPOTrainer: TRL's GRPOConfig, ours, and which of them cannot work together.

    args = SpanGRPOConfig(output_dir="out", span_coef=0.1, dynamic_sampling=True, epsilon_high=0.28)

DAPO (Yu et al. 2025, arXiv 2503.14476) is TRL's `loss_type="dapo"` (its default), `epsilon_high`, `beta=0` and
`mask_truncated_completions`, with our `dynamic_sampling` and `soft_overlong_cache`.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from datasets import Dataset, IterableDataset
from trl import GRPOConfig

from rewards.naming import unknown
from rewards.reward import Reward
from training.grpo.span_rules import SPAN_RULES

log = logging.getLogger(__name__)


@dataclass
class SpanGRPOConfig(GRPOConfig):
    """TRL's GRPOConfig and seven settings.

    Args:
        span_coef: weight of the spans' credit (in standard deviations) beside the scalar advantage; 0 is stock GRPO.
            docs/credit.md says when it teaches faster, and when it does not.
        span_rule: how the credit and the scalar advantage become the advantages of tokens, a name of
            training/grpo/span_rules.py.
        max_failed_fraction: the run stops when a larger fraction of a step's completions could not be judged.
        dynamic_sampling: prompts on which all completions have the same score are replaced by new ones (DAPO, equation
            11).
        max_resamples: rounds of generation for that, a batch; what is then still missing stays as it is. Where half of
            the prompts are solved, five rounds leave one group of 64 unfilled.
        soft_overlong_cache: completions that come within this many tokens of max_completion_length lose up to 1 of
            their reward (DAPO, equation 13; TRL's get_soft_overlong_punishment); None is no punishment.
        reasoning_end: the tag that ends the reasoning of a policy that thinks first, such as "</think>". Only what
            follows it is judged and gets span credit, and a completion without it has no answer, which scores 0. None
            judges all.

    Raises:
        ValueError: for settings that exclude each other, naming both.
    """

    span_coef: float = field(default=0.0, metadata={"help": "Weight of the spans' credit; 0 is stock GRPO."})
    span_rule: str = field(
        default="add_centred", metadata={"help": f"How spans change advantages: {', '.join(SPAN_RULES)}."}
    )
    max_failed_fraction: float = field(
        default=0.5, metadata={"help": "Stop when more of a step's completions than this could not be judged."}
    )
    dynamic_sampling: bool = field(
        default=False, metadata={"help": "Replace prompts on which all completions have the same score (DAPO)."}
    )
    max_resamples: int = field(default=5, metadata={"help": "Rounds of dynamic sampling before a batch is left as is."})
    soft_overlong_cache: int | None = field(
        default=None, metadata={"help": "Punish completions this many tokens before max_completion_length (DAPO)."}
    )
    reasoning_end: str | None = field(
        default=None,
        metadata={
            "help": "The tag that ends the policy's reasoning, such as </think>: only what follows is judged, and "
            "without it there is no answer. Leave it out where the chat template closes the block in the prompt."
        },
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.span_coef < 0:
            raise ValueError(f"span_coef must be 0 or more, got {self.span_coef}")
        if self.span_rule not in SPAN_RULES:
            raise ValueError(unknown("span_rule", self.span_rule, SPAN_RULES))
        if not 0 <= self.max_failed_fraction <= 1:
            raise ValueError(f"max_failed_fraction must be in [0, 1], got {self.max_failed_fraction}")
        if self.max_resamples < 1:
            raise ValueError(
                f"max_resamples must be 1 or more, got {self.max_resamples}: or set dynamic_sampling=false."
            )
        if self.reasoning_end == "":
            raise ValueError("reasoning_end must be a tag such as </think>, or null, got an empty text")
        if self.soft_overlong_cache is not None:
            self._check_overlong(self.soft_overlong_cache)
        if self.span_coef > 0:
            self._check_token_advantages()

    @property
    def prompts_per_batch(self) -> int:
        """Groups in a batch of completions, over all ranks."""
        assert self.generation_batch_size is not None  # TRL's __post_init__ sets it
        assert self.num_generations is not None
        return self.generation_batch_size // self.num_generations

    @property
    def passes_per_batch(self) -> int:
        """Forward and backward passes for which a batch of completions is used."""
        assert self.steps_per_generation is not None  # TRL's __post_init__ sets it
        return self.steps_per_generation * self.num_iterations

    def _check_overlong(self, cache: int) -> None:
        if self.max_completion_length is None or not 0 < cache <= self.max_completion_length:
            raise ValueError(
                "soft_overlong_cache must be 1 or more and at most max_completion_length, got "
                f"{cache} and {self.max_completion_length}"
            )

    def _check_token_advantages(self) -> None:
        """Refuse what reads one advantage per sequence, or spreads a sequence's advantages evenly over its tokens."""
        if self.loss_type == "vespo":
            raise ValueError("loss_type='vespo' reads one advantage per sequence: set span_coef=0 or another loss.")
        if self.off_policy_mask_threshold is not None:
            raise ValueError(
                "off_policy_mask_threshold reads one advantage per sequence: set span_coef=0 or leave it out."
            )
        if self.importance_sampling_level == "sequence" and self.loss_type != "cispo":
            raise ValueError(
                f"importance_sampling_level='sequence' with loss_type={self.loss_type!r} has one ratio for all of a "
                "sequence's tokens, through which spans move them all alike: set span_coef=0, loss_type='cispo' or "
                "importance_sampling_level='token'."
            )


def read_config(args: GRPOConfig | None, model: Any) -> SpanGRPOConfig:
    """What SpanGRPOTrainer's `args` mean: a GRPOConfig leaves our settings at their defaults, so does None, which
    writes into the folder that GRPOTrainer would write into.
    """
    if isinstance(args, SpanGRPOConfig):
        return args
    if args is None:
        name = model if isinstance(model, str) else model.config._name_or_path
        return SpanGRPOConfig(f"{name.split('/')[-1]}-GRPO")
    config = object.__new__(SpanGRPOConfig)  # TRL's __post_init__ has run, and takes its own results for settings
    ours = {setting.name: setting.default for setting in fields(SpanGRPOConfig)}
    vars(config).update(ours | vars(args))
    return config


def check_parts(
    args: SpanGRPOConfig,
    rewards: Sequence[Reward],
    functions: Sequence[Any],
    train_dataset: Dataset | IterableDataset | None = None,
    eval_dataset: Any = None,
    tools: Any = None,
    environment_factory: Any = None,
    rollout_func: Any = None,
    **others: Any,
) -> None:
    """Raises ValueError for what a SpanGRPOTrainer is given and cannot train on, before anything is loaded.

    functions: all reward functions, of which `rewards` are ours.
    """
    names = [reward.__name__ for reward in rewards]
    if args.reward_weights is not None and len(args.reward_weights) != len(functions):
        raise ValueError(
            f"reward_weights has {len(args.reward_weights)} numbers for {len(functions)} reward functions: give one "
            "each, and none for soft_overlong_cache, whose weight is 1."
        )
    if len(set(names)) < len(names):
        raise ValueError(f"rewards need different names, got {names}: pass name=... to one of them.")
    if args.span_coef and not rewards:
        raise ValueError(
            f"span_coef={args.span_coef} needs a reward that gives spans, such as PoshReward: or set span_coef=0."
        )
    if args.dynamic_sampling and not rewards:
        raise ValueError("dynamic_sampling looks at the scores of a Reward, such as PoshReward, and there is none.")
    for name, given in {"tools": tools, "environment_factory": environment_factory}.items():
        if given and names:
            raise ValueError(
                f"{name} makes completions of several messages, which {names[0]} cannot judge as one text: leave it "
                "out, or use TRL's GRPOTrainer with a reward function of your own."
            )
    for setting, value in {"span_coef": args.span_coef, "dynamic_sampling": args.dynamic_sampling}.items():
        if rollout_func is not None and value:
            raise ValueError(
                f"{setting}={value} needs completions that the trainer sampled itself, in one turn: leave rollout_func "
                f"out, or set {setting}={type(value)(0)}."
            )
    check_dataset(args, train_dataset)
    for part, dataset in {"train_dataset": train_dataset, "eval_dataset": eval_dataset}.items():
        check_columns(rewards, part, dataset, rollout_func)
    check_saves(args)


def check_dataset(args: SpanGRPOConfig, dataset: Any) -> None:
    """Raises ValueError for data of which no batch can be made; what is no dataset of rows TRL refuses itself."""
    if isinstance(dataset, IterableDataset) and args.dynamic_sampling:
        raise ValueError("dynamic_sampling draws rows by number, which a streamed dataset lacks: load it whole.")
    if isinstance(dataset, Dataset) and len(dataset) < args.prompts_per_batch:
        raise ValueError(
            f"the training dataset has {len(dataset)} rows, and one batch takes {args.prompts_per_batch} prompts "
            f"(generation_batch_size {args.generation_batch_size} / num_generations {args.num_generations})."
        )


def check_columns(rewards: Sequence[Reward], part: str, dataset: Any, rollout_func: Any) -> None:
    """Raises ValueError for a column that a reward needs and the dataset lacks, where its columns are known: those of a
    streamed dataset may not be, and a rollout function may add some.
    """
    if isinstance(dataset, Mapping):
        for name, one in dataset.items():
            check_columns(rewards, f"{part}[{name!r}]", one, rollout_func)
        return
    present = [] if dataset is None or rollout_func is not None else dataset.column_names or []
    for reward in rewards:
        missing = reward.missing_column(present)
        if present and missing:
            raise reward.lacks(missing, part, sorted(present))


def check_saves(args: SpanGRPOConfig) -> None:
    """Warns where checkpoints fall into the midst of a batch of completions: they are not saved with it."""
    every = args.save_steps * args.gradient_accumulation_steps  # below 1 save_steps is a fraction of the whole run
    if args.save_strategy == "steps" and args.save_steps >= 1 and every % args.passes_per_batch:
        log.warning(
            "save_steps=%s ends within the %d passes over a batch of completions (steps_per_generation %d x "
            "num_iterations %d): a run resumed there samples anew and is not the uninterrupted one.",
            *(args.save_steps, args.passes_per_batch, args.steps_per_generation, args.num_iterations),
        )
