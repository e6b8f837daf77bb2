"""What the tests of the trainer share."""

import pytest

from spanreward.training.grpo import recorder


@pytest.fixture(autouse=True)
def no_contrast(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a reward sees each completion once, on its own row."""
    monkeypatch.setattr(recorder, "sampled", lambda samples: [])
