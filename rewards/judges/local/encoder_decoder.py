"""Encoder-decoder models (T5, Flan-T5): the encoder reads the whole prompt, and the decoder begins with the answer."""

from collections.abc import Sequence
from typing import Any

import torch


@torch.inference_mode()
def first_step(model: Any, prompts: Sequence[Sequence[int]]) -> torch.Tensor:
    """Returns log-probabilities (len(prompts), vocabulary) of the answer's first token: one step of the decoder."""
    start = torch.full((len(prompts), 1), model.generation_config.decoder_start_token_id, device=model.device)
    logits = model(**padded(model, prompts), decoder_input_ids=start).logits[:, -1]
    return logits.float().log_softmax(-1)


def continued(model: Any, prompts: Sequence[Sequence[int]], max_tokens: int) -> list[list[int]]:
    """Returns the greedy answers of at most max_tokens tokens, with what generation puts after their end."""
    texts = model.generate(**padded(model, prompts), max_new_tokens=max_tokens, do_sample=False)
    return texts[:, 1:].tolist()  # without the token that the decoder starts from


def padded(model: Any, prompts: Sequence[Sequence[int]]) -> dict[str, torch.Tensor]:
    """Returns the ids, padded on the right, and the mask that hides the padding."""
    width = max(map(len, prompts))
    ids = [[*prompt, *[0] * (width - len(prompt))] for prompt in prompts]
    mask = [[1] * len(prompt) + [0] * (width - len(prompt)) for prompt in prompts]
    return {
        "input_ids": torch.tensor(ids, device=model.device),
        "attention_mask": torch.tensor(mask, device=model.device),
    }
