"""Reads a row of a dataset into a Sample: `read_sample(row, completion, prompt)`."""

import sys
from collections.abc import Mapping
from typing import Any

from spanreward.rewards.base.verdict import Sample

_FIELDS = "prompt image images reference question answers task bbox context anchor criteria questions id"


READ = frozenset(_FIELDS.split())  # the dataset columns that become fields of a Sample


def read_sample(row: Mapping[str, Any], completion: Any, prompt: Any = "") -> Sample:
    """Returns the Sample for a dataset row (docs/recipes.md). Raises ValueError for a value of the wrong type."""
    images = row.get("images")
    if images is None:
        images = [row["image"]] if row.get("image") is not None else []
    if not isinstance(images, (list, tuple)):
        raise ValueError(f"the column 'images' must hold a list of pictures, got {images!r}")
    return Sample(
        prompt=_text_of_prompt(prompt),
        completion=_text_of_completion(completion),
        images=tuple(images),
        references=texts(row.get("reference"), "reference"),
        question=one_text(row.get("question"), "question"),
        answers=() if row.get("questions") else texts(row.get("answers"), "answers"),
        task=one_text(row.get("task"), "task"),
        bbox=box(row.get("bbox"), "bbox"),
        context=one_text(row.get("context"), "context"),
        anchor=one_text(row.get("anchor"), "anchor"),
        criteria=texts(row.get("criteria"), "criteria"),
        questions=read_questions(row.get("questions"), row.get("answers")),
        id=None if row.get("id") is None else str(row["id"]),
        columns={name: value for name, value in row.items() if name not in READ},
    )


def one_text(value: Any, column: str) -> str | None:
    """Returns a column's value. Raises ValueError unless it is a text or None."""
    if value is not None and not isinstance(value, str):
        raise ValueError(f"the column {column!r} must hold a text, got {value!r}")
    return value


def read_questions(questions: Any, answers: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Returns each question with its answers, without those that lack either. Raises ValueError for unequal lengths."""
    asked = texts(questions, "questions")
    given = answers if isinstance(answers, (list, tuple)) else [answers] * bool(answers)
    if asked and given and len(asked) != len(given):
        raise ValueError(f"the row has {len(asked)} questions and {len(given)} answers: give each question its own.")
    pairs = ((question, texts(accepted, "answers")) for question, accepted in zip(asked, given, strict=False))
    return tuple((question, accepted) for question, accepted in pairs if accepted)


def box(value: Any, column: str) -> tuple[float, float, float, float] | None:
    """Returns a column's value as four finite numbers, or None. Raises ValueError for anything else."""
    if value is None:
        return None
    numbers = value if isinstance(value, (list, tuple)) else ()
    if len(numbers) != 4 or not all(isinstance(n, (int, float)) and abs(n) <= sys.float_info.max for n in numbers):
        raise ValueError(f"the column {column!r} must hold four numbers x0, y0, x1, y1, got {value!r}")
    x0, y0, x1, y1 = numbers
    return x0, y0, x1, y1


def texts(value: Any, column: str) -> tuple[str, ...]:
    """Returns a column's value as texts without the blank ones. Raises ValueError unless it holds texts or None."""
    values = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(values, (list, tuple)) or not all(isinstance(text, str) for text in values):
        raise ValueError(f"the column {column!r} must hold a text or a list of texts, got {value!r}")
    return tuple(text for text in values if text.strip())


def _text_of_completion(completion: Any) -> str:
    """Returns the completion's text, unstripped. Raises ValueError for several messages, such as tool calls."""
    if isinstance(completion, str):
        return completion
    if isinstance(completion, (list, tuple)) and len(completion) == 1:
        return _text_of_message(completion[0])
    raise ValueError(
        f"a completion must be a text or a single assistant message, got {completion!r}: completions of several "
        "messages (tool calls) cannot be judged as one text."
    )


def _text_of_prompt(prompt: Any) -> str:
    """Returns the prompt's text, with messages joined by line breaks. Raises ValueError for anything else."""
    if not isinstance(prompt, (str, list, tuple)):
        raise ValueError(f"a prompt must be a text or a list of messages, got {prompt!r}")
    return prompt if isinstance(prompt, str) else "\n".join(_text_of_message(message) for message in prompt)


def _text_of_message(message: Any) -> str:
    """Returns a message's text, or the text of its text blocks. Raises ValueError for anything else."""
    if not isinstance(message, Mapping):
        raise ValueError(f"a message must hold a role and content, got {message!r}")
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, (list, tuple)) else [content]
    if not all(isinstance(block, Mapping) for block in blocks):
        raise ValueError(f"a message's content must be a text or a list of blocks, got {content!r}")
    said = [block.get("text") for block in blocks if block.get("type") == "text"]
    if not all(isinstance(text, str) for text in said):
        raise ValueError(f"a block of type 'text' must hold a text, got {content!r}")
    return "".join(said)
