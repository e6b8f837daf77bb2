"""Preflight: checks before the first step that processor, data, rewards and settings fit together.

    check_parts(args, rewards, functions, arguments)          # before anything is loaded
    check_pictures(rewards, "train_dataset", dataset)         # that the judges can see pictures
    check_policy(processor, dataset)                          # with the policy's processor
    check_rows(rewards, processor, "train_dataset", dataset)  # all rows, without their pictures

Each function raises ValueError with one sentence that names the fault and the remedy. Faults that
TRL itself refuses are not checked here.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from datasets import Dataset, Image, IterableDataset, List
from transformers import PreTrainedTokenizerBase
from trl.trainer.utils import get_callable_name

from spanreward.rewards.base.checks import check_known
from spanreward.rewards.judges.encoding.bounded_template import check_template
from spanreward.rewards.metrics import METRICS
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.reward.viewers import unseeing_sentence
from spanreward.rewards.rows.columns import COLUMNS_READ
from spanreward.rewards.rows.messages import message_text
from spanreward.rewards.rows.pictures import Pictures
from spanreward.training.grpo.config import SpanGRPOConfig
from spanreward.training.grpo.recorder import Recorder
from spanreward.training.grpo.reward_functions import check_function
from spanreward.training.trainer_settings import lacking_packages
from spanreward.training.turn_end import tokenizer_of

log = logging.getLogger(__name__)

BATCH_ROWS = 1000  # so many rows are read together
# so many rows are read together if the bytes of their pictures are read too
PICTURED_BATCH_ROWS = 64
PICTURE_COLUMNS = ("image", "images")  # the columns that hold pictures
# the keys that TRL and the trainer log, up to the first "/"
LOGGED_PREFIXES = (
    "reward",
    "reward_std",
    "rewards",
    "frac_reward_zero_std",
    "completions",
    "entropy",
    "kl",
    "judge",
    "spans",
)


def check_parts(
    args: SpanGRPOConfig, rewards: list[Reward], functions: list[Any], arguments: Mapping[str, Any]
) -> None:
    """Raises ValueError for arguments with which a SpanGRPOTrainer cannot train.

    Nothing needs to be loaded for these checks.

    Args:
        args: the trainer's settings.
        rewards: the Rewards of this package among the reward functions.
        functions: all reward functions, each Reward in a Recorder.
        arguments: GRPOTrainer's other arguments, by name.
    """
    _check_that_rewards_are_made(functions)
    _check_functions(args, functions, arguments)
    if args.reward_weights is not None:
        _check_weights(args.reward_weights, len(functions))
    _check_names(rewards, functions)
    _check_deciding(args, functions)
    _check_arguments(args, rewards, arguments)
    _check_size(args, arguments.get("train_dataset"))
    if arguments.get("rollout_func") is None:  # a rollout function may add columns
        for part in ("train_dataset", "eval_dataset"):
            check_columns(rewards, part, arguments.get(part))
            check_pictures(rewards, part, arguments.get(part))
    if any(reward.by_batch for reward in rewards):
        _check_groups(args, arguments.get("eval_dataset"))
    _check_saves(args)
    _check_best(args, rewards, len(functions))


def _check_that_rewards_are_made(functions: Sequence[Any]) -> None:
    """Raises ValueError for the name of a metric, such as "posh", and for a class, such as
    PoshReward, in place of a reward such as PoshReward("match").

    TRL would take the name for the name of a reward model.

    functions: all reward functions.
    """
    for function in functions:
        is_metric_name = isinstance(function, str) and function in METRICS
        if is_metric_name or isinstance(function, type):
            raise ValueError(
                f"reward_funcs has {function!r}: give a reward that is made, as "
                "PoshReward('match')."
            )


def _check_names(rewards: Sequence[Reward], functions: Sequence[Any]) -> None:
    """Raises ValueError if another reward function has the name of a Reward.

    The log has one value for each name, so that two rewards of the name "posh" would be mixed up.

    rewards: the Rewards of this package among the functions. functions: all reward functions.
    """
    names = [get_callable_name(function) for function in functions if callable(function)]
    if any(names.count(reward.__name__) > 1 for reward in rewards):
        raise ValueError(
            f"rewards need different names, got {names}: pass name=... to one of them."
        )


def _check_size(args: SpanGRPOConfig, dataset: Any) -> None:
    """Raises ValueError for training data with fewer rows than a batch has prompts, and for a
    stream with dynamic sampling, which reads rows by their number.

    dataset: the argument `train_dataset`. An object that is no dataset passes, because TRL refuses
    it.
    """
    if isinstance(dataset, IterableDataset) and args.dynamic_sampling:
        raise ValueError(
            "dynamic_sampling draws rows by number, which a streamed dataset lacks: load it whole."
        )
    if isinstance(dataset, Dataset) and len(dataset) < args.prompts_per_batch:
        raise ValueError(
            f"the training dataset has {len(dataset)} rows, and one batch takes "
            f"{args.prompts_per_batch} prompts (generation_batch_size {args.generation_batch_size} "
            f"/ num_generations {args.num_generations})."
        )


def _check_arguments(
    args: SpanGRPOConfig, rewards: Sequence[Reward], arguments: Mapping[str, Any]
) -> None:
    """Raises ValueError for settings and arguments that exclude each other.

    arguments: GRPOTrainer's other arguments, by name.
    """
    for name in ("tools", "environment_factory", "rollout_func"):
        if arguments.get(name) and args.dynamic_sampling:
            raise ValueError(
                f"dynamic_sampling completes prompts in one turn, and {name} makes several: leave "
                "one."
            )
    if arguments.get("rollout_func") is not None and args.span_coef:
        raise ValueError(
            f"span_coef={args.span_coef} needs tokens that the trainer sampled: leave rollout_func "
            "out."
        )
    by_reward = (args.metric_for_best_model or "").endswith("eval_reward")
    if by_reward and isinstance(arguments.get("eval_dataset"), Mapping):
        raise ValueError(
            "several eval_dataset log one eval_reward, and the last would choose: give one of them."
        )
    reads_columns = any(reward.columns or reward.one_of for reward in rewards)
    if args.remove_unused_columns and reads_columns:
        raise ValueError(
            "remove_unused_columns=True drops the columns that the rewards read: leave it out."
        )


def _check_functions(
    args: SpanGRPOConfig, functions: Sequence[Any], options: Mapping[str, Any]
) -> None:
    """Raises ValueError for a setting whose package is missing, and for a user's reward function
    that TRL cannot call.

    options: GRPOTrainer's other arguments, by name.
    """
    sentences = list(lacking_packages(vars(args)).values())
    if sentences:
        raise ValueError(sentences[0])
    columns = None  # not known: a transform, a rollout function or an environment may add some
    dataset = options.get("train_dataset")
    may_add_columns = options.get("rollout_func") or options.get("environment_factory")
    if isinstance(dataset, Dataset) and not may_add_columns:
        columns = None if is_lazy(dataset) else dataset.column_names
    for function in functions:
        if callable(function) and not isinstance(function, Recorder):
            check_function(function, columns)


def _check_weights(weights: Sequence[float], function_count: int) -> None:
    """Raises ValueError if there are more or fewer weights than reward functions, or if all weights
    are 0.
    """
    if len(weights) != function_count:
        raise ValueError(
            f"reward_weights has {len(weights)} numbers for {function_count} reward functions: "
            "give one each, and none for soft_overlong_cache, whose weight is soft_overlong_size."
        )
    if not any(weights):
        raise ValueError(
            "every reward has the weight 0, so nothing is learnt: give one of them another weight."
        )


def _check_deciding(args: SpanGRPOConfig, functions: Sequence[Any]) -> None:
    """Raises ValueError if span_coef or dynamic_sampling is set and no Reward has a weight.

    A weight of 0 counts as no weight.

    functions: all reward functions, each Reward in a Recorder.
    """
    weights = args.reward_weights or [1.0] * len(functions)
    for function, weight in zip(functions, weights, strict=True):
        if isinstance(function, Recorder) and weight:  # found a Reward with a weight
            return
    if args.span_coef:
        raise ValueError(
            f"span_coef={args.span_coef} needs a reward that gives spans, such as PoshReward, with "
            "a weight: or set span_coef=0."
        )
    if args.dynamic_sampling:
        raise ValueError(
            "dynamic_sampling looks at the scores of a Reward, such as PoshReward, and there is "
            "none with a weight."
        )


def _check_groups(args: SpanGRPOConfig, eval_dataset: Any) -> None:
    """Raises ValueError if a group would be split between two ranks.

    A reward that compares the completions of a group needs the whole group on one rank. Each rank
    gets consecutive rows: in training, per_device_train_batch_size x steps_per_generation rows.
    Example: with 12 rows for a rank and groups of 8, the second group would be split after 4 rows.
    """
    if args.world_size == 1:
        return
    assert args.num_generations is not None  # TRL's __post_init__ sets both numbers
    assert args.steps_per_generation is not None
    # for training and for evaluation: the setting's name, rows of a rank, completions of a group
    train_rows = args.per_device_train_batch_size * args.steps_per_generation
    train_setting = "per_device_train_batch_size x steps_per_generation"
    sizes = [(train_setting, train_rows, args.num_generations)]
    if eval_dataset is not None:
        size = args.num_generations_eval or args.num_generations
        sizes.append(("per_device_eval_batch_size", args.per_device_eval_batch_size, size))
    for setting, rows, size in sizes:
        if rows % size:
            raise ValueError(
                f"a reward compares the {size} completions of a prompt, and a process gets {rows} "
                f"({setting}), so that groups are cut: make it a multiple of {size}."
            )


def _check_best(args: SpanGRPOConfig, rewards: Sequence[Reward], functions: int) -> None:
    """Raises ValueError if metric_for_best_model is the loss, or a key that is not logged.

    GRPO's loss stays near 0 while the policy learns, and so cannot find the best checkpoint.

    functions: the number of all reward functions.
    """
    chosen = (args.metric_for_best_model or "").removeprefix("eval_")
    if chosen == "loss":
        raise ValueError(
            "GRPO's loss is near 0 whatever was learnt: set metric_for_best_model='eval_reward'."
        )
    prefix, _, _ = chosen.partition("/")  # "posh" of "posh/f1"
    # a user's function may log any key, so the key is checked only if there is no such function
    if chosen and len(rewards) == functions:
        names = [reward.__name__ for reward in rewards]
        check_known("metric_for_best_model", [prefix], [*LOGGED_PREFIXES, *names])


def check_columns(rewards: Sequence[Reward], part: str, dataset: Any) -> None:
    """Raises ValueError if the dataset lacks a column that a reward needs.

    A stream whose columns are not known passes.

    part: the dataset's name in the message, such as "train_dataset". dataset: a dataset, several
    datasets by name, or None.
    """
    if isinstance(dataset, Mapping):
        for name, split in dataset.items():
            check_columns(rewards, f"{part}[{name!r}]", split)
        return
    if dataset is None or is_lazy(dataset):
        return
    present = dataset.column_names or []
    for reward in rewards:
        missing = reward.missing_column(present)
        if present and missing:
            raise reward.lacks(missing, part, sorted(present))


def is_lazy(dataset: Any) -> bool:
    """Returns whether a transform (`set_transform`) makes the columns of a row when it is read.

    The columns of such a dataset are not known before. One transform does not count: that of a
    recipe's data, which only loads pictures and keeps the columns.
    """
    if not isinstance(dataset, Dataset):
        return False
    transform = dataset.format["format_kwargs"].get("transform")
    return transform is not None and not isinstance(transform, Pictures)


def made_by_transform(dataset: Any) -> bool:
    """Returns whether the dataset, or one of several datasets by name, is lazy (`is_lazy`)."""
    if isinstance(dataset, Mapping):
        return any(is_lazy(split) for split in dataset.values())
    return is_lazy(dataset)


def check_trained(model: Any) -> None:
    """Raises ValueError for a policy without any parameter that requires a gradient."""
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise ValueError(
            "no parameter of the policy requires a gradient, as after merge_and_unload, so nothing "
            "would be trained: call model.requires_grad_(True), or give a peft_config."
        )


def check_policy(processing_class: Any, dataset: Any) -> None:
    """Raises ValueError if the policy's processor cannot write or read the training prompts.

    The faults of the dataset are a missing column of prompts, and pictures for a tokenizer that
    reads only text. The faults of the processor are a tokenizer that is not fast, a missing chat
    template for messages, and a chat template that renders a short chat for too long, or for ever.

    processing_class: the policy's processor or tokenizer. dataset: the training dataset.
    """
    columns: list[str] = []
    if isinstance(dataset, (Dataset, IterableDataset)) and not is_lazy(dataset):
        columns = dataset.column_names or []  # a stream may have no known columns
    if columns:
        check_prompt("train_dataset", columns)
    _check_can_see(processing_class, columns)
    tokenizer = tokenizer_of(processing_class)
    # span credit needs the characters of each token, which only a fast tokenizer can find
    if isinstance(tokenizer, PreTrainedTokenizerBase) and not tokenizer.is_fast:
        raise ValueError(
            f"{type(tokenizer).__name__} says no token's place in a text: give a model with a fast "
            "tokenizer."
        )
    if not asks_in_messages(dataset):  # prompts that are texts need no chat template
        return
    if not processing_class.chat_template:
        raise ValueError(
            "the prompts are messages, and the policy's processing_class has no chat_template "
            "to write them with: take an instruct model, set processing_class.chat_template, "
            "or make each prompt a text."
        )
    check_template(
        tokenizer.name_or_path, processing_class.chat_template, tokenizer.special_tokens_map
    )


def _check_can_see(processing_class: Any, columns: Sequence[str]) -> None:
    """Raises ValueError if the data have a column of pictures, and the policy's processor is a
    tokenizer, which reads only text.

    columns: the columns of the training data; empty if they are not known.
    """
    picture_columns = [name for name in PICTURE_COLUMNS if name in columns]
    if picture_columns and isinstance(processing_class, PreTrainedTokenizerBase):
        pictures = picture_columns[0]
        raise ValueError(
            f"train_dataset has the column {pictures!r}, and processing_class is a tokenizer, "
            "which reads no pictures: give a vision-language model and its AutoProcessor, or "
            f"remove {pictures!r}."
        )


def check_prompt(part: str, columns: Sequence[str]) -> None:
    """Raises ValueError for a dataset without the column "prompt". part: the dataset's name."""
    if "prompt" not in columns:
        raise ValueError(
            f"{part} needs the column 'prompt', which the policy completes, and has {columns}."
        )


