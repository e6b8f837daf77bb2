"""Makes vLLM read prompts with pictures as the trainer reads them. For the policy's engine in this
process.

    # after the trainer is built
    expand_once(trainer.vllm_generation, picture_tokens(model.config))

In the trainer's prompts a picture has one token for each of its patches. TRL passes these prompts
to vLLM. vLLM expands the first token of a picture once more, so that the picture's other tokens
belong to no picture (TRL issue 6294). Here vLLM gets one token for each picture, and the expanded
prompt is compared with the trainer's prompt. vLLM also caches encoded pictures, although newer
weights encode a picture differently (TRL issue 7198). Here the cache is emptied before each call.
"""

from collections.abc import Sequence
from typing import Any


def expand_once(generation: Any, tokens: set[int]) -> None:
    """Wraps `generation.generate` so that vLLM expands each picture of a prompt once.

    In TRL's prompts, each picture is already expanded: the picture's token stands once for each
    patch of the picture. vLLM would expand the picture again. So the wrapped `generate` gives vLLM
    prompts with one token for each picture. If vLLM's expanded prompt is then not the trainer's
    prompt, the wrapped `generate` raises ValueError.

    generation: TRL's VLLMGeneration. tokens: the ids of tokens that stand for a picture.
    """
    sample = generation.generate

    def generate(
        prompts: Sequence[Sequence[int]],
        images: Any,
        *positional: Any,
        **named: Any,
    ) -> Any:
        """Returns what VLLMGeneration's `generate` returns. prompts: with expanded pictures."""
        if images is None:
            return sample(prompts, images, *positional, **named)
        generation.llm.llm_engine.reset_encoder_cache()  # drop pictures encoded by older weights
        unexpanded = [one_each(ids, tokens) for ids in prompts]
        output = sample(unexpanded, images, *positional, **named)
        prompts_of_engine = output[0]  # the prompts after vLLM has expanded the pictures
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
    """Returns the ids with each run of an equal picture token shortened to one token.

    Example: if 9 stands for a picture, 5 9 9 9 6 gives 5 9 6. tokens: the ids of such tokens.
    """
    shortened = []
    last = None
    for token in ids:
        repeats = token == last and token in tokens
        if not repeats:
            shortened.append(token)
        last = token
    return shortened
