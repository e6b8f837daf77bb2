"""`spanreward` and `python -m experiments` in the tests' own process, which saves imports."""

import io
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import experiments.__main__ as evidence
from spanreward.training.commands import main as product


@dataclass(frozen=True)
class Done:
    """How a command ended: 0 when all is well, 1 with a sentence on standard error."""

    code: int
    out: str
    err: str


def spanreward(*words: str | Path) -> Done:
    return run(product.main, *words)


def experiments(*words: str | Path) -> Done:
    return run(evidence.main, *words)


def run(main: Callable[[], None], *words: str | Path) -> Done:
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with (
        patch.object(sys, "argv", ["spanreward", *map(str, words)]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code
            if isinstance(code, str):
                print(code, file=sys.stderr)
                code = 1
    return Done(int(str(code or 0)), out.getvalue(), err.getvalue())
