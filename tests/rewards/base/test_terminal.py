"""What others wrote is shown in a terminal, and nothing of it is obeyed."""

import io
import logging
from pathlib import Path

import pytest
from rich.table import Table

from spanreward.rewards.base.terminal import (
    PrintableFormatter,
    Terminal,
    exit_with_message,
    printable_text,
)
from tests.import_graph import files_of, imported
from tests.support.paths import ROOT

HOSTILE = [
    "\x1b[2J\x1b[31mred", "\x1b]0;title\x07", "\x9b31m", "one\rtwo", "\x08\x08gone", "\u202eturned",
    "\u2066turned\u2069", "\ud800", "\x00", "\x7f",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_a_terminal_obeys_no_text(text: str) -> None:
    written = io.StringIO()
    table = Table(text, title=text)
    table.add_row(text)
    for shown in (text, table):
        Terminal(file=written, markup=False, emoji=False).print(shown)
    assert all(line.isprintable() for line in written.getvalue().splitlines())
    assert printable_text(text).isprintable()
    assert "\\" in printable_text(text)


def test_text_of_any_language_and_styles_stay() -> None:
    text = "naïve café\t東京 \U0001f469\u200d\U0001f680 \u2014 \xa0x\n\u0645\u0631\u062d\u0628"
    assert printable_text(text) == text
    written = io.StringIO()
    Terminal(file=written, force_terminal=True, color_system="standard").print("a", style="red")
    assert written.getvalue() == "\x1b[31ma\x1b[0m\n"


def test_a_log_and_last_words_are_printable() -> None:
    record = logging.LogRecord("spanreward", logging.WARNING, "", 1, "%s", ("\x1b[2J",), None)
    assert PrintableFormatter().format(record) == "\\x1b[2J"
    with pytest.raises(SystemExit, match=r"^a row: \\x1b\[2J$"):
        exit_with_message("a row: \x1b[2J")


def test_there_is_one_door() -> None:
    """Only the door imports rich's console."""
    users = []
    for name, path in files_of(ROOT).items():
        for module, names in imported(Path(path)):
            if module == "rich.console" and "Console" in names:
                users.append(name)
    assert users == ["rewards.base.terminal"]
