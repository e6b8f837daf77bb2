"""Several prompts that begin alike in one row of a batch: their beginning is computed once, and
none sees another.

    dataset = Dataset.from_list([branch(row, tokenizer) for row in rows])
    # input_ids, labels, seq_lengths
    SFTTrainer(train_dataset=dataset, data_collator=BranchCollator(tokenizer.pad_token_id), ...)

The model computes for every prompt what it would compute for it alone: a prompt's tokens have the
positions that they have there, and attend to the shared beginning and to themselves. A question to
a judge is a few words about a text of many, so that this costs a fourth. The answer's token is the
only one that is learned.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import PreTrainedTokenizerBase

from spanreward.rewards.judges.encoding.prompt import shared_length

IGNORED = -100


def branch(
    row: Mapping[str, Sequence[str]], tokenizer: PreTrainedTokenizerBase
) -> dict[str, list[int]]:
    """row: prompts and the answer to each, one token. seq_lengths: the tokens of the shared
    beginning, and of what follows it in each prompt, with its answer.
    """
    chats = [prompt_ids(prompt, tokenizer) for prompt in row["prompts"]]
    shared = chats[0][: shared_length(sorted(chats))] if len(chats) > 1 else []
    ids, labels, lengths = list(shared), [IGNORED] * len(shared), [len(shared)]
    for chat, text in zip(chats, row["answers"], strict=True):
        (answer,) = tokenizer.encode(text, add_special_tokens=False)
        rest = chat[len(shared) :]
        ids += [*rest, answer]
        labels += [*[IGNORED] * len(rest), answer]
        lengths.append(len(rest) + 1)
    return {"input_ids": ids, "labels": labels, "seq_lengths": lengths}


def prompt_ids(prompt: str, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """The prompt as a chat, up to where the answer begins."""
    chat: Any = [{"role": "user", "content": prompt}]
    encoded: Any = tokenizer.apply_chat_template(
        chat, add_generation_prompt=True, tokenize=True, return_dict=True
    )
    ids: list[int] = encoded["input_ids"]
    return ids


@dataclass(frozen=True, slots=True)
class BranchCollator:
    """Rows of `branch` as a batch, for models whose attention takes a mask of its own (sdpa).

    input_ids, labels and position_ids are (rows, tokens), attention_mask is (rows, 1, tokens,
    tokens), True where the token of the third axis may look at that of the fourth.
    """

    pad: int

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
        width = max(len(row["input_ids"]) for row in rows)
        positions, branches = [], []
        for row in rows:
            shared, *lengths = row["seq_lengths"]
            positions.append(
                [*range(shared), *(shared + at for length in lengths for at in range(length))]
            )
            branches.append(
                [0] * shared + [n for n, length in enumerate(lengths, 1) for _ in range(length)]
            )
        branch = padded(branches, width, -1)
        visible = (branch[:, None, :] == 0) | (branch[:, None, :] == branch[:, :, None])
        return {
            "input_ids": padded([row["input_ids"] for row in rows], width, self.pad),
            "labels": padded([row["labels"] for row in rows], width, IGNORED),
            "position_ids": padded(positions, width, 0),
            "attention_mask": (visible & torch.ones(width, width, dtype=torch.bool).tril())[
                :, None
            ],
        }


def padded(rows: Sequence[Sequence[int]], width: int, value: int) -> torch.Tensor:
    return torch.tensor([[*row, *[value] * (width - len(row))] for row in rows])
