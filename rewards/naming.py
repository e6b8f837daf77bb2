"""One sentence for a name that does not exist."""

import difflib
from collections.abc import Iterable


def unknown(kind: str, name: str, valid: Iterable[str], shown: str | None = None) -> str:
    """`unknown recipe key 'trainer.sed': did you mean 'seed'?`, or all valid names where none is near."""
    names = sorted(valid)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"valid are {', '.join(names)}."
    return f"unknown {kind} {shown or name!r}: {hint}"
