"""Judges: they rate questions and write texts. `load_judge` makes a judge by its name.

match/ has a judge without a model, local/ runs a model on this machine, and remote/ asks a server
by HTTP. encoding/ turns chats into token ids, so that no text from a policy becomes a control
token. cache/ keeps answers in a file.
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


def __getattr__(name: str) -> Any:  # MatchJudge is imported late: it alone needs spaCy
    from spanreward.rewards.judges.match import match_judge

    return getattr(match_judge, name)
