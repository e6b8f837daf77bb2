"""Rank0Judge: two real ranks over gloo, in one torchrun; every scenario of two_ranks.py is a test here."""

import json
import pickle
import subprocess
import sys
from typing import Any

import pytest

from spanreward.rewards.judges import CachedJudge, MatchJudge, Question, Rating
from spanreward.rewards.judges.local.vllm_judge import VllmJudge
from spanreward.rewards.judges.shared.rank0_judge import Rank0Judge
from tests.support.fakes import FakeJudge, hashed_rating
from tests.support.paths import ROOT

HARD_TIMEOUT = 400  # seconds: far more than it takes, and a hang is an error


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    folder = tmp_path_factory.mktemp("ranks")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    done = subprocess.run(
        [*command, "-m", "tests.support.two_ranks_judge", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=HARD_TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, second = (json.loads((folder / f"rank{rank}.json").read_text()) for rank in range(2))
    return first, second


def means(*prompts: str) -> list[float]:
    return [hashed_rating(prompt).mean for prompt in prompts]


def test_ranks_make_different_numbers_of_calls(ranks: tuple[dict[str, Any], dict[str, Any]]) -> None:
    for rank, seen in enumerate(ranks):
        waves = range(1 + 3 * rank)
        assert seen["waves"]["answers"] == [means(f"{rank} {wave}", f"all {wave}") for wave in waves]
        assert seen["waves"]["questions"] == 2 * len(waves)
    asked = [["0 0", "all 0", "1 0", "all 0"], ["1 1", "all 1"], ["1 2", "all 2"], ["1 3", "all 3"]]
    assert ranks[0]["waves"]["rated"] == asked  # one call a round, for both
    assert ranks[0]["waves"]["woken"] == [1, 1]
    assert (ranks[1]["waves"]["rated"], ranks[1]["waves"]["woken"]) == ([], [0, 0])
    assert [seen["waves"]["tokens"] for seen in ranks] == [100, 0]


def test_a_rank_may_have_nothing_to_ask(ranks: tuple[dict[str, Any], dict[str, Any]]) -> None:
    assert ranks[0]["nothing_to_ask"] == [[means("0"), None, None], 2]
    assert ranks[1]["nothing_to_ask"] == [[None, means("1"), None], 0]


def test_a_call_outside_of_any_with(ranks: tuple[dict[str, Any], dict[str, Any]]) -> None:
    assert [seen["without_with"] for seen in ranks] == [[means("0"), 1], [means("1"), 0]]


def test_rating_and_writing_in_one_round(ranks: tuple[dict[str, Any], dict[str, Any]]) -> None:
    assert ranks[0]["mixed"][:2] == [means("one"), means("three")]
    assert ranks[1]["mixed"][:2] == [["the two"], means("three")]
    assert [seen["mixed"][2] for seen in ranks] == [3, 0]  # the two scales are two calls


def test_an_exception_on_rank_0_is_failures_for_all_who_asked(ranks: tuple[dict[str, Any], dict[str, Any]]) -> None:
    failure = ["error", "the judge on rank 0: ValueError: this question breaks the judge"]
    for seen in ranks:
        assert seen["broken_question"] == [[failure], means("fine")]
        assert seen["broken_judge"] == [["error", "the judge on rank 0: OSError: no such model"]]


def test_a_rank_that_raises_leaves_the_others_their_answers(ranks: tuple[dict[str, Any], dict[str, Any]]) -> None:
    assert ranks[0]["broken_metric"] == str(means("fine"))
    assert "cannot pickle" in ranks[1]["broken_metric"]


def test_two_judges_at_once(ranks: tuple[dict[str, Any], dict[str, Any]]) -> None:
    for rank, seen in enumerate(ranks):
        answers, *slept = seen["two_judges"]
        assert answers[: 1 + 2 * rank] == [means(f"{rank} {wave}") for wave in range(1 + 2 * rank)]
        assert len(answers) == 3 + rank
        assert answers[1 + 2 * rank :] != [means(f"{rank} {wave}") for wave in range(2 - rank)]  # not the first judge's
        assert slept == [1 - rank, 1 - rank]


def test_a_judge_that_rank_0_enters_later_is_waited_for(ranks: tuple[dict[str, Any], dict[str, Any]]) -> None:
    first, second = (seen["one_after_the_other"] for seen in ranks)
    assert first == second
    assert isinstance(first[0], float)


def test_threads_of_one_rank_take_turns(ranks: tuple[dict[str, Any], dict[str, Any]]) -> None:
    for rank, seen in enumerate(ranks):
        assert seen["threads"] == [[f"{rank} {number}", means(f"{rank} {number}")] for number in range(4)]


def test_pictures_arrive_whole(ranks: tuple[dict[str, Any], dict[str, Any]]) -> None:
    for seen in ranks:
        assert seen["pictures"][0] == seen["pictures"][1]
    assert ranks[0]["pictures"] != ranks[1]["pictures"]


def test_a_metric_is_the_same_as_with_a_judge_per_rank(ranks: tuple[dict[str, Any], dict[str, Any]]) -> None:
    assert [seen["posh"][0] for seen in ranks] == [5, 123]
    for seen in ranks:
        count, scores, same = seen["posh"]
        assert len(scores) == count
        assert same
    assert len(set(ranks[0]["posh"][1])) > 2


def test_a_metric_with_nothing_to_ask_on_one_rank(ranks: tuple[dict[str, Any], dict[str, Any]]) -> None:
    assert [seen["posh_with_nothing_to_ask"] for seen in ranks] == [[["ok"] * 3, True], [["empty"] * 2, False]]


def test_a_late_rank_is_failures_and_the_next_use_begins_anew(ranks: tuple[dict[str, Any], dict[str, Any]]) -> None:
    for seen in ranks:
        first, second, third, _ = seen["late"]
        for ((status, message),) in (first, second):
            assert status in ("timeout", "error")
            assert "lost the round" in message
            assert "the timeout is 2 s" in message
        assert third == means("third")
    assert ranks[0]["late"][0][0][0] == "timeout"
    assert ranks[0]["late"][3] == 2


def test_an_interrupted_rank_is_not_waited_for(ranks: tuple[dict[str, Any], dict[str, Any]]) -> None:
    assert ranks[1]["interrupted"] == ["interrupted"]
    ((status, message),) = ranks[0]["interrupted"]
    assert status == "error"
    assert "lost the round" in message


def test_nothing_is_left_running(ranks: tuple[dict[str, Any], dict[str, Any]]) -> None:
    for seen in ranks:
        assert seen["threads_left"] == []


def test_alone_it_is_the_inner_judge() -> None:
    inner = FakeJudge()
    judge = Rank0Judge(inner)
    questions = [Question([{"role": "user", "content": text}]) for text in ("one", "two")]
    with judge, judge:
        ratings = judge.rate(questions)
    assert all(isinstance(rating, Rating) for rating in ratings)
    assert [rating.mean for rating in ratings] == means("one", "two")
    assert (judge.name, judge.usage.questions, inner.rated) == ("fake", 2, [["one", "two"]])
    with pytest.raises(ValueError, match="not enough values"):  # what the inner judge raises is raised
        judge.rate([Question([])])


def test_several_ranks_without_a_group_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "8")
    with pytest.raises(RuntimeError, match="one judge for 8 ranks needs their process group"):
        Rank0Judge(FakeJudge()).rate([])


def test_other_ranks_start_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    judge = Rank0Judge(VllmJudge("/no/such/model"))
    judge.start()
    judge.close()
    monkeypatch.setenv("RANK", "0")
    with pytest.raises((FileNotFoundError, ModuleNotFoundError)):
        judge.start()


def test_a_cache_around_it_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a CachedJudge has the placement rank0: give it to the whole judge\."):
        CachedJudge(Rank0Judge(MatchJudge()))


def test_pickled_as_settings() -> None:
    copy = pickle.loads(pickle.dumps(Rank0Judge(MatchJudge(coref="none"), timeout=7.0)))
    assert (copy.judge.coref, copy.timeout) == ("none", 7.0)


def test_every_rank_frees_its_gpu_before_the_first_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine on several devices wakes on those of other ranks too."""
    freed: list[int] = []
    monkeypatch.setattr("spanreward.rewards.judges.shared.rank0_judge._alone", lambda: False)
    monkeypatch.setattr("spanreward.rewards.judges.shared.rank0_judge._Session", lambda timeout: freed.append(-1))
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.empty_cache", lambda: freed.append(1))
    with pytest.raises(AttributeError):  # of the session that is none
        Rank0Judge(MatchJudge()).__enter__()
    assert freed == [1, -1]
