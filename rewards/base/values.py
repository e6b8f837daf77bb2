"""Reads the values of a row, wherever it comes from: a file, a dataset, a trainer's column, or a
Sample made by hand.

    texts("A red circle.", "reference")  # ("A red circle.",): one text is a list of one
    texts("['surfing', 'surf']", "answers")  # ("surfing", "surf"), as pandas writes lists into CSV
    people([{"answer": "2", "answer_id": 1}], "answers")    # ("2",), as VQA datasets have them
    completion_text([{"from": "gpt", "value": "A dog."}])   # "A dog."

A reader returns the value, or nothing where the row has none (None, NaN, blank), and raises
ValueError, naming the column, for another kind. A list within a string is read where it is JSON or
Python.
"""

import ast
import io
import json
import re
import sys
import tokenize
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

_LIST = re.compile(
    r"""\s*(?:array\()?\[\s*\[?\s*\{?\s*(?:np\.str_\()?['"\u201c](?:.*\]\s*\Z|[^'"]*['"]\s*,\s*['"])""",
    re.DOTALL,
)  # maybe cut off
_NUMPY = re.compile(
    r"\bnp\.str_\(((['\"])(?:(?!\2).)*\2)\)|\Aarray\((?=\[)|(?<=\])(?:, dtype=[\w<.']+)?\)\Z"
)
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


def entries(value: Any, column: str, kinds: tuple[type, ...] = (str,)) -> list[Any]:
    """Returns a list's entries, those of a list of such kinds within a string, or the one value; []
    for None. Raises ValueError for a string that begins as a list and cannot be read as one.
    """
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, str) and value.lstrip().startswith(("[", "(", "array(")):
        listed = _list_in(value.strip())
        if isinstance(listed, (list, tuple)) and all(isinstance(entry, kinds) for entry in listed):
            return list(listed)
        if _LIST.match(value):
            cure = "give the list itself, or write it as JSON"
            raise ValueError(
                f"the column {column!r} holds a list in a string that cannot be read, "
                f"{value!r:.80}: {cure}"
            )
    if value is None or (isinstance(value, float) and value != value):  # NaN is pandas' None
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def plain_value(value: Any) -> Any:
    """Returns a value of pandas or numpy as JSON has it: arrays as lists, NaN as None.

    Arrays of numbers stay.
    """
    if isinstance(value, np.ndarray) and value.dtype.kind in "OUS":
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain_value(entry) for entry in value]
    if isinstance(value, Mapping):
        return {key: plain_value(entry) for key, entry in value.items()}
    missing = type(value).__name__ in ("NAType", "NaTType") or (
        isinstance(value, float) and value != value
    )
    return None if missing else value


def messages_in(text: str) -> list[Any] | None:
    """Returns the messages that a table without lists holds as a text; None for any other text."""
    found = _list_in(text.strip()) if text.lstrip().startswith("[") else None
    messages = isinstance(found, list) and all(
        isinstance(one, dict) and one.keys() & {"role", "from"} for one in found
    )
    return found if messages and found else None


def _list_in(text: str) -> Any:
    """Returns the value that is the whole text, in JSON, Python or as numpy shows it; None where
    there is none.
    """
    text = _NUMPY.sub(r"\1", text)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        found = ast.literal_eval(text)
        if not isinstance(found, list) or not all(isinstance(entry, str) for entry in found):
            return found
        # as numpy writes no commas between texts
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        return [ast.literal_eval(token.string) for token in tokens if token.type == tokenize.STRING]
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def texts(value: Any, column: str) -> tuple[str, ...]:
    """Returns a text, or several, without the blank ones."""
    return _texts(entries(value, column), column, "a text or a list of texts", value)


def people(value: Any, column: str) -> tuple[str, ...]:
    """Returns people's answers to one question: texts, or objects with the text in "answer"."""
    found: list[Any] = []
    for entry in entries(value, column, (str, dict)):
        found += entries(entry.get("answer", 0), column) if isinstance(entry, Mapping) else [entry]
    return _texts(found, column, 'a text, a list of texts or of {"answer": text}', value)


def _texts(found: list[Any], column: str, wanted: str, value: Any) -> tuple[str, ...]:
    if not all(isinstance(text, str) for text in found):
        raise ValueError(f"the column {column!r} must hold {wanted}, got {value!r}")
    return tuple(text for text in found if text.strip())


def one_text(value: Any, column: str) -> str | None:
    """Returns the text; None for a blank one."""
    found = [value] if isinstance(value, str | list | tuple) else entries(value, column)
    return next(iter(_texts(found, column, "a text", value)), None)


def box(value: Any, column: str) -> tuple[float, float, float, float] | None:
    """Returns four finite numbers, x0, y0, x1, y1."""
    numbers = entries(value, column, (int, float))
    if not numbers or numbers == [""]:
        return None
    if len(numbers) != 4 or not all(
        type(n) in (int, float) and abs(n) <= sys.float_info.max for n in numbers
    ):
        raise ValueError(
            f"the column {column!r} must hold four numbers x0, y0, x1, y1, got {value!r}"
        )
    x0, y0, x1, y1 = numbers
    return x0, y0, x1, y1


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


def tools_pictures(completion: Any) -> tuple[Any, ...]:
    """Returns the pictures in a completion's messages, where TRL keeps what tools return as blocks
    of type "image".
    """
    turns = completion if isinstance(completion, (list, tuple)) else []
    contents = [turn["content"] for turn in turns if isinstance(turn.get("content"), list)]
    return tuple(
        block["image"] for content in contents for block in content if block.get("type") == "image"
    )


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


def without_placeholders(text: str) -> str:
    """Returns the text without `<image>` and the like, which stand for a picture that is given
    beside it.
    """
    found = _PLACEHOLDER.sub("", text)
    return text if found == text else found.strip()


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


def _keys(message: Mapping[str, Any]) -> str:
    return f"{', '.join(map(str, message))}, got {message!r:.200}: it belongs under content"
