"""Builds LAVE's prompt: instructions, eight demonstrations, then the question, people's answers and
the candidate.

    prompts = load_lave_prompts()
    example = LaveExample("What color is it?", ("red", "red"), "crimson")
    prompts.text(example, binary=False, rationale=True)

All prompts begin alike, and an inference engine computes the common beginning once. The candidate
comes last, so that the completions of a group share everything before the candidate. All text from
people, policies and datasets is on one line between double quotes (`quoted_line`). So a candidate
cannot start a new line, close its quotes, or write a rating.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from spanreward.rewards.files.templates import Wording, read_as, read_texts
from spanreward.rewards.files.yaml_file import read_yaml_file

PROMPT_FILE = Path(__file__).with_name("prompts.yaml")
DEMONSTRATION_FILE = Path(__file__).with_name("demonstrations.yaml")
RATINGS = (1, 2, 3)
_RATING_SIGN = re.compile(r"(rating)\W*[=:]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LaveExample:
    """An answer to rate.

    Args:
        question: the row's question.
        references: people's answers, with repeats.
        candidate: the answer to rate.
        context: a description of the picture, or "".
    """

    question: str
    references: tuple[str, ...]
    candidate: str
    context: str = ""


class Demonstration(Wording):
    """An example with its rating and the reason for the rating.

    Args:
        question: the example's question.
        references: people's answers, with repeats.
        candidate: the answer that is rated.
        rationale: the reason, in a sentence.
        rating: from 1 (wrong) to 3 (right).
        context: a description of the picture, or "".
    """

    question: str
    references: tuple[str, ...]
    candidate: str
    rationale: str
    rating: Literal[1, 2, 3]
    context: str = ""

    @property
    def example(self) -> LaveExample:
        return LaveExample(self.question, self.references, self.candidate, self.context)


class Demonstrations(Wording):
    """A file of demonstrations.

    Args:
        general: the demonstrations for questions that people do not answer with yes or no.
        binary: the demonstrations for yes/no questions.
    """

    general: tuple[Demonstration, ...]
    binary: tuple[Demonstration, ...]


@dataclass(frozen=True, slots=True)
class LavePrompts:
    """The instructions and the demonstrations of the prompts.

    Args:
        instructions: the texts of prompts.yaml, by name.
        general, binary: the demonstrations of the two kinds of questions (`Demonstrations`).
    """

    instructions: Mapping[str, str]
    general: tuple[Demonstration, ...]
    binary: tuple[Demonstration, ...]

    def text(self, example: LaveExample, binary: bool, rationale: bool) -> str:
        """Returns the whole prompt, which ends where the judge's answer begins.

        binary: whether people answered yes or no.
        rationale: whether the judge writes a reason before the rating.
        """
        shows_context = bool(example.context)
        parts = [self._instruction_lines(shows_context, binary, rationale)]
        # the demonstrations, with their answers
        demonstrations = self.binary if binary else self.general
        for demonstration in demonstrations:
            lines = _question_lines(demonstration.example, shows_context)
            answer = _answer_line(demonstration, rationale)
            parts.append(f"{lines}\n{answer}")
        # the example, without an answer
        lines = _question_lines(example, shows_context)
        beginning = "Output:" if rationale else "Rating:"
        parts.append(f"{lines}\n{beginning}")
        return "\n\n".join(parts)

    def _instruction_lines(self, shows_context: bool, binary: bool, rationale: bool) -> str:
        """Returns the instructions at the beginning of the prompt, one per line.

        shows_context: whether the prompt has a description of the picture. binary, rationale: see
        `text`.
        """
        task = "context_task" if shows_context else "task"
        lines = [self.instructions[task]]
        if binary and self.instructions["binary"]:
            lines.append(self.instructions["binary"])
        asked_for = "rationale" if rationale else "rating"
        lines.append(self.instructions[asked_for])
        return "\n".join(lines)


def candidate_in(prompt: str) -> tuple[int, int]:
    """Returns the characters [start, end) of the candidate in a prompt of `LavePrompts.text`.

    The candidate is between the last two double quotes of the prompt, because `quoted_line` removes
    double quotes within the candidate.
    """
    end = prompt.rindex('"')
    opening = prompt.rindex('"', 0, end)
    return opening + 1, end


def quoted_line(text: str) -> str:
    """Returns the text on one line between double quotes.

    White space, control characters, invisible characters and lone surrogates become single spaces.
    Double quotes become single quotes. `rating=` loses its sign, so that a candidate cannot write a
    rating.
    """
    visible = "".join(c if c.isprintable() else " " for c in text)
    unsigned = _RATING_SIGN.sub(r"\1 ", visible)
    line = " ".join(unsigned.split()).replace('"', "'")
    return f'"{line}"'


def _question_lines(example: LaveExample, shows_context: bool) -> str:
    """Returns the lines of an example in the prompt, without its rating."""
    lines = []
    if shows_context:
        lines.append(f"Image description: {quoted_line(example.context)}")
    references = ", ".join(map(quoted_line, example.references))
    lines.append(f"Question: {quoted_line(example.question)}")
    lines.append(f"Reference answers: {references}")
    lines.append(f"Candidate answer: {quoted_line(example.candidate)}")
    return "\n".join(lines)


def _answer_line(demonstration: Demonstration, rationale: bool) -> str:
    """Returns the judge's answer to a demonstration: "Rating: 3", or with a rationale "Output: The
    people say red. So rating=3".
    """
    if not rationale:
        return f"Rating: {demonstration.rating}"
    return f"Output: {demonstration.rationale} So rating={demonstration.rating}"


def load_lave_prompts(
    demonstrations: str | Path | Mapping[str, Any] | None = None,
    instructions: str | Path | None = None,
) -> LavePrompts:
    """Returns the prompts with these demonstrations and instructions.

    demonstrations: a YAML file, or its data. None takes our own file.
    instructions: a file like prompts.yaml. None takes our own file.

    A file of demonstrations has the keys `general` and `binary`, each a list with question,
    references, candidate, rationale, rating and optionally context. Raises ValueError, naming the
    demonstration or the instruction, for a missing value or a value of the wrong type.
    """
    data: Any
    if isinstance(demonstrations, Mapping):
        data = demonstrations
        where = "demonstrations"
    else:
        path = DEMONSTRATION_FILE if demonstrations is None else Path(demonstrations)
        data = read_yaml_file(path)
        where = str(path)
    sets = read_as(Demonstrations, data, where)
    return LavePrompts(read_texts(instructions, PROMPT_FILE), sets.general, sets.binary)
