"""Two real ranks score given completions as one does, a group that straddles them and drawn prompts
included.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from trl import GRPOTrainer

from tests.support import given_ranks
from tests.support.paths import ROOT

TORCHRUN = str(Path(sys.executable).with_name("torchrun"))
HANGS = 400  # seconds: far more than the ranks take


def test_two_ranks_give_the_advantages_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [
        TORCHRUN,
        "--standalone",
        "--nproc_per_node",
        "2",
        str(given_ranks.__file__),
        str(tmp_path),
    ]
    environment = {
        **os.environ,
        "ACCELERATE_USE_CPU": "true",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ranks = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1)]
    monkeypatch.setattr(GRPOTrainer, "_generate_single_turn", given_ranks.given)
    for one, *two in zip(given_ranks.steps(tmp_path), *ranks, strict=True):
        assert [ids for rank in two for ids in rank["ids"]] == one["ids"]
        together = [row for rank in two for row in rank["advantages"]]
        for expected, actual in zip(one["advantages"], together, strict=True):
            assert actual == pytest.approx(expected, abs=1e-5)
        assert max(abs(value) for row in one["advantages"] for value in row) > 1
        for rank in two:
            assert (rank["items"], rank["drawn"]) == (one["items"], one["drawn"])
            assert rank["metrics"]["reward"] == pytest.approx(one["metrics"]["reward"])
            counts = {name for name in one["metrics"] if name.startswith("sampling/")}
            assert {name: rank["metrics"][name] for name in counts} == pytest.approx(
                {name: one["metrics"][name] for name in counts}
            )
    assert one["drawn"] > 3
    assert one["metrics"]["sampling/resampled_groups"] == 3
