"""What prompts and completions say, as a text or as the messages of OpenAI, LLaVA and others."""

from typing import Any

import pytest

from spanreward.rewards.rows.messages import completion_text, prompt_text

PART = {"type": "text", "text": "A dog."}
RED = " A red circle.\n"
BLOCKS = [{"type": "text", "text": " A red"}, {"type": "image", "image": None}]
BLOCKS += [{"type": "text", "text": " circle.\n"}]
TOOLS = [{"role": "tool", "content": "7"}, {"role": "user", "content": "A star."}]
ASKED = [{"type": "image"}, {"type": "text", "text": "What is it?"}]


def said(content: Any) -> Any:
    return [{"role": "assistant", "content": content}]


@pytest.mark.parametrize("completion", [RED, said(RED), said(BLOCKS), tuple(said(RED))])
def test_a_text_and_messages_are_the_same_completion_unstripped(completion: Any) -> None:
    assert completion_text(completion) == RED


@pytest.mark.parametrize("empty", ["", said(""), said(None), said([]), [{"role": "assistant"}]])
def test_an_empty_message_is_an_empty_completion(empty: Any) -> None:
    assert completion_text(empty) == ""


@pytest.mark.parametrize("completion", [[], TOOLS, None, 3, {"content": "A star."}])
def test_what_is_neither_a_text_nor_an_assistants_is_refused(completion: Any) -> None:
    with pytest.raises(ValueError, match="the assistant's"):
        completion_text(completion)


LAYOUTS: list[dict[str, Any]] = [
    {"role": "assistant", "content": "A dog."},
    {"from": "gpt", "value": "A dog."},
    {"role": "assistant", "text": "A dog."},
    {"role": "model", "parts": [{"text": "A dog."}]},
    {"content": None, "value": "A dog."},
    {"role": "assistant", "content": [PART]},
    {"role": "assistant", "content": [{**PART, "type": "output_text"}]},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}, PART]},
    {"role": "assistant", "content": ["A ", "dog."]},
]
NO_TEXT: list[dict[str, Any]] = [
    {"role": "assistant", "utterance": "A dog."},
    {"speaker": "gpt"},
    {"role": "assistant", "content": [{"type": "image", "image": None}]},
    {"role": "assistant", "content": [{"type": "reasoning", "summary": "A dog."}]},
]


@pytest.mark.parametrize("message", LAYOUTS)
def test_messages_as_others_write_them(message: Any) -> None:
    assert completion_text([message]) == prompt_text([message]) == "A dog."


@pytest.mark.parametrize("message", NO_TEXT)
def test_a_message_without_a_text_is_refused_by_its_keys(message: Any) -> None:
    with pytest.raises(ValueError, match=f"no text .*{', '.join(message)}"):
        completion_text([message])


WRONG: list[Any] = [3, [3], [{"content": 3}], [{"content": [3]}], [{"content": [{"type": "text"}]}]]


@pytest.mark.parametrize("prompt", WRONG)
def test_what_is_no_message_is_refused(prompt: Any) -> None:
    with pytest.raises(ValueError, match=r"message|block"):
        prompt_text(prompt)


PROMPTS: list[tuple[Any, str]] = [
    ("<image>\nWhat is it?", "What is it?"),
    ([{"from": "human", "value": "<image>\nWhat is it?"}], "What is it?"),
    ([{"role": "user", "content": ASKED}], "What is it?"),
    ([{"role": "system", "content": "Hi."}, {"content": ASKED}], "Hi.\nWhat is it?"),
    ("<|vision_start|><|image_pad|><|vision_end|>What is it?", "What is it?"),
    ("<|image_1|>\n<|image_2|>\nWhich?", "Which?"),
    (" Describe the <imagery> of x<y. ", " Describe the <imagery> of x<y. "),
]


@pytest.mark.parametrize(("prompt", "shown"), PROMPTS)
def test_no_judge_sees_a_picture_s_placeholder(prompt: Any, shown: str) -> None:
    assert prompt_text(prompt) == shown
