from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from trl import GRPOTrainer

from tests.support.batches import SCENES
from tests.support.given_ranks import given
from tests.support.tiny_trainer import make_trainer


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Any]:
    """Makes trainers of these rewards, by default on 16 scenes, each in a folder of its own."""
    folders = count()

    def made(*rewards: Any, data: Any = None, **settings: Any) -> Any:
        data = SCENES() if data is None else data
        return make_trainer(tmp_path / f"out{next(folders)}", data, list(rewards), **settings)

    return made


@pytest.fixture
def given_completions(monkeypatch: pytest.MonkeyPatch) -> None:
    """TRL samples the completions of tests/support/given_ranks.py, ours under it."""
    monkeypatch.setattr(GRPOTrainer, "_generate_single_turn", given)
