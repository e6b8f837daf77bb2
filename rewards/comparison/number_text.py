"""Writes numbers and intervals as text, for tables and pages. None and nan are written as "-".

number_text(0.0412)                         # "0.041"
interval_text(0.02, 0.06)                   # "[0.020, 0.060]"
estimate_text(0.04, 0.02, 0.06, sign="+")   # "+0.040 [0.020, 0.060]"
"""

import math

NO_FIGURE = "-"
MINUS_SIGN = "\N{MINUS SIGN}"


def typeset_number(text: str) -> str:
    """Returns a number's text for pages and sentences, with a true minus sign.

    An en dash replaces NO_FIGURE, the text of a missing value.
    """
    if text == NO_FIGURE:
        return "\N{EN DASH}"
    return text.replace("-", MINUS_SIGN)


def number_text(value: float | None, digits: int = 3, sign: str = "") -> str:
    """Returns the value with `digits` decimals, or NO_FIGURE for None and nan.

    sign: "+" writes a sign before positive values, too.
    """
    if value is None or math.isnan(value):
        return NO_FIGURE
    return f"{value:{sign}.{digits}f}"


def interval_text(low: float | None, high: float | None, digits: int = 3) -> str:
    """Returns both bounds in brackets, or NO_FIGURE if a bound is missing."""
    lower = number_text(low, digits)
    upper = number_text(high, digits)
    if NO_FIGURE in (lower, upper):
        return NO_FIGURE
    return f"[{lower}, {upper}]"


def estimate_text(
    value: float | None,
    low: float | None = None,
    high: float | None = None,
    digits: int = 3,
    sign: str = "",
) -> str:
    """Returns the value and its interval, or the value alone if a bound is missing: "0.040 [0.020,
    0.060]" or "0.040".
    """
    bounds = interval_text(low, high, digits)
    text = number_text(value, digits, sign)
    if NO_FIGURE in (bounds, text):
        return text
    return f"{text} {bounds}"


def metric_label(metric: str) -> str:
    """Returns a metric's name for people: `"posh_f1"` gives `"PoSh F1"`."""
    words = {"posh": "PoSh", "f1": "F1", "sft": "SFT", "vqa": "VQA"}
    parts = metric.replace("/", " ").replace("_", " ").split()
    return " ".join(words.get(part, part) for part in parts)
