"""What a message to a user must be: it names the words, and is a sentence or two."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest


def told(
    call: Callable[[], Any],
    error: type[Exception] | tuple[type[Exception], ...],
    words: Sequence[str],
) -> None:
    """Checks that the call raises the error, and that its message holds the words."""
    with pytest.raises(error) as refusal:
        call()
    message = str(refusal.value)
    assert [word for word in words if word not in message] == [], message
    assert message.isprintable(), message  # so it is a single line
    assert len(re.findall(r"[.?!] (?=[A-Z])", message)) < 2, message
    assert len(re.findall(r"\.(?= [A-Z]|$)", message)) <= 2, message
    assert len(message) < 900
