"""Chance that is the same on every machine and in every run: it depends on a text alone."""

from hashlib import sha256


def chance(text: str) -> float:
    """Returns a number in [0, 1)."""
    return int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest()[:6]) / 2**48
