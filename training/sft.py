"""What SFT learns from a recipe's rows: a prompt, which is not trained, and the target after it.

    target = trained_tokens(processor, dataset[0])
    target.prompt, target.answer          # ids, of which the answer's are trained
    check_lengths(processor, dataset, args, "the training data")    # before the first step

Tokens are those that TRL's SFTTrainer trains on: of a text model the messages as a whole, of rows
with pictures the prompt and the answer each by itself.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accelerate import PartialState
from datasets import Dataset
from transformers import AutoTokenizer
from trl import SFTConfig, SFTTrainer
from trl.data_utils import apply_chat_template, prepare_multimodal_messages

from spanreward.rewards.judges.encoding.bounded_template import check_template
from spanreward.training.grpo.trl_internals.resuming import CheckpointWeights
from spanreward.training.turn_end import endless_turn, eos_ids, tokenizer_of

log = logging.getLogger(__name__)

PICTURED = 1000  # rows with pictures that are measured, since each picture is read for it


class SupervisedTrainer(CheckpointWeights, SFTTrainer):
    """TRL's SFTTrainer that resumes a vision-language model's weights.

    Takes SFTTrainer's arguments, in its order.

    Raises:
        ValueError: for a chat template whose turn never ends (training/turn_end.py), or that never
            ends itself.
    """

    def __init__(self, model: Any, args: SFTConfig | None = None, **named: Any) -> None:
        # before TRL uses the template
        if args is not None and args.chat_template_path is not None:
            path = args.chat_template_path
            check_template(path, template_at(path), tokens={})
        super().__init__(model, args, **named)
        # after it: TRL may have set another template, or another eos token
        ending = eos_ids(self.processing_class, model.generation_config)
        endless = endless_turn(self.processing_class, ending)
        if endless is not None:
            raise ValueError(endless.refusal)


def template_at(path: str) -> Any:
    """Returns the template that TRL takes: of a Jinja file, or of a model's tokenizer, where
    several may stand by name.
    """
    if Path(path).is_file():
        return Path(path).read_text("utf-8")
    return AutoTokenizer.from_pretrained(path, trust_remote_code=False).chat_template


@dataclass(frozen=True, slots=True)
class TrainedTokens:
    """Ids of one row. prompt: what is read. answer: what is trained, with what ends the turn."""

    prompt: list[int]
    answer: list[int]


def whole_rows(trainer: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings of SFTConfig that a recipe's `trainer` leaves to us.

    TRL's max_length of 1024 cuts longer rows, and drops those whose prompt alone is longer. RL's
    prompts are never cut, so a comparison of both would be unfair. Packing needs a length.
    """
    if trainer.get("packing"):
        return {}
    return {"max_length": None}


def trained_tokens(processor: Any, row: Mapping[str, Any]) -> TrainedTokens:
    """Returns the tokens of a row with `prompt`, `completion` and maybe `image`.

    A text in the picture's place stands for one that is not opened, which is one token.
    """
    if "image" in row:
        return _pictured_tokens(processor, row)
    # the answer begins where the whole chat first differs from the prompt
    prompt = _ids(processor, row["prompt"], True)
    whole = _ids(processor, [*row["prompt"], *row["completion"]], False)
    start = 0
    while start < min(len(prompt), len(whole)) and prompt[start] == whole[start]:
        start += 1
    return TrainedTokens(whole[:start], whole[start:])


def _ids(processor: Any, messages: list[Any], opens: bool) -> list[int]:
    """Returns the ids of messages. opens: with those of the beginning of the next turn."""
    read = processor.apply_chat_template(
        messages, add_generation_prompt=opens, tokenize=True, return_dict=True
    )
    ids = read["input_ids"]
    if ids and isinstance(ids[0], list):  # a processor makes a batch of them
        return list(ids[0])
    return list(ids)


def _pictured_tokens(processor: Any, row: Mapping[str, Any]) -> TrainedTokens:
    """Returns the tokens of a row with a picture, whose prompt and answer are read apart."""
    chat = {
        "prompt": prepare_multimodal_messages(row["prompt"], images=[row["image"]]),
        "completion": prepare_multimodal_messages(row["completion"]),
    }
    texts = apply_chat_template(chat, processor)
    tokenizer = tokenizer_of(processor)
    answer = tokenizer(texts["completion"], add_special_tokens=False)["input_ids"]
    if isinstance(row["image"], str):  # it is not opened
        prompt = tokenizer(texts["prompt"], add_special_tokens=False)["input_ids"]
    else:
        read = processor(images=[row["image"]], text=[texts["prompt"]], add_special_tokens=False)
        prompt = list(read["input_ids"][0])
    return TrainedTokens(prompt, answer)


def check_lengths(processor: Any, dataset: Dataset, args: SFTConfig, part: str) -> None:
    """Warns of rows that max_length cuts, with their number.

    Of more rows with pictures than PICTURED about so many are measured.

    Raises ValueError where it leaves nothing to train on.

    part: the words that name the dataset.
    """
    # packing by another strategy splits what is longer
    if args.max_length is None or (args.packing and args.packing_strategy != "bfd"):
        return
    step = 1
    if "image" in dataset.column_names:
        step = max(1, len(dataset) // PICTURED)
    lengths = []  # of each row's prompt, and of the whole row, in tokens
    for number in range(0, len(dataset), step):
        tokens = trained_tokens(processor, dataset[number])
        lengths.append((len(tokens.prompt), len(tokens.prompt) + len(tokens.answer)))
    longest = max(whole for _, whole in lengths)
    cut = 0  # rows that are too long
    lost = 0  # rows of which no token of the answer is left
    for prompt, whole in lengths:
        if whole > args.max_length:
            cut += 1
        if args.truncation_mode == "keep_start" and prompt >= args.max_length:
            lost += 1
    cure = f"set trainer.max_length to null, or to at least {longest}"
    rows = f"{len(lengths):,} rows of {part}"
    if lost == len(lengths):
        shortest_prompt, _ = min(lengths)
        raise ValueError(
            f"max_length {args.max_length} leaves no token of an answer in any of {rows}, whose "
            f"prompts have {shortest_prompt} tokens or more: {cure}."
        )
    if cut and PartialState().is_main_process:
        log.warning(
            "max_length %d cuts %d of %s, and leaves no token of the answer in %d of them, which "
            "are not trained on: %s.",
            args.max_length,
            cut,
            rows,
            lost,
            cure,
        )


def shown_example(processor: Any, row: Mapping[str, Any]) -> str:
    """Returns a row's texts as its tokens spell them, special tokens too: what is read, and what is
    trained.
    """
    tokens = trained_tokens(processor, row)
    tokenizer = tokenizer_of(processor)
    return (
        f"read, not trained ({len(tokens.prompt)} tokens):\n{tokenizer.decode(tokens.prompt)}\n"
        f"trained ({len(tokens.answer)} tokens):\n{tokenizer.decode(tokens.answer)}"
    )
