"""Prompts and completions, as texts or as chat messages, and what they say.

    completion_text([{"from": "gpt", "value": "A dog."}])   # "A dog."
    prompt_text([{"role": "user", "content": "<image>\nDescribe it."}])     # "Describe it."

OpenAI's messages are read, LLaVA's, and those that TRL makes. A message without a text is a
ValueError in one sentence.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from spanreward.rewards.base.texts import list_in

# of a picture in a prompt, as LLaVA, Phi, Qwen, Gemma and InternLM write them
_PLACEHOLDER = re.compile(
    r"<(?:\|?image(?:[ _-]?(?:\d+|pad))?\|?|\|vision_(?:start|end)\|"
    r"|(?:start|end)_of_image|ImageHere)>"
    r"[ \t]*\n?",
    re.IGNORECASE,
)
_ASSISTANT = ("assistant", "gpt", "model")
# a message's keys for what it says: OpenAI's, LLaVA's, others'
SAID = {"content", "value", "text", "parts"}


def completion_text(completion: Any) -> str:
    """Returns the completion's text, unstripped; of several messages, as with tools, that of the
    assistant's last one. Raises ValueError for anything else, and for a message without a text.
    """
    return next(assistants_texts(completion))


def assistants_texts(completion: Any) -> Iterator[str]:
    """Yields the text of each of the assistant's messages, the last one first.

    Raises as `completion_text` does.
    """
    if isinstance(completion, str):
        completion = [{"content": completion}]
    turns = completion if isinstance(completion, (list, tuple)) else []
    said_by = [
        turn.get("role", turn.get("from")) if isinstance(turn, Mapping) else None for turn in turns
    ]
    own = [
        turn
        for turn, role in zip(turns, said_by, strict=True)
        if len(turns) == 1 or role in _ASSISTANT
    ]
    if not own:
        raise ValueError(
            "a completion must be a text or messages with one of the assistant's, got "
            f"{completion!r:.200}"
        )
    for turn in reversed(own):
        text = message_text(turn)
        if text is None:
            raise ValueError(
                f"no text was found in a completion's message with the keys {_keys(turn)}"
            )
        yield text


def prompt_text(prompt: Any) -> str:
    """Returns the prompt's text without placeholders of pictures, with messages joined by line
    breaks.
    """
    if isinstance(prompt, str):
        return without_placeholders(prompt)
    if not isinstance(prompt, (list, tuple)):
        raise ValueError(f"a prompt must be a text or a list of messages, got {prompt!r}")
    said = [message_text(message) for message in prompt]
    for message, text in zip(prompt, said, strict=True):
        if text is None and not message.keys() & SAID:
            raise ValueError(
                f"no text was found in a prompt's message with the keys {_keys(message)}"
            )
    return "\n".join(without_placeholders(text or "") for text in said)


def message_text(message: Any) -> str | None:
    """Returns a message's text, or those of its text blocks, "" where it says nothing; None where
    no text is found: in pictures alone, or under keys that are not known. Raises ValueError for a
    value of another kind.
    """
    if not isinstance(message, Mapping):
        raise ValueError(f"a message must hold a role and content, got {message!r}")
    content = next(
        (message[key] for key in message if key in SAID and message[key] is not None), None
    )
    if content is None:
        return (
            ""
            if message.keys() & {*SAID, "tool_calls"} or message.keys() <= {"role", "from", "name"}
            else None
        )
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, (list, tuple)) else [content]
    if not all(isinstance(block, (Mapping, str)) for block in blocks):
        raise ValueError(f"a message's content must be a text or a list of blocks, got {content!r}")
    parts: list[Any] = [{"text": block} if isinstance(block, str) else block for block in blocks]
    said = [
        part.get("text")
        for part in parts
        if part.get("type", "text") in ("text", "input_text", "output_text")
    ]
    if not all(isinstance(text, str) for text in said):
        raise ValueError(f"a block of type 'text' must hold a text, got {content!r}")
    return "".join(said) if said or not blocks else None


def messages_in(completion: Any) -> Any:
    """Returns the messages that a table without lists holds as a text; any other completion as it
    is.
    """
    if not isinstance(completion, str) or not completion.lstrip().startswith("["):
        return completion
    messages = list_in(completion.strip())
    if not messages or not isinstance(messages, list):
        return completion
    for message in messages:
        if not isinstance(message, dict) or not message.keys() & {"role", "from"}:
            return completion
    return messages


def tools_pictures(completion: Any) -> tuple[Any, ...]:
    """Returns the pictures in a completion's messages, where TRL keeps what tools return as blocks
    of type "image".
    """
    turns = completion if isinstance(completion, (list, tuple)) else []
    contents = [turn["content"] for turn in turns if isinstance(turn.get("content"), list)]
    return tuple(
        block["image"] for content in contents for block in content if block.get("type") == "image"
    )


def without_placeholders(text: str) -> str:
    """Returns the text without `<image>` and the like, which stand for a picture that is given
    beside it.
    """
    found = _PLACEHOLDER.sub("", text)
    return text if found == text else found.strip()


def _keys(message: Mapping[str, Any]) -> str:
    return f"{', '.join(map(str, message))}, got {message!r:.200}: it belongs under content"
