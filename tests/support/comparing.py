"""`spanreward compare` in the tests' own process, and what it wrote."""

import json
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

from spanreward.training.commands.compare import main


def compare(*words: Any) -> Any:
    """The script's exit: None when all is well, else its code or its sentence."""
    with patch.object(sys, "argv", ["compare.py", *map(str, words)]):
        try:
            main()
        except SystemExit as error:
            return error.code
    return None


def results_of(folder: Path | str) -> Any:
    return json.loads((Path(folder) / "results.json").read_text())


def page_of(folder: Path | str) -> str:
    return (Path(folder) / "report.html").read_text()
