"""The SFT trainer, and the tokens that SFT learns from a row: the model reads the prompt, and is
trained on the answer after the prompt.

    target = trained_tokens(processor, dataset[0])
    target.prompt, target.answer          # ids; only those of the answer are trained
    check_lengths(processor, dataset, args, "the training data")    # before the first step

The tokens are the same as in TRL's SFTTrainer. For a text model, the prompt and the answer are
tokenized together. For a row with a picture, the prompt and the answer are tokenized separately.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from accelerate import PartialState
from datasets import Dataset
from transformers import AutoTokenizer
from trl import SFTConfig, SFTTrainer
from trl.data_utils import apply_chat_template, prepare_multimodal_messages

from spanreward.rewards.judges.encoding.bounded_template import check_template
from spanreward.training.grpo.trl_internals.resuming import CheckpointWeights
from spanreward.training.turn_end import endless_turn, eos_ids, tokenizer_of

log = logging.getLogger(__name__)

# about so many rows with pictures are measured at most, because each measured picture is decoded
MAX_PICTURED_ROWS = 1000


class SupervisedTrainer(CheckpointWeights, SFTTrainer):
    """TRL's SFTTrainer, which can also resume a run of a vision-language model.

    The arguments are those of SFTTrainer, in the same order.

    Raises:
        ValueError: if the chat template does not end a turn with a token that ends generation
            (training/turn_end.py), and for a template that runs without end.
    """

    def __init__(self, model: Any, args: SFTConfig | None = None, **named: Any) -> None:
        # check the template before TRL uses it: the template may run without end
        if args is not None and args.chat_template_path is not None:
            path = args.chat_template_path
            check_template(path, template_at(path), tokens={})
        super().__init__(model, args, **named)
        # check the end of a turn now, since TRL may have set another template or eos token
        ending = eos_ids(self.processing_class, model.generation_config)
        endless = endless_turn(self.processing_class, ending)
        if endless is not None:
            raise ValueError(endless.refusal)


def template_at(path: str) -> Any:
    """Returns the chat template that TRL uses for `chat_template_path`.

    path: a Jinja file, or a folder or hub id, whose tokenizer holds a template or a dict of
    templates by name.
    """
    if Path(path).is_file():
        return Path(path).read_text("utf-8")
    return AutoTokenizer.from_pretrained(path, trust_remote_code=False).chat_template


@dataclass(frozen=True, slots=True)
class TrainedTokens:
    """The token ids of a row. prompt: the ids that are only read. answer: the ids that are
    trained, including the end of the turn.
    """

    prompt: list[int]
    answer: list[int]


def max_length_default(trainer: Mapping[str, Any]) -> dict[str, Any]:
    """Returns our defaults of SFTConfig, which a recipe's `trainer` may change: {"max_length":
    None}, so that rows are never cut.

    TRL's default of 1024 cuts longer rows, and drops rows whose prompt alone is longer. RL never
    cuts a prompt, so a comparison of SFT with RL would be unfair. With `packing`, the result is {},
    because packing needs a max_length.
    """
    if trainer.get("packing"):
        return {}
    return {"max_length": None}


def trained_tokens(processor: Any, row: Mapping[str, Any]) -> TrainedTokens:
    """Returns the tokens of a row in two parts: the prompt, which is only read, and the answer,
    which SFT trains.

    row: with the keys `prompt`, `completion` and, if it has a picture, `image`. If `image` is a
    text, the picture is not opened and counts as a single token.
    """
    if "image" in row:
        return _pictured_tokens(processor, row)
    # the answer begins where the whole chat first differs from the prompt
    prompt = _token_ids(processor, row["prompt"], opens_answer=True)
    whole = _token_ids(processor, [*row["prompt"], *row["completion"]], opens_answer=False)
    answer_start = 0
    for prompt_id, whole_id in zip(prompt, whole, strict=False):
        if prompt_id != whole_id:
            break
        answer_start += 1
    return TrainedTokens(whole[:answer_start], whole[answer_start:])


def _token_ids(processor: Any, messages: list[Any], opens_answer: bool) -> list[int]:
    """Returns the token ids of messages.

    opens_answer: whether to add the ids that begin an answer, such as those of
    "<|im_start|>assistant".
    """
    inputs = processor.apply_chat_template(
        messages, add_generation_prompt=opens_answer, tokenize=True, return_dict=True
    )
    ids = inputs["input_ids"]
    if ids and isinstance(ids[0], list):  # a processor returns a batch with a single list
        return list(ids[0])
    return list(ids)


def _pictured_tokens(processor: Any, row: Mapping[str, Any]) -> TrainedTokens:
    """Returns the tokens of a row with a picture. The prompt and the answer are tokenized
    separately.

    row: its `image` is a picture; or a text in place of a picture that nobody opens, as in a dry
    run. Only an opened picture shows how many tokens it has.
    """
    chat = {
        "prompt": prepare_multimodal_messages(row["prompt"], images=[row["image"]]),
        "completion": prepare_multimodal_messages(row["completion"]),
    }
    texts = apply_chat_template(chat, processor)
    tokenizer = tokenizer_of(processor)
    answer = tokenizer(texts["completion"], add_special_tokens=False)["input_ids"]
    is_unopened = isinstance(row["image"], str)
    if is_unopened:  # the template's sign for a picture stays a single token
        prompt = tokenizer(texts["prompt"], add_special_tokens=False)["input_ids"]
    else:
        read = processor(images=[row["image"]], text=[texts["prompt"]], add_special_tokens=False)
        prompt = list(read["input_ids"][0])
    return TrainedTokens(prompt, answer)


def check_lengths(processor: Any, dataset: Dataset, args: SFTConfig, part: str) -> None:
    """Logs a warning with the number of rows that max_length cuts.

    part: the name of the dataset in messages, such as "the data".

    Raises ValueError if max_length leaves no token of an answer in any row.
    """
    # other packing strategies than bfd split long rows, so no token is lost
    splits_long_rows = args.packing and args.packing_strategy != "bfd"
    if args.max_length is None or splits_long_rows:
        return
    lengths = measured_rows(processor, dataset)
    cut_rows = sum(length.whole > args.max_length for length in lengths)
    rows_without_answer = 0  # rows that have no token of the answer after the cut
    if args.truncation_mode == "keep_start":
        rows_without_answer = sum(length.prompt >= args.max_length for length in lengths)
    longest = max(length.whole for length in lengths)
    cure = f"set trainer.max_length to null, or to at least {longest}"
    rows = f"{len(lengths):,} rows of {part}"
    if rows_without_answer == len(lengths):
        shortest_prompt = min(length.prompt for length in lengths)
        raise ValueError(
            f"max_length {args.max_length} leaves no token of an answer in any of {rows}, whose "
            f"prompts have {shortest_prompt} tokens or more: {cure}."
        )
    if cut_rows and PartialState().is_main_process:
        log.warning(
            "max_length %d cuts %d of %s, and leaves no token of the answer in %d of them, which "
            "are not trained on: %s.",
            args.max_length,
            cut_rows,
            rows,
            rows_without_answer,
            cure,
        )


class RowLength(NamedTuple):
    """The number of tokens of a row's prompt, and of the whole row."""

    prompt: int
    whole: int


def measured_rows(processor: Any, dataset: Dataset) -> list[RowLength]:
    """Returns the lengths of the rows; of a large dataset with pictures, only those of every
    second, third, ... row, about MAX_PICTURED_ROWS in all.
    """
    step = 1
    if "image" in dataset.column_names:
        step = max(1, len(dataset) // MAX_PICTURED_ROWS)
    lengths = []
    for number in range(0, len(dataset), step):
        tokens = trained_tokens(processor, dataset[number])
        whole = len(tokens.prompt) + len(tokens.answer)
        lengths.append(RowLength(len(tokens.prompt), whole))
    return lengths


def example_text(processor: Any, row: Mapping[str, Any]) -> str:
    """Returns two texts of a row, decoded from its tokens with all special tokens: the text that is
    only read, and the text that is trained. `--dry-run` prints the two texts.
    """
    tokens = trained_tokens(processor, row)
    tokenizer = tokenizer_of(processor)
    return (
        f"read, not trained ({len(tokens.prompt)} tokens):\n{tokenizer.decode(tokens.prompt)}\n"
        f"trained ({len(tokens.answer)} tokens):\n{tokenizer.decode(tokens.answer)}"
    )
