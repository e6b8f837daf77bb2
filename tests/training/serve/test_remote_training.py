"""A training with the reward behind HTTP ends with the weights of one without."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
import torch

from spanreward import MatchJudge, PoshReward, RemoteReward
from tests.support.served import served
from tests.support.tiny_trainer import make_trainer, scenes

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")


STOCK: dict[str, Any] = {"stock": True, "log_completions": True}
SPANS: dict[str, Any] = {"span_coef": 0.5, "max_steps": 1}


def digest(model: torch.nn.Module) -> str:
    """A hash of all weights."""
    state = {
        name: value.contiguous().numpy().tobytes() for name, value in model.state_dict().items()
    }
    return hashlib.sha256(
        b"".join(name.encode() + state[name] for name in sorted(state))
    ).hexdigest()


def trained(path: Path, reward: Any, **settings: Any) -> str:
    trainer = make_trainer(path, scenes(), [reward], **settings)
    before = digest(trainer.model)
    trainer.train()
    assert digest(trainer.model) != before
    return digest(trainer.model)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [STOCK, SPANS], ids=["stock TRL", "with spans"])
def test_the_weights_are_equal(tmp_path: Path, settings: dict[str, Any]) -> None:
    here = trained(tmp_path / "here", PoshReward(MatchJudge()), **settings)
    with served(PoshReward(MatchJudge())) as (url, service):
        assert trained(tmp_path / "there", RemoteReward(url, name="posh"), **settings) == here
    assert service.counts['spanreward_rows_total{status="ok"}'] > 0
