"""Prompts with pictures for the policy's vLLM engine in this process.

    # after the trainer is built
    expand_once(trainer.vllm_generation, picture_tokens(model.config))

TRL hands vLLM the trainer's prompts, in which a picture has a token for each of its patches. vLLM
expands the first of them again, and answers a prompt with tokens of no picture (TRL issue 6294).
Here it gets one token a picture, and must have read what the trainer reads. It also keeps pictures
as earlier weights saw them (7198): here it forgets them.
"""

from collections.abc import Sequence
from typing import Any


def expand_once(generation: Any, tokens: set[int]) -> None:
    """Makes a VLLMGeneration read pictures as the trainer does.

    Its `generate` raises ValueError where vLLM reads a prompt otherwise. tokens: a picture's.
    """
    sample = generation.generate

    def generate(
        prompts: Sequence[Sequence[int]], images: Any, *positional: Any, **named: Any
    ) -> Any:
        if images is None:
            return sample(prompts, images, *positional, **named)
        generation.llm.llm_engine.reset_encoder_cache()  # of pictures, as earlier weights saw them
        unexpanded = [one_each(ids, tokens) for ids in prompts]
        output = sample(unexpanded, images, *positional, **named)
        prompts_of_engine = output[0]  # as vLLM expanded them
        for ids, engine_ids in zip(prompts, prompts_of_engine, strict=True):
            if list(ids) != list(engine_ids):
                raise ValueError(
                    "vLLM reads a prompt with pictures as "
                    f"{len(engine_ids)} tokens, and the trainer as "
                    f"{len(ids)}, so the policy would learn from prompts that it did not see: save "
                    "your processor in the model's folder, which vLLM reads, and scale pictures "
                    "down in the data; or set use_vllm=False."
                )
        return output

    generation.generate = generate


def one_each(ids: Sequence[int], tokens: set[int]) -> list[int]:
    """Returns the ids with each run of a picture's token as one: 5 9 9 9 6 as 5 9 6."""
    shortened = []
    last = None
    for token in ids:
        repeats = token == last and token in tokens
        if not repeats:
            shortened.append(token)
        last = token
    return shortened
