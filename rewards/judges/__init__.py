"""Judges: they rate questions and write texts. `load_judge` makes one by its name.

match/ needs no model, local/ runs one on this machine, remote/ asks one behind HTTP. encoding/
makes chats token ids, in which text from a policy never becomes a control token. cache/ keeps
answers in a file.
"""

from typing import Any

from spanreward.rewards.judges.by_name import load_judge
from spanreward.rewards.judges.cache.cached_judge import CachedJudge
from spanreward.rewards.judges.judge import Failure, Judge, Question, Rating, closing

__all__ = [
    "CachedJudge",
    "Failure",
    "Judge",
    "MatchJudge",
    "Question",
    "Rating",
    "closing",
    "load_judge",
]


def __getattr__(name: str) -> Any:  # MatchJudge, which alone needs spaCy
    from spanreward.rewards.judges.match import match_judge

    return getattr(match_judge, name)
