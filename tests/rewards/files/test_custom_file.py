"""A metric and a judge of one's own, named by their file in a recipe or on a command line."""

import json
import pickle
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from spanreward.rewards import MatchJudge, build_reward, load_judge

REWARDS = """
from dataclasses import dataclass
from spanreward.rewards import Reward, Verdict

@dataclass
class Count:
    words: int

class WordReward(Reward):
    def __init__(self, most: int = 10, name: str = "words") -> None:
        super().__init__(name)
        self.most = most

    def assess(self, samples):
        counts = [Count(len(sample.completion.split())) for sample in samples]
        return [Verdict(min(count.words / self.most, 1.0)) for count in counts]

class LongReward(Reward):
    def __init__(self, judge, name):
        super().__init__(name)
        self.judge, self.judges = judge, (judge,)
"""
JUDGES = """
from spanreward.rewards.judges import Judge, Rating

class SureJudge(Judge):
    name = "sure"

    def __init__(self, level: int = 5, *, model: str = "none") -> None:
        self.level = level

    def rate(self, questions, scale=("1", "2", "3", "4", "5")):
        return [Rating({entry: float(entry == str(self.level)) for entry in scale}) for _ in questions]

    def write(self, questions, max_tokens):
        return ["x" for _ in questions]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_rewards.py").write_text(REWARDS)
    (tmp_path / "my_judges.py").write_text(JUDGES)
    return tmp_path


def test_a_metric_and_a_judge_take_their_options() -> None:
    reward = build_reward("my_rewards.py:WordReward", MatchJudge(), {"most": 4})
    assert reward([""], ["one two"]) == [0.5]
    assert (reward.__name__, reward.judges) == ("words", ())
    judge = MatchJudge()
    asking = build_reward("my_rewards.py:LongReward", judge, {})
    assert (asking.__name__, asking.judges) == ("long", (judge,))
    assert type(asking).__module__ == type(reward).__module__
    sure = load_judge("my_judges.py:SureJudge", level=2, model="mine")
    rated = build_reward("posh", sure, {})([""], ["A star."], reference=["A star."])
    assert rated == pytest.approx([0.4])


def test_a_file_hides_no_module_of_its_name(folder: Path) -> None:
    (folder / "json.py").write_text(REWARDS)
    (folder / "below").mkdir()
    (folder / "below" / "json.py").write_text(REWARDS.replace("int = 10", "int = 2"))
    for path, score in (("json.py", 0.2), ("below/json.py", 1.0), (f"{folder}/json.py", 0.2)):
        assert build_reward(f"{path}:WordReward", MatchJudge(), {})([""], ["one two"]) == [score]
    assert sys.modules["json"] is json
    assert json.loads("[1]") == [1]


@pytest.mark.parametrize(("make", "told"), [
    (lambda: build_reward("my_rewards.py:WordReward", MatchJudge(), {"mots": 4}), "'most'"),
    (lambda: build_reward("my_rewards.py:Count", MatchJudge(), {}), "no class Count"),
    (lambda: load_judge("my_judges.py:SureJudge", levle=4), "'level'"),
])  # fmt: skip
def test_what_does_not_exist(make: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        make()


def test_it_is_pickled_and_reaches_a_spawned_process(folder: Path) -> None:
    (folder / "json.py").write_text(REWARDS)
    reward = build_reward("json.py:WordReward", MatchJudge(), {"most": 4})
    assert type(pickle.loads(pickle.dumps(reward))) is type(reward)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(reward, [""], ["one two"]).result() == [0.5]
