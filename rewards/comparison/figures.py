"""Writes numbers and intervals as text, for tables and pages. None and nan are written as "-".

number(0.0412)                              # "0.041"
interval(0.02, 0.06)                        # "[0.020, 0.060]"
estimate(0.04, 0.02, 0.06, sign="+")        # "+0.040 [0.020, 0.060]"
"""

import math

NONE = "-"
MINUS = "\N{MINUS SIGN}"


def typeset(text: str) -> str:
    """Returns a number's text for pages and sentences, with a true minus sign.

    An en dash replaces NONE, the text of a missing value.
    """
    if text == NONE:
        return "\N{EN DASH}"
    return text.replace("-", MINUS)


def number(value: float | None, digits: int = 3, sign: str = "") -> str:
    """Returns the value with `digits` decimals, or NONE for None and nan.

    sign: "+" writes a sign before positive values, too.
    """
    if value is None or math.isnan(value):
        return NONE
    return f"{value:{sign}.{digits}f}"


def interval(low: float | None, high: float | None, digits: int = 3) -> str:
    """Returns both bounds in brackets, or NONE if a bound is missing."""
    lower = number(low, digits)
    upper = number(high, digits)
    if NONE in (lower, upper):
        return NONE
    return f"[{lower}, {upper}]"


def estimate(
    value: float | None,
    low: float | None = None,
    high: float | None = None,
    digits: int = 3,
    sign: str = "",
) -> str:
    """Returns the value and its interval, or the value alone if a bound is missing."""
    bounds = interval(low, high, digits)
    text = number(value, digits, sign)
    if NONE in (bounds, text):
        return text
    return f"{text} {bounds}"


def label(metric: str) -> str:
    """Returns a metric's name for people: `"posh_f1"` gives `"PoSh F1"`."""
    words = {"posh": "PoSh", "f1": "F1", "sft": "SFT", "vqa": "VQA"}
    parts = metric.replace("/", " ").replace("_", " ").split()
    return " ".join(words.get(part, part) for part in parts)
