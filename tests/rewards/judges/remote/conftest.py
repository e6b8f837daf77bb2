"""What the tests of judges behind HTTP share."""

import pytest

from tests.support.tokenizer import tokenizer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with the small tokenizer."""
    folder = tmp_path_factory.mktemp("tokenizer")
    tokenizer().save_pretrained(folder)
    return str(folder)
