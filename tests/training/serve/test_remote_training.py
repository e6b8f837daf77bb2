"""A training with the reward behind HTTP ends with the weights of one without."""

from pathlib import Path
from typing import Any

import pytest
import torch

from spanreward import MatchJudge, PoshReward, RemoteReward
from tests.support.batches import weights_of
from tests.support.served import served
from tests.support.tiny_trainer import make_trainer, scenes

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")


STOCK: dict[str, Any] = {"stock": True, "log_completions": True}
SPANS: dict[str, Any] = {"span_coef": 0.5, "max_steps": 1}


def trained(path: Path, reward: Any, **settings: Any) -> torch.Tensor:
    trainer = make_trainer(path, scenes(), [reward], **settings)
    before = weights_of(trainer)
    trainer.train()
    assert not torch.equal(weights_of(trainer), before)
    return weights_of(trainer)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [STOCK, SPANS], ids=["stock TRL", "with spans"])
def test_the_weights_are_equal(tmp_path: Path, settings: dict[str, Any]) -> None:
    here = trained(tmp_path / "here", PoshReward(MatchJudge()), **settings)
    with served(PoshReward(MatchJudge())) as (url, service):
        there = trained(tmp_path / "there", RemoteReward(url, name="posh"), **settings)
    assert torch.equal(there, here)
    assert service.counts['spanreward_rows_total{status="ok"}'] > 0
