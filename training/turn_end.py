"""Whether a chat template ends an assistant's turn with a token that ends generation.

    endless = endless_turn(processor, eos_ids(processor, model.generation_config))
    str(endless)  # "the chat template ends an assistant's turn with '<|im_end|>', and ...", or None

SFT learns a turn as the template writes it. Without such a token at its end every answer of the
policy runs to the limit afterwards, whatever else is set: SFT refuses. RL renders prompts alone,
and a policy may have learnt to stop otherwise (LLaVA-1.5 writes its eos, though its template on the
hub ends a turn with a space): there it is a warning, and the reason that is named where all
completions are cut.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from transformers import ProcessorMixin

# a chat that is written to see how a template ends a turn
ASKED = "What is it?"
ANSWER = "A red star."  # which no template changes
SHOWN = 40  # characters of what ends a turn


@dataclass(frozen=True, slots=True)
class EndlessTurn:
    """The end of an assistant's turn where generation goes on.

    Args:
        end: what the template writes there.
        token: its id, if it is one that was added to the vocabulary.
        eos: the tokens that end generation.
    """

    end: str
    token: int | None
    eos: tuple[str, ...]

    def __str__(self) -> str:
        eos = " or ".join(map(repr, self.eos)) or "no token"
        end = repr(self.end) if self.end else "nothing"
        return (
            f"the chat template ends an assistant's turn with {end}, and generation ends at {eos}"
        )

    @property
    def refusal(self) -> str:
        """Says why SFT with this template is refused, and what to do."""
        cure = (
            "let the template write the eos token after an answer (trainer.chat_template_path "
            "takes a .jinja file)"
        )
        if self.token is not None:
            cure = f"set trainer.eos_token to {self.end!r}"
        return f"{self}, so SFT would teach never to stop: {cure}."

    @property
    def cure(self) -> str:
        """Says what lets a policy stop that RL trains."""
        if self.token is not None:
            return f"add {self.token} to eos_token_id in the policy's generation_config.json"
        return "teach it to stop first, by SFT with a template that writes the eos after an answer"


def endless_turn(processor: Any, ending: Collection[int]) -> EndlessTurn | None:
    """Returns the end of a turn as the chat template writes it; None if a token there ends
    generation, and where no template says.

    processor: the policy's, or its tokenizer. ending: ids that end generation.
    """
    if not processor.chat_template:
        return None
    tokenizer = tokenizer_of(processor)
    messages = [message_of(processor, "user", ASKED), message_of(processor, "assistant", ANSWER)]
    text = processor.apply_chat_template(messages, tokenize=False)
    _, answer, end = text.rpartition(ANSWER)  # answer: "" where the template has changed it
    ids = tokenizer(end, add_special_tokens=False)["input_ids"]
    if not answer or not set(ids).isdisjoint(ending):
        return None
    eos = tuple(tokenizer.convert_ids_to_tokens(sorted(ending)))
    token = first_added(tokenizer, ids)
    if token is None:
        return EndlessTurn(end[:SHOWN], None, eos)
    return EndlessTurn(tokenizer.convert_ids_to_tokens(token), token, eos)


def message_of(processor: Any, role: str, text: str) -> dict[str, Any]:
    """Returns a message in the form that TRL gives the processor's template."""
    content: Any = text
    if isinstance(processor, ProcessorMixin):
        content = [{"type": "text", "text": text}]
    return {"role": role, "content": content}


def first_added(tokenizer: Any, ids: Collection[int]) -> int | None:
    """Returns the first token that is not blank, if it was added to the vocabulary, as those that
    end a turn are; else None.
    """
    for token in ids:
        if token in tokenizer.added_tokens_decoder:
            return token
        if tokenizer.decode([token]).strip():  # an ordinary word
            return None
    return None


def eos_ids(processor: Any, config: Any) -> set[int]:
    """Returns the ids at which the policy's generation ends, as TRL finds them.

    config: the model's generation_config.
    """
    ids = {tokenizer_of(processor).eos_token_id}
    # of the config: one id, a list of them, or none
    if isinstance(config.eos_token_id, int):
        ids.add(config.eos_token_id)
    elif config.eos_token_id:
        ids.update(config.eos_token_id)
    return ids - {None}


def tokenizer_of(processor: Any) -> Any:
    """Returns a processor's tokenizer, and a tokenizer as it is."""
    if isinstance(processor, ProcessorMixin):
        return processor.tokenizer
    return processor
