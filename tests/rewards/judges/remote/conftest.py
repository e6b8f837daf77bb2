"""What the tests of judges behind HTTP share."""

from collections.abc import Iterator

import pytest

from spanreward.rewards.files import http_client
from tests.support.server import Server
from tests.support.short_pauses import shorten_pauses
from tests.support.tokenizer import tokenizer


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, and next to no waiting."""
    shorten_pauses(monkeypatch)
    monkeypatch.delenv(http_client.KEY_VARIABLE, raising=False)


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with the small tokenizer."""
    folder = tmp_path_factory.mktemp("tokenizer")
    tokenizer().save_pretrained(folder)
    return str(folder)
