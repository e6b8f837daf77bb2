"""Prompts with pictures for the policy's vLLM engine in this process.

expand_once(trainer.vllm_generation, picture_tokens(model.config))      # after the trainer is built

TRL hands vLLM the trainer's prompts, in which a picture has a token for each of its patches. vLLM
expands the first of them again, and answers a prompt with tokens of no picture (TRL issue 6294).
Here it gets one token a picture, and must have read what the trainer reads. It also keeps pictures
as earlier weights saw them (7198): here it forgets them.
"""

from collections.abc import Sequence
from typing import Any


def expand_once(generation: Any, tokens: set[int]) -> None:
    """Makes a VLLMGeneration read pictures as the trainer does, else raise ValueError. tokens: a
    picture's.
    """
    sample = generation.generate

    def generate(
        prompts: Sequence[Sequence[int]], images: Any, *positional: Any, **named: Any
    ) -> Any:
        if images is None:
            return sample(prompts, images, *positional, **named)
        generation.llm.llm_engine.reset_encoder_cache()
        output = sample([one_each(ids, tokens) for ids in prompts], images, *positional, **named)
        for ids, read in zip(prompts, output[0], strict=True):
            if list(ids) != list(read):
                raise ValueError(
                    f"vLLM reads a prompt with pictures as {len(read)} tokens, and the trainer as "
                    f"{len(ids)}, so the policy would learn from prompts that it did not see: save "
                    "your processor in the model's folder, which vLLM reads, and scale pictures "
                    "down in the data; or set use_vllm=False."
                )
        return output

    generation.generate = generate


def one_each(ids: Sequence[int], tokens: set[int]) -> list[int]:
    """Returns the ids with each run of a picture's token as one."""
    return [
        token
        for token, last in zip(ids, [None, *ids], strict=False)
        if token not in tokens or token != last
    ]
