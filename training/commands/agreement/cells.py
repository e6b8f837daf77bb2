"""What the tables of several subcommands have in common: how a number, or none, is shown and written."""

from typing import Any


def cell(value: float | int | None) -> str:
    return "-" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def shown(value: float | None) -> str:
    """Three decimals; "-" for None and for nan, a statistic that its data leave undefined."""
    return "-" if value is None or value != value else f"{value:.3f}"


def defined(numbers: Any) -> Any:
    """The same with None for nan, wherever it stands: JSON has no nan."""
    if isinstance(numbers, dict):
        return {name: defined(value) for name, value in numbers.items()}
    if isinstance(numbers, (list, tuple)):
        return [defined(value) for value in numbers]
    return None if numbers != numbers else numbers
