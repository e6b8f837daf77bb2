"""Judges by name: what is remembered, options for the class, and what is no judge."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import spanreward
from spanreward.rewards.files import cache_folder
from spanreward.rewards.judges import CachedJudge, MatchJudge, load_judge
from spanreward.rewards.judges.by_name import as_judge
from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from spanreward.rewards.judges.local.vllm_judge import VllmJudge
from spanreward.rewards.judges.match.match_judge import MATCH_VERSION
from spanreward.rewards.judges.remote.server_judge import ServerJudge
from spanreward.rewards.language.parse import reader_name
from tests.support.fakes import FakeJudge

SERVER = "server:http://127.0.0.1:8000#m"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("spanreward.rewards.judges.cache.cached_judge.CACHE_FOLDER", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("spec", "cache", "path"),
    [
        *(("match", False, None), ("match", None, None), ("match", True, "ratings.sqlite")),
        *(("match", "mine.sqlite", "mine.sqlite"), (SERVER, False, None)),
        *((SERVER, None, "ratings.sqlite"), ("vllm:smollm2", None, "ratings.sqlite")),
        ("transformers:smollm2", True, "ratings.sqlite"),
    ],
)
def test_what_is_remembered(spec: Any, cache: Any, path: Path, folder: Path) -> None:
    judge = load_judge(spec, cache=folder / cache if isinstance(cache, str) else cache)
    assert isinstance(judge, CachedJudge) == (path is not None)
    if isinstance(judge, CachedJudge):
        assert judge.store.path == folder / path


@pytest.mark.parametrize(
    ("spec", "kind", "options"),
    [
        ("vllm:smollm2", VllmJudge, {"memory": 2e9, "tensor_parallel": 2, "min_mass": 0.0}),
        (SERVER, ServerJudge, {"min_mass": 0.5, "deadline": 7.0}),
        ("transformers:smollm2", TransformersJudge, {"batch_size": 3}),
        ("match", MatchJudge, {"coref": "none"}),
    ],
)
def test_options_reach_the_class(spec: str, kind: type, options: dict[str, Any]) -> None:
    judge = load_judge(spec, **options)
    assert isinstance(judge, kind)
    assert {name: getattr(judge, name) for name in options} == options


@pytest.mark.parametrize(("spec", "option"), [(SERVER, "url"), ("transformers:m", "model")])
def test_what_the_name_gives_is_no_option(spec: str, option: str) -> None:
    kind = spec.partition(":")[0]
    with pytest.raises(ValueError, match=f"option of the judge {kind}.*'{option}'"):
        load_judge(spec, **{option: 1})


class Engine(FakeJudge):
    """Starts, ends, and gives up after a while."""

    deadline = 12.5
    start, close = Mock(), Mock()


def test_a_cached_judge_is_started_closed_and_limited_as_the_inner_one() -> None:
    for cached, deadline in ((CachedJudge(Engine()), 12.5), (CachedJudge(FakeJudge()), None)):
        cached.start()
        cached.close()
        assert cached.deadline == deadline
    assert (Engine.start.call_count, Engine.close.call_count) == (1, 1)


def test_match_is_named_by_what_it_parses_with() -> None:
    assert MatchJudge().name == f"match {MATCH_VERSION}, {reader_name()}" == MatchJudge().name
    assert MatchJudge(coref="none").name != MatchJudge().name


def test_the_cache_folder() -> None:
    assert cache_folder({"XDG_CACHE_HOME": "/scratch/cache"}) == Path("/scratch/cache/spanreward")
    for elsewhere in ({}, {"XDG_CACHE_HOME": ""}, {"XDG_CACHE_HOME": "relative"}):
        assert cache_folder(elsewhere) == Path.home() / ".cache" / "spanreward"


@pytest.mark.parametrize(
    "name", ["Criteria", "Differences", "Harmonic", "Lave", "Pairwise", "Posh"]
)
def test_a_metric_takes_the_name_of_a_judge_and_refuses_what_is_none(name: str) -> None:
    metric = getattr(spanreward, f"{name}Reward")
    reward = metric("match")
    assert isinstance(reward.judge, MatchJudge)
    assert reward.judges == (reward.judge,)
    for judge in (3, "matsch"):
        with pytest.raises(ValueError, match=r"judge .*'match'"):
            metric(judge)


@pytest.mark.parametrize("judge", [None, 3, MatchJudge, object(), lambda text: 5])
def test_what_is_no_judge(judge: Any) -> None:
    with pytest.raises(ValueError, match="a Judge or its name"):
        as_judge(judge)
