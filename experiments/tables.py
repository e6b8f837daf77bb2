"""Tables of figures for a terminal."""

from collections.abc import Iterable
from typing import Any

from rich.table import Table


def table_with(title: str, left: Iterable[str], right: Iterable[str] = (), **options: Any) -> Table:
    """Returns a table without rows. options: as rich's Table has them."""
    table = Table(title=title, **options)
    for name in left:
        table.add_column(name)
    for name in right:
        table.add_column(name, justify="right")
    return table
