"""Checks that a chat template ends an assistant's turn with a token that ends generation.

    endless = endless_turn(processor, eos_ids(processor, model.generation_config))
    str(endless)  # "the chat template ends an assistant's turn with '<|im_end|>', and ...", or None

SFT teaches the policy the turn exactly as the template writes it. If the turn does not end with a
token that ends generation, each later answer of the policy runs to the length limit. So SFT refuses
such a template. RL uses the template only for prompts, and the policy may have learnt to stop from
other data: LLaVA-1.5 writes its eos, although its template on the hub ends a turn with a space. So
RL only logs a warning, and names the template as the cause if all completions reach the limit.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from transformers import ProcessorMixin

# a chat that the template renders, to find the text after the answer
TEMPLATE_QUESTION = "What is it?"
TEMPLATE_ANSWER = "A red star."  # a plain text, which no template changes
MAX_SHOWN_CHARACTERS = 40  # the most characters of a turn's end that a message shows


@dataclass(frozen=True, slots=True)
class EndlessTurn:
    """The end of an assistant's turn in a chat template that does not end generation.

    Args:
        end: what the template writes after an answer, such as "<|im_end|>": its special token, or
            else its first characters.
        token: the id of the special token; None if the template writes an ordinary word first, or
            only blanks.
        eos: the tokens that end generation, such as ("</s>",).
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
        """A sentence with the reason why SFT refuses the template, and with a remedy.

        If the template ends a turn with a special token, that token can become the eos token. Then
        `token` is its id, and `end` is its text, such as "<|im_end|>". Otherwise `token` is None,
        and the template must be changed.
        """
        if self.token is None:
            remedy = (
                "let the template write the eos token after an answer (trainer.chat_template_path "
                "takes a .jinja file)"
            )
        else:
            remedy = f"set trainer.eos_token to {self.end!r}"
        return f"{self}, so SFT would teach never to stop: {remedy}."

    @property
    def cure(self) -> str:
        """A clause with the remedy for a policy that RL trains, such as "add 151645 to eos_token_id
        in the policy's generation_config.json".
        """
        if self.token is not None:
            return f"add {self.token} to eos_token_id in the policy's generation_config.json"
        return "teach it to stop first, by SFT with a template that writes the eos after an answer"


def endless_turn(processor: Any, ending: Collection[int]) -> EndlessTurn | None:
    """Returns the end of an assistant's turn in the chat template; None if a token of this end ends
    generation. Also returns None if the processor has no chat template, or if the end cannot be
    found because the template changes the answer's text.

    If the end begins with a special token, such as "<|im_end|>", the result has this token and its
    id: a remedy is to let the token end generation. Otherwise the result has the first characters
    of the end, and the id None.

    processor: the policy's processor or tokenizer. ending: the ids of the tokens that end
    generation (`eos_ids`).
    """
    if not processor.chat_template:
        return None
    tokenizer = tokenizer_of(processor)
    messages = [
        message_of(processor, "user", TEMPLATE_QUESTION),
        message_of(processor, "assistant", TEMPLATE_ANSWER),
    ]
    text = processor.apply_chat_template(messages, tokenize=False)
    # answer is "" if the template has changed TEMPLATE_ANSWER
    _, answer, end = text.rpartition(TEMPLATE_ANSWER)
    ids = tokenizer(end, add_special_tokens=False)["input_ids"]
    if not answer or not set(ids).isdisjoint(ending):
        return None
    eos = tuple(tokenizer.convert_ids_to_tokens(sorted(ending)))
    token = first_added_token(tokenizer, ids)
    if token is None:  # the end begins with an ordinary word, or is blank
        return EndlessTurn(end=end[:MAX_SHOWN_CHARACTERS], token=None, eos=eos)
    return EndlessTurn(end=tokenizer.convert_ids_to_tokens(token), token=token, eos=eos)


def message_of(processor: Any, role: str, text: str) -> dict[str, Any]:
    """Returns a message in the form in which TRL gives messages to this processor's template."""
    content: Any = text
    if isinstance(processor, ProcessorMixin):
        content = [{"type": "text", "text": text}]
    return {"role": role, "content": content}


def first_added_token(tokenizer: Any, ids: Collection[int]) -> int | None:
    """Returns the first id that is not blank, if its token was added to the vocabulary: tokens that
    end a turn are added. Returns None if an ordinary word comes first, or if all ids are blank.
    """
    for token in ids:
        if token in tokenizer.added_tokens_decoder:
            return token
        if tokenizer.decode([token]).strip():  # an ordinary word
            return None
    return None


def eos_ids(processor: Any, config: Any) -> set[int]:
    """Returns the ids of the tokens that end the policy's generation, by the rule of TRL: the eos
    token of the tokenizer, and the eos tokens of the generation config.

    config: the model's generation_config.
    """
    ids = {tokenizer_of(processor).eos_token_id}
    # the config holds a single id, a list of ids, or None
    if isinstance(config.eos_token_id, int):
        ids.add(config.eos_token_id)
    elif config.eos_token_id:
        ids.update(config.eos_token_id)
    return ids - {None}


def tokenizer_of(processor: Any) -> Any:
    """Returns the tokenizer of a processor. A tokenizer is returned as it is."""
    if isinstance(processor, ProcessorMixin):
        return processor.tokenizer
    return processor
