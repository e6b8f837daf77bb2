"""Lets the openai client wait next to nothing before it asks again."""

import openai
import pytest


def shorten_pauses(monkeypatch: pytest.MonkeyPatch, seconds: float = 0.03) -> None:
    """Its pauses have no public setting. Retry-After counts as ever."""
    monkeypatch.setattr(openai._base_client, "INITIAL_RETRY_DELAY", seconds)
    monkeypatch.setattr(openai._base_client, "MAX_RETRY_DELAY", seconds)
