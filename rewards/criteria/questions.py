"""Reads a row's criteria and builds the questions about them.

read_criteria(("1. Names the bridge.\\n2. Says how old it is.",))      # ("Names the bridge.", "Says how old it is.")
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from spanreward.rewards.files.templates import fill, read_texts
from spanreward.rewards.judges.judge import Question
from spanreward.rewards.judges.probe import MeetsProbe
from spanreward.rewards.pairwise.questions import PairPrompts, Shown, ask, head, question_of

DEFAULT = Path(__file__).with_name("prompts.yaml")
NUMBERED = re.compile(r"^\s*\d+[.)]\s+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CriteriaPrompts:
    """The pieces of prompts.yaml."""

    vote: str
    answer: str
    instructions: str
    text: str
    criterion: str
    rating: str


def load_prompts(path: str | Path | None = None) -> CriteriaPrompts:
    """Returns the prompts of a YAML file like prompts.yaml. Raises OSError, or ValueError for an invalid file."""
    return CriteriaPrompts(**read_texts(path, DEFAULT))


def read_criteria(column: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the criteria. A single text with one numbered criterion per line, as in MLLM-Bench, is split."""
    if len(column) != 1 or len(NUMBERED.findall(column[0])) < 2:
        return column
    return tuple(part.strip() for part in NUMBERED.split(column[0]) if part.strip())


def ask_vote(
    prompts: CriteriaPrompts, pair: PairPrompts, shown: Shown, first: str, second: str, criteria: tuple[str, ...]
) -> Question:
    """Returns the question which of two texts is better by all criteria, to be answered with A, B, C or D."""
    listed = fill(prompts.vote, criteria="\n".join(f"{n}. {text}" for n, text in enumerate(criteria, start=1)))
    return ask(replace(pair, answer=prompts.answer), shown, first, second, criteria, listed)


def ask_criterion(prompts: CriteriaPrompts, pair: PairPrompts, shown: Shown, text: str, criterion: str) -> Question:
    """Returns the question how far a text meets one criterion, to be rated from 1 to 5."""
    before = head(prompts.instructions, pair, shown)
    after = "\n\n".join(["", fill(prompts.criterion, criterion=criterion), prompts.rating])
    probe = MeetsProbe(criterion, text, shown.request, shown.context)
    return question_of(shown, probe, before, prompts.text, after, "text", text=text)