def asks_in_messages(dataset: Any) -> bool:
    """Returns whether the prompt of the first row is a list of messages, which needs a chat
    template.

    The result for a stream is False, because no row of a stream is read ahead.
    """
    if not isinstance(dataset, Dataset):
        return False
    prompts = dataset
    if not is_lazy(dataset):
        prompts = dataset.select_columns("prompt")  # so that no picture is decoded
    return isinstance(prompts[0]["prompt"], list)


def _check_saves(args: SpanGRPOConfig) -> None:
    """Warns if a checkpoint would be saved between two passes over a batch of completions.

    A checkpoint does not hold the batch, so that a resumed run must sample new completions.
    """
    # save_steps below 1 is a fraction of the whole run
    passes_between_saves = args.save_steps * args.gradient_accumulation_steps
    by_steps = args.save_strategy == "steps" and args.save_steps >= 1
    if by_steps and passes_between_saves % args.passes_per_batch:
        log.warning(
            "save_steps=%s ends within the %d passes over a batch of completions "
            "(steps_per_generation %d x num_iterations %d): a run resumed there samples anew and "
            "is not the uninterrupted one.",
            args.save_steps,
            args.passes_per_batch,
            args.steps_per_generation,
            args.num_iterations,
        )


def check_rows(rewards: Sequence[Reward], processor: Any, part: str, dataset: Any) -> None:
    """Raises ValueError for the first row whose prompt TRL cannot complete, or that a reward cannot
    read.

    Pictures are not decoded. The rows of a streamed or lazy dataset are not checked here, but when
    the trainer reads them.

    Args:
        rewards: the Rewards, each of which must be able to read every row.
        processor: the policy's processor or tokenizer.
        part: the dataset's name in the message, such as "train_dataset".
        dataset: a dataset, several datasets by name, or None.
    """
    if isinstance(dataset, Mapping):
        for name, split in dataset.items():
            check_rows(rewards, processor, f"{part}[{name!r}]", split)
        return
    if not isinstance(dataset, Dataset) or is_lazy(dataset):
        return
    check_prompt(part, dataset.column_names)
    picture_names = [name for name in dataset.column_names if name in PICTURE_COLUMNS]
    names_to_read = [name for name in dataset.column_names if name not in PICTURE_COLUMNS]
    placeholder = None
    if picture_names:  # the text that the processor writes for each picture, such as "<image>"
        placeholder = vars(processor).get("image_token")
    rows_before = 0  # how many rows the earlier batches had
    for batch in dataset.with_format(None).select_columns(names_to_read).iter(BATCH_ROWS):
        prompts = batch.pop("prompt")
        # put None in place of the pictures: a reward may need the column, but not the pictures yet
        for name in picture_names:
            batch[name] = [None] * len(prompts)
        for number, prompt in enumerate(prompts, start=rows_before + 1):
            fault = prompt_fault(prompt, placeholder)
            if fault:
                raise ValueError(f"{part} row {number}: {fault}")
        for reward in rewards:
            _check_batch(reward, part, prompts, batch, rows_before)
        rows_before += len(prompts)


