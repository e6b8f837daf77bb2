"""One sentence for a name that does not exist, and the check of a metric's mode."""

import difflib
from collections.abc import Iterable


def unknown(kind: str, name: str, valid: Iterable[str], shown: str | None = None) -> str:
    """`unknown recipe key 'trainer.sed': did you mean 'seed'?`, or all valid names where none is near."""
    names = sorted(valid)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"valid are {', '.join(names)}."
    return f"unknown {kind} {shown or name!r}: {hint}"


def check_mode(mode: str) -> None:
    """Raises ValueError for a metric's mode that is not "default" (a reward) or "published" (the paper's metric)."""
    if mode not in ("default", "published"):
        raise ValueError(f'mode is "default" or "published", got {mode!r}')
