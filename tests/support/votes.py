"""Small folders of votes in the layouts that `python -m experiments agreement votes` reads."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.files import write_lines


def write_votes(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Writes a file of a folder of votes, and returns the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_lines(path, rows).parent


def wildvision(question: str, score: float, model: str = "m", **more: Any) -> dict[str, Any]:
    """A vote on the anchor "a" shown first and `model`."""
    row = {"question_id": question, "model": model, "anchor": "a", "order": "anchor first"}
    row |= {"score": score, "raw": score, "judge_failed": False}  # type: ignore[dict-item]
    return {**row, "length_model": 10, "length_anchor": 10, **more}


def mllm(question: int, one: Any, two: Any, model: str = "m", **more: Any) -> dict[str, Any]:
    """Votes on the anchor "a" shown first (one) and `model` shown first (two)."""
    first, second = {"answer1_is": "a", "vote": one}, {"answer1_is": model, "vote": two}
    orders = {"vote_order1": first, "vote_order2": second}
    return {"id": question, "model": model, "answer": "two words", **orders, **more}


def iiw(example: str, answer: Any, question: str = "Hallucination", **more: Any) -> dict[str, Any]:
    row = {"set": "S", "example_id": example, "side_iiw": "IIW", "side_other": "DCI"}
    lengths = {"length_iiw": 12, "length_other": None}
    return {**row, "question": question, "answer": answer, **lengths, **more}
