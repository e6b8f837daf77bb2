"""MLLM-Bench's votes (section 5.1): both orders of a model's answer and the anchor's, and what they
decide together.

    {"id": 0, "model": "m", "answer": "...", "vote_order1": {"answer1_is": "anchor", "vote":
     "Answer2"}, "vote_order2": {"answer1_is": "m", "vote": "Answer1"}}

A vote is Answer1, Answer2, or one of two situations in which the judge is unable to decide. An
order that decides overrides one that does not; two orders that decide differently are a tie.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.agreement.vote_folder import (
    Battle,
    Line,
    Once,
    Vote,
    VoteFolder,
    check_labels,
    read_lines,
    read_published,
)

UNABLE = "unable to decide"
SITUATIONS = (f"{UNABLE}: situation one", f"{UNABLE}: situation two")
TIE = "tie"
LABELS = ("Answer1", "Answer2", *SITUATIONS, UNABLE)
ORDERS = ("vote_order1", "vote_order2")


def read(folder: Path, lines: Sequence[Line]) -> VoteFolder:
    """Reads the votes; where questions.jsonl is there, also each question's level and capability
    and the anchor's answer length.
    """
    questions, once = (
        read_questions(folder / "questions.jsonl"),
        Once("the pair of question and model"),
    )
    firsts = {str(first_of(line, order)) for line in lines for order in ORDERS}
    models = {line.name("model") for line in lines}
    named = {
        str(row.row["anchor_model"]) for row in questions.values() if "anchor_model" in row.row
    }
    anchors = firsts - models or named
    if len(anchors) != 1:
        raise ValueError(
            f"{folder / 'votes.jsonl'} must have one anchor, a name that answer1_is has and model "
            f"has not, got {', '.join(sorted(anchors)) or 'none'}."
        )
    (anchor,) = anchors
    battles = []
    for line in lines:
        model, prompt = line.name("model"), line.name("id")
        once(line, prompt, model)
        question = questions[prompt].row if prompt in questions else {}
        answer, other = line.row.get("answer"), question.get("anchor_answer")
        known = (answer, other) if isinstance(answer, str) and isinstance(other, str) else None
        lengths = (len(known[0].split()), len(known[1].split())) if known else None
        level, capability = (
            str(question.get(part) or "").strip() for part in ("level", "capability")
        )
        battles.append(
            Battle(model, prompt, both_orders(line, model, anchor), lengths, level, capability)
        )
    check_labels(battles, LABELS, folder / "votes.jsonl")
    return VoteFolder(
        "mllm_bench", anchor, tuple(battles), read_published(folder / "vote_results.json")
    )


def read_questions(path: Path) -> dict[str, Line]:
    """Returns the questions by id; {} where the folder has none."""
    questions: dict[str, Line] = {}
    if path.is_file():
        once = Once("the question")
        for line in read_lines(path):
            once(line, line.name("id"))
            questions[line.name("id")] = line
    return questions


def first_of(line: Line, order: str) -> str:
    """Returns whose answer stood first. Raises ValueError where the line does not say."""
    return Line(f"{line.where}, {order}", line.get(order, dict)).name("answer1_is")


def both_orders(line: Line, model: str, anchor: str) -> tuple[Vote, Vote]:
    """Raises ValueError where a third name stood first, or the same name in both orders."""
    firsts = [first_of(line, order) for order in ORDERS]
    if sorted(firsts) != sorted((model, anchor)):
        raise ValueError(
            f"{line.where}: {model} and {anchor} must each stand first once, got {firsts[0]} and "
            f"{firsts[1]}."
        )
    one, two = (
        read_vote(line.row[order].get("vote"), first == model, f"{line.where}, {order}")
        for order, first in zip(ORDERS, firsts, strict=True)
    )
    return one, two


def read_vote(label: Any, first: bool, where: str) -> Vote:
    """Reads a label in any case; first: whether the model's answer stood first.

    Raises ValueError for other values.
    """
    if label is not None and not isinstance(label, str):
        raise ValueError(f"{where}: a label is a text or null, got {label!r}.")
    known = {name.casefold(): name for name in LABELS}
    name = known.get(" ".join((label or "").split()).rstrip(".").casefold())
    if name is None:
        return Vote(None, label or "", first)
    decided = {"Answer1": 1, "Answer2": -1}.get(name, 0)
    return Vote(decided if first else -decided, name, first)


def outcome(battle: Battle, anchor: str) -> str | None:
    """Returns the winner's name, TIE, one of SITUATIONS or UNABLE; None where a vote could not be
    read.
    """
    one, two = battle.votes
    if one.level is None or two.level is None:
        return None
    decided = {level for level in (one.level, two.level) if level}
    if decided:
        return TIE if len(decided) == 2 else battle.model if decided == {1} else anchor
    return one.label if one.label == two.label else UNABLE


def count(battles: Sequence[Battle], model: str, anchor: str) -> dict[str, int]:
    """Returns a model's battles by outcome, under the names of the published vote_results.json."""
    outcomes = Counter(outcome(battle, anchor) for battle in battles)
    return {name: outcomes[name] for name in (model, anchor, *SITUATIONS, UNABLE, TIE)}


def choices(battle: Battle) -> tuple[str | None, str | None]:
    """Returns what each order chose, by name and not by position."""
    one, two = (
        None if vote.level is None else {1: "model", -1: "anchor"}.get(vote.level, vote.label)
        for vote in battle.votes
    )
    return one, two
