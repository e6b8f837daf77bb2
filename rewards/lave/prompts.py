"""LAVE's prompt: instructions, eight demonstrations, then the question, people's answers and the candidate.

    prompts = load_prompts()
    prompts.text(Example("What color is it?", ("red", "red"), "crimson"), binary=False, rationale=True)

All questions of one kind begin with the same text, which engines compute once; the candidate comes last, so that the
candidates of a group share the rest. What people, policies and datasets write stands between double quotes on a single
line (`quote`): a candidate cannot begin a line of its own, close its quotes, or write a rating.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewards.yaml_file import read_yaml_file

PROMPTS = Path(__file__).with_name("prompts.yaml")
DEMONSTRATIONS = Path(__file__).with_name("demonstrations.yaml")
RATINGS = (1, 2, 3)
_RATING = re.compile(r"(rating)\W*[=:]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LaveExample:
    """What is rated. references: as shown, repeats kept. context: a description of the picture, "" for none."""

    question: str
    references: tuple[str, ...]
    candidate: str
    context: str = ""


@dataclass(frozen=True, slots=True)
class Demonstration:
    """An example with its rating, 1 to 3, and the reason for it."""

    example: LaveExample
    rationale: str
    rating: int


@dataclass(frozen=True, slots=True)
class LavePrompts:
    """The instructions and both sets of demonstrations.

    instructions: keys "task", "context_task", "binary", "rationale", "rating".
    """

    instructions: Mapping[str, str]
    general: tuple[Demonstration, ...]
    binary: tuple[Demonstration, ...]

    def text(self, example: LaveExample, binary: bool, rationale: bool) -> str:
        """The whole prompt; its end is where the judge goes on."""
        shows_context = bool(example.context)
        head = [self.instructions["context_task" if shows_context else "task"]]
        head += [self.instructions["binary"]] if binary else []
        head += [self.instructions["rationale" if rationale else "rating"]]
        shown = [
            f"{_asked(one.example, shows_context)}\n{_answered(one, rationale)}"
            for one in (self.binary if binary else self.general)
        ]
        last = f"{_asked(example, shows_context)}\n{_goes_on(rationale)}"
        return "\n\n".join(["\n".join(head), *shown, last])

    def candidate_in(self, prompt: str, example: LaveExample, rationale: bool) -> tuple[int, int]:
        """The characters [start, end) of the prompt that are the candidate, as it is quoted and without its quotes."""
        end = len(prompt) - len(f'"\n{_goes_on(rationale)}')
        return end - len(quote(example.candidate)) + 2, end


def quote(text: str) -> str:
    """The text as one line between double quotes, with nothing in it that could be taken for the prompt's own.

    White space, control characters, invisible characters and lone surrogates become single spaces, double quotes
    single ones, and `rating=` loses its sign.
    """
    visible = "".join(c if c.isprintable() else " " for c in text)
    plain = " ".join(_RATING.sub(r"\1 ", visible).split()).replace('"', "'")
    return f'"{plain}"'


def _asked(example: LaveExample, shows_context: bool) -> str:
    context = [f"Image description: {quote(example.context)}"] if shows_context else []
    references = ", ".join(map(quote, example.references))
    lines = (f"Question: {quote(example.question)}", f"Reference answers: {references}")
    return "\n".join([*context, *lines, f"Candidate answer: {quote(example.candidate)}"])


def _goes_on(rationale: bool) -> str:
    return "Output:" if rationale else "Rating:"


def _answered(one: Demonstration, rationale: bool) -> str:
    return f"Output: {one.rationale} So rating={one.rating}" if rationale else f"Rating: {one.rating}"


def load_prompts(demonstrations: str | Path | Mapping[str, Any] | None = None) -> LavePrompts:
    """Our instructions, with our demonstrations, those of a YAML file, or those given as the same data.

    The file has the keys `general` and `binary`, each a list with question, references, candidate, rationale, rating
    and optionally context. Raises ValueError, naming the demonstration, for what is missing or not of its kind.
    """
    instructions = read_yaml_file(PROMPTS)
    if isinstance(demonstrations, Mapping):
        data: Any = demonstrations
        where = "demonstrations"
    else:
        path = DEMONSTRATIONS if demonstrations is None else Path(demonstrations)
        data = read_yaml_file(path)
        where = str(path)
    if not isinstance(data, Mapping) or set(data) != {"general", "binary"}:
        raise ValueError(f"{where} must hold the keys 'general' and 'binary', each a list of demonstrations")
    return LavePrompts(
        instructions, _read(data["general"], f"{where} general"), _read(data["binary"], f"{where} binary")
    )


def _read(entries: Any, where: str) -> tuple[Demonstration, ...]:
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise ValueError(f"{where} must be a list of demonstrations, got {entries!r}")
    return tuple(_demonstration(entry, f"{where} {number}") for number, entry in enumerate(entries, start=1))


def _demonstration(entry: Any, where: str) -> Demonstration:
    needed = {"question": str, "references": list, "candidate": str, "rationale": str, "rating": int}
    if not isinstance(entry, Mapping):
        raise ValueError(f"{where} must be a mapping with {', '.join(needed)}, got {entry!r}")
    for key, kind in needed.items():
        if not isinstance(entry.get(key), kind):
            hint = " (in YAML, put yes, no and numbers in quotes)" if kind in (str, list) else ""
            raise ValueError(f"{where}: {key} must be a {kind.__name__}{hint}, got {entry.get(key)!r}")
    if not all(isinstance(answer, str) for answer in entry["references"]):
        raise ValueError(f"{where}: references must be texts (in YAML, put yes, no and numbers in quotes)")
    if entry["rating"] not in RATINGS or isinstance(entry["rating"], bool):
        raise ValueError(f"{where}: rating must be 1, 2 or 3, got {entry['rating']}")
    example = LaveExample(
        entry["question"], tuple(entry["references"]), entry["candidate"], str(entry.get("context") or "")
    )
    return Demonstration(example, entry["rationale"], entry["rating"])
