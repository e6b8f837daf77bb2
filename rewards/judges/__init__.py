"""Judges: what rates a question and writes a text. `load_judge` chooses one by its name.

judge.py, probe.py, usage.py   what every judge does, is asked, and has cost
by_name.py                     the names of recipes and command lines
match/                         no model: the words of the references
local/                         a model on this machine: transformers, or vLLM beside the policy
remote/                        a model behind HTTP
encoding/                      chats as token ids in which nothing that a policy wrote is a control token
shared/                        one judge for all ranks, and answers remembered over runs
"""

from rewards.judges.by_name import closing, load_judge
from rewards.judges.judge import Failure, Judge, Question, Rating
from rewards.judges.match.match_judge import MatchJudge
from rewards.judges.shared.cached_judge import CachedJudge

__all__ = ["CachedJudge", "Failure", "Judge", "MatchJudge", "Question", "Rating", "closing", "load_judge"]
