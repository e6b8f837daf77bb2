"""Small folders of votes in the layouts that `python -m experiments agreement votes` reads."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def write_lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path.parent


def wildvision(question: str, score: float, model: str = "m", **more: Any) -> dict[str, Any]:
    """A vote on the anchor "a" shown first and `model`."""
    row = {
        "question_id": question, "model": model, "anchor": "a", "order": "anchor first",
        "score": score,
    }  # fmt: skip
    return {
        **row, "raw": score, "judge_failed": False, "length_model": 10, "length_anchor": 10,
        **more,
    }  # fmt: skip


def mllm(question: int, one: Any, two: Any, model: str = "m", **more: Any) -> dict[str, Any]:
    """Votes on the anchor "a" shown first (one) and `model` shown first (two)."""
    orders = {
        "vote_order1": {"answer1_is": "a", "vote": one},
        "vote_order2": {"answer1_is": model, "vote": two},
    }
    return {"id": question, "model": model, "answer": "two words", **orders, **more}


def iiw(example: str, answer: Any, question: str = "Hallucination", **more: Any) -> dict[str, Any]:
    sides = {"side_iiw": "IIW", "side_other": "DCI"}
    lengths = {"length_iiw": 12, "length_other": None}
    return {
        "set": "S", "example_id": example, **sides, "question": question, "answer": answer,
        **lengths, **more,
    }  # fmt: skip
