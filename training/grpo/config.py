"""Settings of SpanGRPOTrainer: TRL's GRPOConfig, seven more, and the checks that they fit together.

    args = SpanGRPOConfig(output_dir="out", span_coef=0.1, dynamic_sampling=True, epsilon_high=0.28)

DAPO (Yu et al. 2025, arXiv 2503.14476) is TRL's `loss_type="dapo"` (its default), `epsilon_high`, `beta=0` and
`mask_truncated_completions`, with `dynamic_sampling` and `soft_overlong_cache` from here.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any

from datasets import Dataset, IterableDataset
from pydantic import Field
from transformers import PreTrainedTokenizerBase
from trl import GRPOConfig

from spanreward.rewards.metrics import METRICS
from spanreward.rewards.reward.reward import Reward
from spanreward.training.trainer_settings import AMOUNT, COUNT, SHARE, fault

log = logging.getLogger(__name__)


@dataclass
class SpanGRPOConfig(GRPOConfig):
    """TRL's GRPOConfig with seven more settings.

    Args:
        span_coef: weight of the spans' credit (in standard deviations) beside the scalar advantage; 0 is stock GRPO.
            docs/credit.md says when it helps, and by which rule.
        max_failed_fraction: training stops when a judge fails on a larger fraction of a step's completions.
        dynamic_sampling: replaces prompts whose completions all have the same score (DAPO, equation 11).
        max_resamples: rounds of generation that dynamic sampling makes for a batch. Groups that are still missing stay
            as they are. With half of the prompts solved, five rounds leave one group of 64 unfilled.
        soft_overlong_cache: a completion that ends within this many tokens of max_completion_length loses up to 1 of
            its reward (DAPO, equation 13; TRL's get_soft_overlong_punishment). None: no punishment.
        reasoning_end: tag that ends the reasoning of a policy that thinks first, such as "</think>". Only the text
            after it is judged and gets span credit. A completion without it has no answer and scores 0. None: the
            whole completion is judged, as where the chat template closes the block in the prompt.
        contrast_coef: every completion is also judged on one other row of its batch, and loses this share of what it
            earns there, so that a text which knows nothing of its picture earns nothing at 1. It takes 1.7 to 1.8
            times the questions. The verdicts stay as they are. 0: off, and the contrast of 2 % of the rows is logged.

    Raises:
        ValueError: for settings that exclude each other; the message names both.
    """

    span_coef: AMOUNT = 0.0
    max_failed_fraction: SHARE = 0.5
    dynamic_sampling: bool = False
    max_resamples: COUNT = 5
    soft_overlong_cache: COUNT | None = None
    reasoning_end: Annotated[str, Field(min_length=1)] | None = None
    contrast_coef: SHARE = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in SpanGRPOConfig.__annotations__:
            if wrong := fault(SpanGRPOConfig, name, getattr(self, name)):
                raise ValueError(f"{name}: {wrong}, got {getattr(self, name)!r}.")
        cache, longest = self.soft_overlong_cache, self.max_completion_length or 0
        if cache is not None and cache > longest:
            raise ValueError(f"soft_overlong_cache must be at most max_completion_length, got {cache} and {longest}.")
        if self.span_coef > 0:
            self._check_token_advantages()

    @property
    def prompts_per_batch(self) -> int:
        """Groups in a batch of completions, over all ranks."""
        assert self.generation_batch_size is not None  # TRL's __post_init__ sets both
        assert self.num_generations is not None
        return self.generation_batch_size // self.num_generations

    @property
    def passes_per_batch(self) -> int:
        """Forward and backward passes over one batch of completions."""
        assert self.steps_per_generation is not None  # TRL's __post_init__ sets it
        return self.steps_per_generation * self.num_iterations

    def _check_token_advantages(self) -> None:
        """Raises ValueError where TRL moves all tokens of a completion alike, whatever their advantages."""
        one_ratio = self.importance_sampling_level == "sequence" and self.loss_type != "cispo"
        alike = {
            "loss_type='vespo'": self.loss_type == "vespo",
            "off_policy_mask_threshold": self.off_policy_mask_threshold is not None,
            "importance_sampling_level='sequence'": one_ratio,
        }
        for setting in (setting for setting, given in alike.items() if given):
            raise ValueError(f"{setting} moves all tokens of a completion alike: set span_coef=0, or leave it out.")


def read_config(args: GRPOConfig | None, model: Any) -> SpanGRPOConfig:
    """Returns the SpanGRPOConfig for SpanGRPOTrainer's `args`. A GRPOConfig leaves our settings at their defaults, and
    a warning says so. None does too, and writes into the folder that GRPOTrainer would use.
    """
    if isinstance(args, SpanGRPOConfig):
        return args
    if args is None:
        name = model if isinstance(model, str) else model.config._name_or_path
        return SpanGRPOConfig(f"{name.split('/')[-1]}-GRPO")
    config = object.__new__(SpanGRPOConfig)  # TRL's __post_init__ has run, and would take its results for settings
    vars(config).update({one.name: one.default for one in fields(SpanGRPOConfig)} | vars(args))
    log.warning(
        "args is a %s, which has no span_coef: spans are off, and this is TRL's GRPOTrainer; for spans pass "
        "SpanGRPOConfig(..., span_coef=0.5), and without this warning SpanGRPOConfig(...).",
        type(args).__name__,
    )
    return config


def check_parts(args: SpanGRPOConfig, rewards: list[Reward], functions: list[Any], given: Mapping[str, Any]) -> None:
    """Raises ValueError for arguments that a SpanGRPOTrainer cannot train with, before anything is loaded.

    rewards: those of the reward functions that are ours. functions: all of them. given: GRPOTrainer's other arguments.
    """
    for function in functions:
        if function in METRICS or isinstance(function, type):
            raise ValueError(f"reward_funcs has {function!r}: give a reward that is made, as PoshReward('match').")
    names = [reward.__name__ for reward in rewards]
    rollout_func = given.get("rollout_func")
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
    for name in ("tools", "environment_factory"):
        if given.get(name) and names:
            raise ValueError(
                f"{name} makes completions of several messages, which {names[0]} cannot judge as one text: leave it "
                "out, or use TRL's GRPOTrainer with a reward function of your own."
            )
    for name, value in {"span_coef": args.span_coef, "dynamic_sampling": args.dynamic_sampling}.items():
        if rollout_func is not None and value:
            raise ValueError(
                f"{name}={value} needs completions that the trainer sampled itself, in one turn: leave rollout_func "
                f"out, or set {name}={type(value)(0)}."
            )
    dataset = given.get("train_dataset")  # TRL itself refuses what is no dataset
    if isinstance(dataset, IterableDataset) and args.dynamic_sampling:
        raise ValueError("dynamic_sampling draws rows by number, which a streamed dataset lacks: load it whole.")
    if isinstance(dataset, Dataset) and len(dataset) < args.prompts_per_batch:
        raise ValueError(
            f"the training dataset has {len(dataset)} rows, and one batch takes {args.prompts_per_batch} prompts "
            f"(generation_batch_size {args.generation_batch_size} / num_generations {args.num_generations})."
        )
    if rollout_func is None:  # a rollout function may add columns
        for part in ("train_dataset", "eval_dataset"):
            _check_columns(rewards, part, given.get(part))
    _check_saves(args)


def _check_columns(rewards: Sequence[Reward], part: str, dataset: Any) -> None:
    """Raises ValueError for a column that a reward needs and the dataset lacks. A streamed dataset whose columns are
    not known passes.
    """
    if isinstance(dataset, Mapping):
        for name, one in dataset.items():
            _check_columns(rewards, f"{part}[{name!r}]", one)
        return
    present = [] if dataset is None else dataset.column_names or []
    for reward in rewards:
        missing = reward.missing_column(present)
        if present and missing:
            raise reward.lacks(missing, part, sorted(present))


def check_policy(processing_class: Any, dataset: Any) -> None:
    """Raises ValueError for a training dataset without prompts, and for one that a policy's processor cannot read."""
    columns = (dataset.column_names or []) if isinstance(dataset, (Dataset, IterableDataset)) else []
    if columns and "prompt" not in columns:
        raise ValueError(f"train_dataset needs the column 'prompt', which the policy completes, and has {columns}.")
    pictures = next((name for name in ("image", "images") if name in columns), None)
    if pictures and isinstance(processing_class, PreTrainedTokenizerBase):
        raise ValueError(
            f"train_dataset has the column {pictures!r}, and processing_class is a tokenizer, which reads no pictures: "
            f"give a vision-language model and its AutoProcessor, or remove {pictures!r}."
        )
    messages = isinstance(dataset, Dataset) and isinstance(dataset.select_columns("prompt")[0]["prompt"], list)
    if messages and not processing_class.chat_template:
        raise ValueError(
            "the prompts are messages, and the policy's processing_class has no chat_template to write them with: "
            "take an instruct model, set processing_class.chat_template, or make each prompt a text."
        )


def _check_saves(args: SpanGRPOConfig) -> None:
    """Warns when checkpoints fall between two passes over a batch of completions, which no checkpoint holds."""
    every = args.save_steps * args.gradient_accumulation_steps  # save_steps below 1 is a fraction of the whole run
    if args.save_strategy == "steps" and args.save_steps >= 1 and every % args.passes_per_batch:
        log.warning(
            "save_steps=%s ends within the %d passes over a batch of completions (steps_per_generation %d x "
            "num_iterations %d): a run resumed there samples anew and is not the uninterrupted one.",
            *(args.save_steps, args.passes_per_batch, args.steps_per_generation, args.num_iterations),
        )
