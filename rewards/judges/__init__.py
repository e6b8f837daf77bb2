"""Judges, and the names by which command lines and recipes choose one."""

from rewards.judges.judge import Failure, Judge, Question, Rating
from rewards.judges.match import MatchJudge

__all__ = ["Failure", "Judge", "MatchJudge", "Question", "Rating", "load_judge"]


def load_judge(spec: str) -> Judge:
    """A judge by its name: `match`. Raises ValueError for any other name."""
    if spec == "match":
        return MatchJudge()
    raise ValueError(f"unknown judge {spec!r}: this version has 'match' (words alone, no model).")
