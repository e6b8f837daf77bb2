"""What a command of `python -m experiments` prints, and what it writes as JSON."""

import json
from pathlib import Path
from typing import Any, NoReturn

from tests.support.command import experiments


def no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def measured(folder: Path, *words: str | Path) -> tuple[str, Any]:
    """Both, of a command that must end well."""
    path = folder / "numbers.json"
    done = experiments(*words, "--json", path)
    assert done.code == 0, done.err
    return done.out, json.loads(path.read_text(), parse_constant=no_number)


def numbers_of(folder: Path, *words: str | Path) -> Any:
    return measured(folder, *words)[1]