def _check_batch(
    reward: Reward,
    part: str,
    prompts: Sequence[Any],
    columns: Mapping[str, Sequence[Any]],
    rows_before: int,
) -> None:
    """Raises ValueError for the first row of a batch that the reward cannot read.

    The whole batch is read at once, which is fast. Only if that fails, each row is read by itself
    to find the row at fault.

    part: the dataset's name. columns: the batch's values by column. rows_before: how many rows the
    dataset has before the batch.
    """
    try:
        reward.read_samples(prompts, [""] * len(prompts), **columns)
    except ValueError:
        _raise_for_row(reward, part, prompts, columns, rows_before)


def check_pictures(rewards: Sequence[Reward], part: str, dataset: Any) -> None:
    """Raises ValueError for the first row whose pictures a reward would show to a judge that reads
    only text.

    Pictures are not decoded. A streamed or lazy dataset is not checked.

    part: the dataset's name in the message. dataset: a dataset, several datasets by name, or None.
    """
    if isinstance(dataset, Mapping):
        for name, split in dataset.items():
            check_pictures(rewards, f"{part}[{name!r}]", split)
        return
    if not isinstance(dataset, Dataset) or is_lazy(dataset):
        return
    text_only = [reward for reward in rewards if unseeing_sentence(reward)]
    if not text_only:
        return
    names = [name for name in dataset.column_names if name in COLUMNS_READ]
    has_pictures = any(name in names for name in PICTURE_COLUMNS)
    if "prompt" not in names or not has_pictures:  # `check_policy` raises for missing prompts
        return
    rows_before = 0  # how many rows the earlier batches had
    for batch in _with_undecoded_pictures(dataset.select_columns(names)).iter(PICTURED_BATCH_ROWS):
        prompts = batch.pop("prompt")
        # the rows of a win rate have no anchor yet: put in any text
        batch.setdefault("anchor", ["an answer"] * len(prompts))
        for reward in text_only:
            try:
                samples = reward.read_samples(prompts, [""] * len(prompts), **batch)
            except ValueError:
                # raises if a single row cannot be read; if each row alone can be read, the fault is
                # not in the pictures, so that the batch is skipped
                _raise_for_row(reward, part, prompts, batch, rows_before)
                continue
            for number, sample in enumerate(samples, start=rows_before + 1):
                if reward.shows_pictures(sample):
                    raise ValueError(f"{part} row {number}: {unseeing_sentence(reward)}")
        rows_before += len(prompts)


