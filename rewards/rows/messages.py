"""Reads the text of prompts and completions, which are texts or chat messages.

    completion_text([{"from": "gpt", "value": "A dog."}])   # "A dog."
    prompt_text([{"role": "user", "content": "<image>\nDescribe it."}])     # "Describe it."

Messages may have the form of OpenAI, of LLaVA or of TRL. A message without a text raises ValueError
with a message of one sentence.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from spanreward.rewards.base.texts import list_in
from spanreward.rewards.rows.placeholders import plain_texts

_ASSISTANT_ROLES = ("assistant", "gpt", "model")
# keys under which a message has its text: OpenAI's ("content"), LLaVA's ("value"), and others
TEXT_KEYS = {"content", "value", "text", "parts"}
TEXT_BLOCKS = ("text", "input_text", "output_text")


def completion_text(completion: Any) -> str:
    """Returns the completion's text, unstripped: [{"role": "assistant", "content": " A dog."}]
    gives " A dog."

    For several messages, as with calls of tools, the text is that of the assistant's last message.
    Raises ValueError for a value of another type, and for a message without a text.
    """
    return next(assistants_texts(completion))


def assistants_texts(completion: Any) -> Iterator[str]:
    """Yields the text of each of the assistant's messages, the last message first. A completion
    that is a text counts as one message.

    Raises ValueError for a value that is no text and no messages, and for a message without a text.
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
    """Returns the assistant's messages of a completion, without those of tools: of [{"role":
    "tool", "content": "7"}, {"role": "assistant", "content": "A dog."}] the second message.

    A single message counts as the assistant's, even if the message names another speaker.
    """
    if not isinstance(completion, list | tuple):
        return []
    if len(completion) == 1:
        return list(completion)
    messages = []
    for message in completion:
        if isinstance(message, Mapping) and _role_of_message(message) in _ASSISTANT_ROLES:
            messages.append(message)
    return messages


def _role_of_message(message: Mapping[str, Any]) -> Any:
    """Returns the speaker of a message. OpenAI's key is "role", LLaVA's key is "from"."""
    return message.get("role", message.get("from"))


def prompt_text(prompt: Any, pictures: int = 0) -> str:
    """Returns the prompt's text without placeholders of pictures, such as "<image>".

    Line breaks join the texts of several messages. pictures: the number of the row's pictures, or 0
    to skip the check of their number. Raises ValueError for placeholders of more pictures, and for
    a message without a text.
    """
    return "\n".join(plain_texts(_prompt_texts(prompt), pictures, "the prompt"))


def _prompt_texts(prompt: Any) -> list[str]:
    """Returns the text of each message of a prompt: [{"role": "user", "content": "What is it?"}]
    gives ["What is it?"].

    In a table, the prompt may be a text that writes out a list of messages. A message with nothing
    but pictures has the text "".
    """
    prompt = messages_in(prompt)
    if isinstance(prompt, str):
        return [prompt]
    if not isinstance(prompt, list | tuple):
        raise ValueError(f"a prompt must be a text or a list of messages, got {prompt!r}")
    texts = []
    for message in prompt:
        text = message_text(message)
        # a message with nothing but pictures has one of these keys, and its text is ""
        if text is None and TEXT_KEYS.isdisjoint(message):
            keys = _keys_in_words(message)
            raise ValueError(f"no text was found in a prompt's message with the keys {keys}")
        texts.append(text or "")
    return texts


def message_text(message: Any) -> str | None:
    """Returns the text of a message, with all its text blocks joined.

    Returns "" for a message that has no text by its kind, such as a call of a tool. Returns None if
    no text is found: the message has only pictures, or only unknown keys. Raises ValueError for a
    value of a wrong type.
    """
    if not isinstance(message, Mapping):
        raise ValueError(f"a message must hold a role and content, got {message!r}")
    for key, value in message.items():
        if key in TEXT_KEYS and value is not None:
            return _content_text(value)
    # the message calls tools, has None as its text, or has no key but the speaker's
    says_nothing = "tool_calls" in message or not TEXT_KEYS.isdisjoint(message)
    if says_nothing or message.keys() <= {"role", "from", "name"}:
        return ""
    return None


def _content_text(content: Any) -> str | None:
    """Returns the text of a message's content, or None for blocks without text: ["A ", {"type":
    "text", "text": "dog."}] gives "A dog."

    content: a text, a block such as {"type": "text", "text": "A dog."}, or a list of blocks. Raises
    ValueError for a value of another type.
    """
    if isinstance(content, str):
        return content
    # collect the texts of the blocks
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
    # join the texts; blocks without a text, such as pictures, give None
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"a block of type 'text' must hold a text, got {content!r}")
    if blocks and not texts:
        return None
    return "".join(texts)


def messages_in(completion: Any) -> Any:
    """Returns the messages that a text writes out, such as a cell of a CSV file: the text
    "[{'role': 'assistant', 'content': 'A dog.'}]" gives a list with one message.

    Any other completion is returned unchanged.
    """
    if not isinstance(completion, str) or not completion.lstrip().startswith("["):
        return completion
    messages = list_in(completion.strip())
    if not messages or not isinstance(messages, list):
        return completion
    # objects without a speaker are no messages: a model may answer with a list of JSON objects
    for message in messages:
        if not isinstance(message, dict):
            return completion
        if "role" not in message and "from" not in message:
            return completion
    return messages


def tools_pictures(completion: Any) -> tuple[Any, ...]:
    """Returns the pictures of a completion's messages.

    TRL stores a picture that a tool returns as a block of type "image".
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
    """Returns the end of an error about a message without a text: the keys and the remedy."""
    keys = ", ".join(map(str, message))
    return f"{keys}, got {message!r:.200}: it belongs under content"
