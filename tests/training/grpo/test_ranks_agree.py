"""Two real ranks score as one, with a group that straddles them and with drawn prompts."""

import json
from pathlib import Path

import pytest
from trl import GRPOTrainer

from tests.support import given_ranks
from tests.support.on_two_ranks import on_two_ranks


def test_two_ranks_agree_with_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = on_two_ranks(str(given_ranks.__file__), str(tmp_path))
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