def _with_undecoded_pictures(dataset: Dataset) -> Dataset:
    """Returns the dataset with its pictures as bytes or paths, so that reading decodes nothing."""
    dataset = dataset.with_format(None)
    for name in PICTURE_COLUMNS:
        match dataset.features.get(name):  # None if the dataset lacks the column
            case Image():
                dataset = dataset.cast_column(name, Image(decode=False))
            case List(feature=Image()):
                dataset = dataset.cast_column(name, List(Image(decode=False)))
    return dataset


def _raise_for_row(
    reward: Reward, part: str, prompts: Sequence[Any], columns: Mapping[str, Any], rows_before: int
) -> None:
    """Raises ValueError for the first row of a batch that the reward cannot read by itself.

    part: the dataset's name. columns: the batch's values by column. rows_before: how many rows
    the dataset has before the batch.
    """
    for number, prompt in enumerate(prompts):
        row = {name: [values[number]] for name, values in columns.items()}  # a batch of one row
        try:
            reward.read_samples([prompt], [""], **row)
        except ValueError as error:
            where = f"{part} row {rows_before + number + 1}, which {reward.__name__} cannot read"
            raise ValueError(f"{where}: {error}") from None


def prompt_fault(prompt: Any, placeholder: str | None) -> str:
    """Returns the reason why a policy cannot complete the prompt, such as "the prompt is empty.";
    "" if it can.

    placeholder: the text that the processor writes for each picture, such as "<image>"; None for a
    dataset without pictures.
    """
    if isinstance(prompt, str):
        texts = [prompt]
    elif not is_messages(prompt):
        return (
            "a prompt must be a text or a list of messages with a role and content, got "
            f"{prompt!r:.80}."
        )
    elif prompt and prompt[-1].get("role") == "assistant":
        return (
            "the prompt ends in an assistant's turn, which the chat template closes before it "
            "opens another: end the prompt with the user's turn, and put the beginning of the "
            "answer into it."
        )
    else:
        texts = [message_text(message) or "" for message in prompt]
    if placeholder and any(placeholder in text for text in texts):
        return (
            f"the prompt holds {placeholder!r}, which the processor writes itself for each picture "
            "of the row, and so would count it as one more: remove it from the prompt."
        )
    if not any(text.strip() for text in texts):
        return "the prompt is empty."
    return ""


def is_messages(prompt: Any) -> bool:
    """Returns whether the prompt is a list of messages, each with a role."""
    if not isinstance(prompt, list):
        return False
    for message in prompt:
        if not isinstance(message, Mapping) or "role" not in message:
            return False
    return True


def pad_left(processor: Any) -> bool:
    """Sets the padding side of the processor's tokenizer to "left". Returns whether it was "right".

    TRL pads its prompts on the left. Arrays that the processor adds, such as token types, must be
    padded on the same side. A processor that TRL loads gets the side "left" from TRL. A processor
    that the user loads may have the default "right": the files of Qwen2.5-VL and Qwen3-VL name no
    side.
    """
    tokenizer = tokenizer_of(processor)
    if not isinstance(tokenizer, PreTrainedTokenizerBase) or tokenizer.padding_side == "left":
        return False
    tokenizer.padding_side = "left"
    return True
