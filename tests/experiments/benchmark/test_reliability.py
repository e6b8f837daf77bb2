"""soak, kills and fuzz: what each says of a leak, a difference and a reward that breaks."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from experiments.benchmark.fuzz import LONG, PLAIN, fuzz
from experiments.benchmark.kills import launcher, marked
from experiments.benchmark.kills_compare import compare
from experiments.benchmark.soak import growth, kill, limits, read_work
from spanreward.rewards.base.verdict import Sample, Status, Verdict
from spanreward.rewards.harmonic.prompts import load_harmonic_prompts as harmonic_prompts
from spanreward.rewards.judges.cache.store import Store
from spanreward.rewards.lave.prompts import load_lave_prompts as lave_prompts
from spanreward.rewards.pairwise.ranking import read_ranking
from spanreward.rewards.posh.prompts import load_prompts as posh_prompts
from spanreward.rewards.reward.reward import Reward
from tests.support.experiment_numbers import numbers_of


def looks(**each: Any) -> list[dict[str, float]]:
    """Twenty looks, ten seconds apart; each: a number, or by how much it grows a look."""
    steady = {"memory": 1e8, "threads": 4.0, "files": 9.0, "processes": 1.0}
    found = []
    for at in range(20):
        look = {name: first + at * each.get(name, 0.0) for name, first in steady.items()}
        look |= {"seconds": 10.0 * at, "cpu": at * (5.0 + each.get("cpu", 0.0) * at)}
        found.append({**look, "lines": float(at)})
    return found


def held(samples: list[dict[str, float]]) -> dict[str, bool]:
    found = {**growth(samples, warm_up=0.2), "exit_code": 0, "left": 0}
    return limits(found, megabytes=100, slower=0.2)


@pytest.mark.parametrize(
    ("part", "rise", "broken"),
    [
        ("memory", 0.0, []),
        ("memory", 1e7, ["memory"]),
        ("threads", 1.0, ["threads"]),
        ("files", 0.2, ["files"]),
        ("processes", 1.0, ["processes"]),
        ("cpu", 0.5, ["time"]),
    ],
)
def test_what_grows_or_gets_slower_does_not_hold(part: str, rise: float, broken: list[str]) -> None:
    found = held(looks(**{part: rise}))
    assert [name for name, holds in found.items() if not holds] == broken


def test_steps_that_are_more_work_hold_by_their_work(tmp_path: Path) -> None:
    """Each step costs a second more and is a tenth of a unit more work: ten seconds a unit."""
    path = tmp_path / "metrics.jsonl"
    lines = [{"step": at, "tokens": 10.0 + 2.0 * at} for at in range(19)] + [{"train_runtime": 1.0}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    # 5 at + .5 at^2 seconds until look `at`: the step from there costs 5.5 + at
    samples = looks(cpu=0.5)
    found = growth(samples, 0.0, [0.55 + 0.1 * at for at in range(19)])
    assert found["cpu_seconds_a_unit_of_work"] == pytest.approx([10.0, 10.0])
    assert limits({**found, "exit_code": 0, "left": 0}, megabytes=100, slower=0.2)["time"]
    assert not held(samples)["time"]
    assert read_work(path, "tokens") == [*(10.0 + 2.0 * at for at in range(19)), 0.0]
    with pytest.raises(ValueError, match=r"no line of .* 'words' above 0"):
        read_work(path, "words")


def test_growth_is_the_slope_times_the_time() -> None:
    found = growth(looks(memory=2e6), warm_up=0.0)
    assert found["memory"]["grew"] == pytest.approx(2 * 19)
    assert found["cpu_seconds_a_line"] == pytest.approx([5.0, 5.0])
    with pytest.raises(ValueError, match=r"3 times after .* --every"):
        growth(looks()[:3], warm_up=0.0)


def run(folder: Path, name: str, score: float = 0.5, steps: tuple[int, ...] = (1, 2)) -> Path:
    output = folder / name
    output.mkdir()
    (output / "model.safetensors").write_bytes(b"weights")
    line = {"reward": score, "step_time": 3.0, "judge/questions": len(name)}
    for file, one in (("metrics", line), ("verdicts", {"id": "a"})):
        text = "".join(json.dumps({"step": step, **one}) + "\n" for step in steps)
        (output / f"{file}.jsonl").write_text(text)
    return output


def test_equal_runs_have_no_differences_and_others_have_them_named(tmp_path: Path) -> None:
    run(tmp_path, "whole")
    assert compare(tmp_path, "whole", "whole") == []
    run(tmp_path, "same")
    # times and what was asked again are not compared
    assert compare(tmp_path, "whole", "same") == []
    (run(tmp_path, "weights") / "model.safetensors").write_bytes(b"others")
    assert compare(tmp_path, "whole", "weights") == ["model.safetensors differs"]
    run(tmp_path, "scores", score=0.6)
    assert compare(tmp_path, "whole", "scores") == ["metrics.jsonl:1 differs in reward"]
    run(tmp_path, "twice", steps=(1, 2, 2))
    assert "metrics.jsonl has 1 lines of step 2, and 2" in compare(tmp_path, "whole", "twice")
    (run(tmp_path, "torn") / "verdicts.jsonl.tmp").touch()
    assert compare(tmp_path, "whole", "torn") == ["verdicts.jsonl.tmp is unfinished"]


@pytest.mark.parametrize("processes", [1, 2])
def test_so_many_ranks_are_launched(processes: int) -> None:
    """`accelerate launch --cpu --num_processes 2` starts one."""
    command, environment = launcher(processes, None)
    kept: dict[str, Any] = {"env": {**os.environ, **environment}, "capture_output": True}
    done = subprocess.run([*command, "-m", "this"], **kept, text=True, check=True)
    assert done.stdout.count("Beautiful is better than ugly.") == processes


def test_a_damaged_cache_is_told(tmp_path: Path) -> None:
    run(tmp_path, "whole")
    run(tmp_path, "killed")
    cache = tmp_path / "killed.judge.sqlite"
    Store(cache, 1 << 20).write({"a": b"one", "b": b"two"})
    assert compare(tmp_path, "whole", "killed") == []
    with sqlite3.connect(cache) as connection:
        connection.execute("UPDATE answers SET value = 'damaged' WHERE key = 'a'")
    connection.close()
    assert compare(tmp_path, "whole", "killed") == [
        "killed.judge.sqlite: ok, 2 answers, 1 of them damaged"
    ]


def test_a_fuzzed_reward(tmp_path: Path) -> None:
    words = "benchmark fuzz --cases 3 --metrics lave --lengths 20 400"
    found = numbers_of(tmp_path, *words.split())["metrics"]["lave"]
    assert found["problem"] == ""
    assert found["exponents"].keys() == LONG.keys()


class FailingReward(Reward):
    """Fails with its status, always or where the text is not fuzz's plain one."""

    columns = ()

    def __init__(self, status: Status, always: bool) -> None:
        super().__init__("failing")
        self.status, self.always = status, always

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        fails = [self.always or sample.completion != PLAIN for sample in samples]
        return [Verdict(None, status=self.status) if failed else Verdict(1.0) for failed in fails]


