"""Judges: they rate questions and write texts. `load_judge` makes one by its name.

judge.py, probe.py, usage.py   the interface, questions as typed data, counters
by_name.py                     judges by the names that recipes and command lines use
match/                         without a model: from the words of the references
local/                         a model on this machine: transformers, or vLLM beside the policy
remote/                        a model behind HTTP
encoding/                      chats as token ids, in which text from a policy never becomes a control token
shared/                        one judge for all ranks, and a cache of answers
"""

from spanreward.rewards.judges.by_name import closing, load_judge
from spanreward.rewards.judges.judge import Failure, Judge, Question, Rating
from spanreward.rewards.judges.match.match_judge import MatchJudge
from spanreward.rewards.judges.shared.cached_judge import CachedJudge

__all__ = ["CachedJudge", "Failure", "Judge", "MatchJudge", "Question", "Rating", "closing", "load_judge"]
