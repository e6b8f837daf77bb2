"""A turn must end in a token that ends generation: templates in the shapes of well-known ones."""

from types import SimpleNamespace
from typing import Any

import pytest

from experiments.scenes.policy import tiny_processor
from spanreward.training.turn_end import endless_turn, eos_ids
from tests.support.tiny_models import QWEN_TEMPLATE
from tests.support.tiny_sft import BASE_TOKENS, CHATML
from tests.support.tokenizer import TEMPLATE, tokenizer

LLAMA = (
    "<|begin_of_text|>{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
    "{{ m.content | trim }}<|eot_id|>{% endfor %}"
)
GEMMA = (
    "<bos>{% for m in messages %}<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}"
    "\n{{ m.content | trim }}<end_of_turn>\n{% endfor %}"
)
MISTRAL = (
    "<s>{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
    "{% else %} {{ m.content }}</s>{% endif %}{% endfor %}"
)
LLAVA = (
    "{% for m in messages %}{{ m.role.upper() }}: {% if m.role != 'assistant' %}"
    "{{ m.content }} {% else %}{{ m.content + ' ' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}ASSISTANT:{% endif %}"
)
CHATML_TOKENS = ("<|im_start|>", "<|im_end|>", "<|endoftext|>")
LLAMA_TOKENS = ("<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|start_header_id|>")
GEMMA_TOKENS = ("<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>")


def endless(template: str, tokens: tuple[str, ...], *ends: str) -> Any:
    """What is wrong with a template whose eos is the second token, and that ends at `ends` too."""
    words = tokenizer(template, tokens)
    generation = SimpleNamespace(eos_token_id=words.convert_tokens_to_ids(list(ends)))
    return endless_turn(words, eos_ids(words, generation))


@pytest.mark.parametrize(
    ("template", "tokens", "ends"),
    [
        (TEMPLATE, CHATML_TOKENS, ()),  # which opens a turn after each conversation
        (CHATML, CHATML_TOKENS, ()),  # SmolLM2, Qwen
        (CHATML, BASE_TOKENS, ("<|im_end|>",)),
        (QWEN_TEMPLATE, CHATML_TOKENS, ()),
        (LLAMA, LLAMA_TOKENS, ("<|end_of_text|>", "<|eot_id|>")),
        (GEMMA, GEMMA_TOKENS, ("<eos>", "<end_of_turn>")),
        (MISTRAL, ("<s>", "</s>"), ()),
    ],
)
def test_a_turn_that_ends(template: str, tokens: tuple[str, ...], ends: tuple[str, ...]) -> None:
    assert endless(template, tokens, *ends) is None


def test_the_policy_of_scenes() -> None:
    processor = tiny_processor()
    assert endless_turn(processor, eos_ids(processor, SimpleNamespace(eos_token_id=None))) is None


@pytest.mark.parametrize(
    ("template", "tokens", "end"),
    [
        (CHATML, BASE_TOKENS, "<|im_end|>"),
        (LLAMA, LLAMA_TOKENS, "<|eot_id|>"),
        (GEMMA, GEMMA_TOKENS, "<end_of_turn>"),
    ],
)
def test_a_turn_that_ends_in_another_token(template: str, tokens: Any, end: str) -> None:
    found = endless(template, tokens)
    assert f"turn with {end!r}, " in found.refusal
    assert f"generation ends at {tokens[1]!r}" in found.refusal
    assert f"set trainer.eos_token to {end!r}." in found.refusal
    assert f"add {found.token} to eos_token_id" in found.cure


@pytest.mark.parametrize(
    ("template", "end", "shown"),
    [
        (LLAVA, " ", "' '"),
        (LLAVA.replace("m.content + ' '", "m.content"), "", "nothing"),
        (CHATML, "<|im_end|>\n", repr("<|im_end|>\n")),  # in pieces
    ],
)
def test_a_turn_that_ends_in_no_token(template: str, end: str, shown: str) -> None:
    found = endless(template, ("<s>", "</s>"))
    assert (found.end, found.token) == (end, None)
    assert f"turn with {shown}, " in found.refusal
    assert "generation ends at '</s>'" in found.refusal
    assert "write the eos token" in found.refusal


def test_a_processors_template_gets_blocks() -> None:
    processor = tiny_processor()
    processor.chat_template = (
        "{% for m in messages %}{{ m.role.upper() }}: {% for block in m.content "
        "if block.type == 'text' %}{{ block.text + ' ' }}{% endfor %}{% endfor %}"
    )
    found = endless_turn(processor, eos_ids(processor, SimpleNamespace(eos_token_id=None)))
    assert found is not None
    assert (found.end, found.token, found.eos) == (" ", None, ("<eos>",))


def test_a_model_that_never_ends() -> None:
    assert "ends at no token" in str(endless_turn(tokenizer(CHATML, CHATML_TOKENS), set()))


def test_without_a_template_nothing_is_said() -> None:
    assert endless_turn(tokenizer(None), {1}) is None
    assert endless_turn(tokenizer("{{ messages | length }}"), {1}) is None
