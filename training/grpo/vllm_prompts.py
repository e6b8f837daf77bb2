"""Prompts with pictures for the policy's vLLM engine in this process.

    prompts = VllmPrompts(trainer)      # after the trainer is built
    prompts.remember(messages, ids)     # as the trainer reads them, in each step

The trainer's ids have a token for each patch of a picture. TRL hands them to vLLM, which expects one token for each
picture and expands the first of them again: it writes about pictures that are not there (TRL issue 6294). So vLLM gets
what the tokenizer alone makes of the prompt, and must then have read the very ids of the trainer.
"""

from collections.abc import Sequence
from typing import Any

Ids = list[int]


class VllmPrompts:
    """Attributes: short: by a prompt's ids as the trainer reads them, those with one token for each picture."""

    def __init__(self, trainer: Any, picture_tokens: set[int]) -> None:
        self.trainer, self.picture_tokens = trainer, picture_tokens
        self.short: dict[tuple[int, ...], Ids] = {}
        self._generate = trainer.vllm_generation.generate
        trainer.vllm_generation.generate = self.generate

    def remember(self, prompts: Sequence[Any], ids: Sequence[Ids]) -> None:
        """prompts: chats with pictures, as TRL prepared them. ids: what the processor made of them."""
        self.short = {}
        for prompt, expanded in zip(prompts, ids, strict=True):
            if tuple(expanded) not in self.short:  # once for a group
                self.short[tuple(expanded)] = self._tokenized(prompt)

    def _tokenized(self, prompt: Any) -> Ids:
        trainer = self.trainer
        tokenizer = trainer.processing_class.tokenizer
        text = trainer.processing_class.apply_chat_template(
            prompt,
            tools=trainer.tools or None,
            chat_template=trainer.chat_template,
            add_generation_prompt=True,
            tokenize=False,
            **trainer.chat_template_kwargs,
        )
        begun = tokenizer.bos_token is not None and text.startswith(tokenizer.bos_token)
        found: Ids = tokenizer(text, add_special_tokens=not begun)["input_ids"]
        return found

    def generate(self, prompts: Sequence[Ids], images: Any, *others: Any, **named: Any) -> Any:
        """As VLLMGeneration.generate. Raises ValueError where vLLM reads other tokens than the trainer."""
        if images is None:
            return self._generate(prompts, images, *others, **named)
        output = self._generate([self._shortened(ids) for ids in prompts], images, *others, **named)
        for ids, read in zip(prompts, output[0], strict=True):
            if list(ids) != list(read):
                raise ValueError(
                    f"vLLM read a prompt with pictures as {len(read)} tokens ({self._of_pictures(read)} of pictures), "
                    f"the trainer as {len(ids)} ({self._of_pictures(ids)}), so the policy would learn from prompts "
                    "that it did not see: vLLM takes the processor and chat template in the model's folder, so save "
                    "yours there and scale pictures down in the data, or set use_vllm=False."
                )
        return output

    def _shortened(self, ids: Ids) -> Ids:
        """In turns after a tool's, the prompt is followed by what was written and by what the tool returned."""
        for expanded, short in self.short.items():
            if tuple(ids[: len(expanded)]) == expanded:
                rest = ids[len(expanded) :]
                again = [token in self.picture_tokens and token == last for last, token in zip([None, *rest], rest)]
                return short + [token for token, repeated in zip(rest, again, strict=True) if not repeated]
        return ids

    def _of_pictures(self, ids: Sequence[int]) -> int:
        return sum(token in self.picture_tokens for token in ids)
