"""Keeps completions free of tokens that stand for pictures.

    tokens = picture_tokens(model.config)
    suppress_tokens(trainer, tokens)            # the sampler no longer samples the tokens
    rows = take_out(ids, tokens, pad_token_id)  # replaces such tokens that were sampled anyway

A model raises an error if the number of such tokens is not that of the pictures. So one sampled
token would end the run. With `take_out` only the completion's row is lost.
"""

from collections.abc import Sequence
from typing import Any

from transformers import PretrainedConfig

# the keys of such tokens in a model's config
PICTURE_TOKEN_KEYS = ("image_token_id", "image_token_index", "video_token_id")
LOWEST_BIAS = -100.0  # the lowest bias that vLLM adds to a logit


def picture_tokens(config: PretrainedConfig) -> set[int]:
    """Returns the ids of the tokens that stand for pictures and videos in a model's input."""
    settings = config.to_dict()
    tokens = set()
    for name in PICTURE_TOKEN_KEYS:
        if settings.get(name) is not None:
            tokens.add(settings[name])
    return tokens


def suppress_tokens(trainer: Any, tokens: set[int]) -> None:
    """Sets the trainer's sampling settings so that transformers or vLLM never samples the tokens.

    TRL itself suppresses only image_token_id, and only with transformers.
    """
    if trainer.use_vllm:
        # a bias that the user has set for a token stays
        kwargs = trainer.vllm_generation.generation_kwargs
        bias = dict.fromkeys(tokens, LOWEST_BIAS)
        bias.update(kwargs.get("logit_bias") or {})
        kwargs["logit_bias"] = bias
    elif tokens:
        suppressed = trainer.generation_kwargs.get("suppress_tokens") or ()
        suppressed = sorted(tokens.union(suppressed))
        trainer.generation_kwargs["suppress_tokens"] = suppressed
        trainer.generation_config.suppress_tokens = suppressed


def take_out(
    ids: list[list[int]],
    tokens: set[int],
    pad: int,
    masks: Sequence[Sequence[int]] | None = None,
) -> list[int]:
    """Replaces sampled tokens that stand for pictures. Returns the numbers of the completions with
    such a token.

    Example: if 7 stands for a picture and 0 is the padding, the ids [[1, 7, 2], [3]] become
    [[1, 0, 2], [3]], and the result is [0].

    Args:
        ids: the token ids of each completion; the list is changed in place.
        tokens: the result of `picture_tokens`.
        pad: the id that replaces such a token.
        masks: for each completion 1 at the ids that the policy sampled and 0 at the ids of a tool.
            A tool may return pictures, so that its tokens stay. None if all ids were sampled.
    """
    rows = []
    for row, ids_of_row in enumerate(ids):
        if tokens.isdisjoint(ids_of_row):  # true for nearly every row
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