@pytest.mark.parametrize(
    ("status", "always", "counted"),
    [(Status.UNPARSED, False, "unparsed"), (Status.ERROR, True, "row")],
)
def test_what_is_no_fault_of_a_reward_is_counted(
    status: Status, always: bool, counted: str
) -> None:
    found = fuzz(FailingReward(status, always), cases=70, seed=0)
    assert found["problem"] == ""
    assert found["statuses"][counted] >= 65  # the others are the plain completion


@pytest.mark.parametrize("status", [Status.ERROR, Status.TIMEOUT])
def test_the_smallest_sample_that_breaks_a_reward_is_told(status: Status) -> None:
    found = fuzz(FailingReward(status, always=False), cases=5, seed=0)
    assert f"the verdict is {status}" in found["problem"]
    assert "completion=''" in found["problem"]


@pytest.mark.parametrize("load", [harmonic_prompts, lave_prompts, posh_prompts])
@pytest.mark.parametrize(
    "text", ["[", "7", "&x [*x]", "precision: 1\nrecall: [2]\n", "1: {question: x}\n"]
)
def test_prompt_files_that_are_none_are_a_sentence(load: Any, text: str, tmp_path: Path) -> None:
    path = tmp_path / "prompts.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"prompts\.yaml"):
        load(path)


def test_a_number_of_thousands_of_digits_ranks_nothing() -> None:
    assert read_ranking("1" * 5000, 2) is None


def test_what_a_run_started_is_found_when_its_parents_are_gone() -> None:
    """Ranks of torchrun are in sessions of their own."""
    mark = "SPANREWARD_KILLS=found"
    sleep = "['sleep', '60'], start_new_session=True, stdout=-3, stderr=-3"
    script = f"import subprocess; print(subprocess.Popen({sleep}).pid)"
    kept: dict[str, Any] = {"env": {**os.environ, "SPANREWARD_KILLS": "found"}}
    kept |= {"capture_output": True, "text": True, "check": True}
    done = subprocess.run([sys.executable, "-c", script], **kept)
    assert marked(mark) == [int(done.stdout)]
    assert marked(mark + "1") == []
    kill(int(done.stdout))
    while marked(mark):
        time.sleep(0.01)
