"""Tokens that stand for pictures: a policy that writes one would end its run, since a model counts
them.

    tokens = picture_tokens(model.config)
    suppress(trainer, tokens)                   # they are not sampled
    rows = take_out(ids, tokens, pad_token_id)  # one that comes anyway costs its row, not the run
"""

from collections.abc import Sequence
from typing import Any

from transformers import PretrainedConfig

# of the tokens in a model's config
NAMES = ("image_token_id", "image_token_index", "video_token_id")
NEVER = -100.0  # the lowest that vLLM adds to a logit


def picture_tokens(config: PretrainedConfig) -> set[int]:
    """Returns the tokens that stand for pictures and films in a model's input."""
    settings = config.to_dict()
    tokens = set()
    for name in NAMES:
        if settings.get(name) is not None:
            tokens.add(settings[name])
    return tokens


def suppress(trainer: Any, tokens: set[int]) -> None:
    """Keeps the tokens from being sampled, by transformers or vLLM.

    TRL does so for transformers and image_token_id.
    """
    if trainer.use_vllm:
        # what a user has set for a token stays
        kwargs = trainer.vllm_generation.generation_kwargs
        bias = dict.fromkeys(tokens, NEVER)
        bias.update(kwargs.get("logit_bias") or {})
        kwargs["logit_bias"] = bias
    elif tokens:
        suppressed = trainer.generation_kwargs.get("suppress_tokens") or ()
        suppressed = sorted(tokens.union(suppressed))
        trainer.generation_kwargs["suppress_tokens"] = suppressed
        trainer.generation_config.suppress_tokens = suppressed


def take_out(
    ids: list[list[int]], tokens: set[int], pad: int, masks: Sequence[Sequence[int]] | None = None
) -> list[int]:
    """Replaces each picture's token that was sampled, and returns the numbers of the completions
    that had one.

    ids: of each completion; they are changed in place. pad: what stands for such a token. masks: 0
    where a token comes from a tool, which may return pictures; None where all were sampled.
    """
    rows = []
    for row, ids_of_row in enumerate(ids):
        if tokens.isdisjoint(ids_of_row):  # nearly every row
            continue
        sampled: Sequence[int] = [1] * len(ids_of_row)
        if masks:
            sampled = masks[row]
        clean = []
        for token, is_sampled in zip(ids_of_row, sampled, strict=True):
            if token in tokens and is_sampled:
                clean.append(pad)
            else:
                clean.append(token)
        if clean != ids_of_row:
            ids[row] = clean
            rows.append(row)
    return rows
