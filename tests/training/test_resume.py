"""Two real ranks, of which one gets SIGTERM: both save the same step, and go on from there."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.dapo_run import RECIPE, SHRUNK
from tests.support.files import read_lines
from tests.support.on_two_ranks import on_two_ranks
from tests.support.paths import SUPPORT

SCRIPT = SUPPORT / "stopped.py"
OVERRIDES = (*SHRUNK, "data.count=16", "trainer.max_steps=4")


def train(folder: Path, *arguments: str) -> tuple[list[object], str]:
    """How the ranks ended, and what they said."""
    folder.mkdir()
    done = on_two_ranks(str(SCRIPT), str(folder), *arguments)
    ends = [folder / f"{rank}.json" for rank in (0, 1)]
    assert all(end.exists() for end in ends), done.stderr
    assert sorted(path.name for path in folder.glob("*.closed")) == ["0.closed", "1.closed"]
    return [json.loads(end.read_text()) for end in ends], done.stderr


def steps(path: Path) -> list[int]:
    return [line["step"] for line in read_lines(path)]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("stopped")
    ended = train(folder / "first", RECIPE, f"output={folder / 'out'}", *OVERRIDES)
    return folder / "out", *ended


def test_sigterm_on_one_rank_ends_both_with_a_checkpoint(stopped: Any) -> None:
    output, codes, said = stopped
    assert codes == [143, 143], said
    assert 'Traceback (most recent call last):\n  File "' + str(SCRIPT) not in said
    assert f"train.py: ended by SIGTERM: {output}/checkpoint-1 is written." in said
    assert said.count("another one, 5 s later") == 1
    present = {path.name for path in (output / "checkpoint-1").iterdir()}
    assert present >= {"trainer_state.json", "optimizer.pt", "model.safetensors"}
    assert present >= {"rng_state_0.pth", "rng_state_1.pth"}
    assert not (output / "model.safetensors").exists()


def test_it_goes_on_from_there(stopped: Any, tmp_path: Path) -> None:
    output, _, _ = stopped
    with (output / "metrics.jsonl").open("a") as file:  # as if it had gone on and been killed
        file.write('{"step": 2, "reward": 0.5}\n{"step": 3, "rew')
    assert steps(output / "verdicts.rank1.jsonl") == [1] * 4
    codes, said = train(tmp_path / "second", str(output / "recipe.yaml"), "--resume")
    assert codes == [0, 0], said
    lines = read_lines(output / "metrics.jsonl")
    assert [line["step"] for line in lines] == [1, 2, 3, 4, 4]
    assert ["train_runtime" in line for line in lines] == [False] * 4 + [True]
    for name in ("verdicts.jsonl", "verdicts.rank1.jsonl"):
        assert steps(output / name) == [step for step in (1, 2, 3, 4) for _ in range(4)]
    versions = json.loads((output / "versions.json").read_text())
    assert versions["resumed"][0]["checkpoint"] == "checkpoint-1"
    assert (output / "model.safetensors").exists()
