"""Prompts and completions, as texts or as chat messages, and what they say.

    completion_text([{"from": "gpt", "value": "A dog."}])   # "A dog."
    prompt_text([{"role": "user", "content": "<image>\nDescribe it."}])     # "Describe it."

OpenAI's messages are read, LLaVA's, and those that TRL makes. A message without a text is a
ValueError in one sentence.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from spanreward.rewards.base.texts import list_in
from spanreward.rewards.rows.placeholders import plain_texts

_ASSISTANT = ("assistant", "gpt", "model")
# a message's keys for what it says: OpenAI's, LLaVA's, others'
TEXT_KEYS = {"content", "value", "text", "parts"}
TEXT_BLOCKS = ("text", "input_text", "output_text")


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
    messages = _assistants_messages(completion)
    if not messages:
        raise ValueError(
            "a completion must be a text or messages with one of the assistant's, got "
            f"{completion!r:.200}"
        )
    for message in reversed(messages):
        text = message_text(message)
        if text is None:
            keys = _keys_in_words(message)
            raise ValueError(f"no text was found in a completion's message with the keys {keys}")
        yield text


def _assistants_messages(completion: Any) -> list[Any]:
    """Returns the assistant's messages; a single message is the assistant's, whoever it names."""
    if not isinstance(completion, list | tuple):
        return []
    if len(completion) == 1:
        return list(completion)
    messages = []
    for message in completion:
        if isinstance(message, Mapping) and _role_of_message(message) in _ASSISTANT:
            messages.append(message)
    return messages


def _role_of_message(message: Mapping[str, Any]) -> Any:
    """Returns who speaks: OpenAI's key is "role", LLaVA's is "from"."""
    return message.get("role", message.get("from"))


def prompt_text(prompt: Any, pictures: int = 0) -> str:
    """Returns the prompt's text without placeholders of pictures, with messages joined by line
    breaks.

    pictures: see `plain_texts`. Raises as it does, and ValueError for a message without a text.
    """
    return "\n".join(plain_texts(_prompt_texts(prompt), pictures, "the prompt"))


def _prompt_texts(prompt: Any) -> list[str]:
    """Returns the text of each of the prompt's messages, which a table may hold as a text."""
    prompt = messages_in(prompt)
    if isinstance(prompt, str):
        return [prompt]
    if not isinstance(prompt, list | tuple):
        raise ValueError(f"a prompt must be a text or a list of messages, got {prompt!r}")
    texts = []
    for message in prompt:
        text = message_text(message)
        # a message of pictures alone has such a key, and says nothing
        if text is None and TEXT_KEYS.isdisjoint(message):
            keys = _keys_in_words(message)
            raise ValueError(f"no text was found in a prompt's message with the keys {keys}")
        texts.append(text or "")
    return texts


def message_text(message: Any) -> str | None:
    """Returns a message's text, or those of its text blocks, "" where it says nothing; None where
    no text is found: in pictures alone, or under keys that are not known. Raises ValueError for a
    value of another kind.
    """
    if not isinstance(message, Mapping):
        raise ValueError(f"a message must hold a role and content, got {message!r}")
    for key, value in message.items():
        if key in TEXT_KEYS and value is not None:
            return _content_text(value)
    # it calls tools, has None for its text, or has nothing but a speaker
    says_nothing = "tool_calls" in message or not TEXT_KEYS.isdisjoint(message)
    if says_nothing or message.keys() <= {"role", "from", "name"}:
        return ""
    return None


def _content_text(content: Any) -> str | None:
    """Returns the text of a message's content; None for blocks without any. Raises ValueError for a
    value of another kind.
    """
    if isinstance(content, str):
        return content
    blocks = [content]  # a single block
    if isinstance(content, list | tuple):
        blocks = list(content)
    texts: list[Any] = []
    for block in blocks:
        if isinstance(block, str):
            texts.append(block)
        elif not isinstance(block, Mapping):
            raise ValueError(
                f"a message's content must be a text or a list of blocks, got {content!r}"
            )
        elif block.get("type", "text") in TEXT_BLOCKS:
            texts.append(block.get("text"))
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"a block of type 'text' must hold a text, got {content!r}")
    if blocks and not texts:
        return None
    return "".join(texts)


def messages_in(completion: Any) -> Any:
    """Returns the messages that a table without lists holds as a text; any other completion as it
    is.
    """
    if not isinstance(completion, str) or not completion.lstrip().startswith("["):
        return completion
    messages = list_in(completion.strip())
    if not messages or not isinstance(messages, list):
        return completion
    # a model may answer with a list of JSON objects, which have no speaker
    for message in messages:
        if not isinstance(message, dict):
            return completion
        if "role" not in message and "from" not in message:
            return completion
    return messages


def tools_pictures(completion: Any) -> tuple[Any, ...]:
    """Returns the pictures in a completion's messages, where TRL keeps what tools return as blocks
    of type "image".
    """
    if not isinstance(completion, list | tuple):  # a text
        return ()
    pictures = []
    for message in completion:
        content = message.get("content")
        if not isinstance(content, list):
            continue
        for block in content:
            if block.get("type") == "image":
                pictures.append(block["image"])
    return tuple(pictures)


def _keys_in_words(message: Mapping[str, Any]) -> str:
    """Returns the end of an error on a message without a text: its keys, and the cure."""
    keys = ", ".join(map(str, message))
    return f"{keys}, got {message!r:.200}: it belongs under content"
