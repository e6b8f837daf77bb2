"""A comparison's folder as pairs: what two sides wrote for the same prompt and seed, with their scores.

    answered = read_answered(Path("outputs/comparison"), ("dapo", "sft"))
    answered[0].texts, answered[0].scores          # the first side's first

`spanreward compare` writes completions.jsonl (model, seed, id, completion, scores) and results.json (`data`: which rows
were shown) into that folder.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from training.data.jsonl import read_records
from training.data.load import load_data
from training.evaluation.prompts import prompts_of_file
from training.recipe import DataPart, RecipeError

PIXELS = 1024 * 1024  # of a picture that people are shown, at most


@dataclass(frozen=True, slots=True)
class Answered:
    """What both sides wrote for the row `id` with a training seed. scores: by metric, each side's, None where a judge
    failed.
    """

    id: str
    seed: int
    texts: tuple[str, str]
    scores: dict[str, tuple[float | None, float | None]]


@dataclass(frozen=True, slots=True)
class Row:
    """What was asked for, one text that is right ("" for none), and the picture, None for none."""

    request: str
    reference: str
    picture: Any


def read_answered(folder: Path, sides: tuple[str, str]) -> list[Answered]:
    """In the file's order. Raises FileNotFoundError without the file, and ValueError for lines of another form, an
    answer that is there twice, a side that is not there, and one that lacks what the other answered.
    """
    path = folder / "completions.jsonl"
    if not path.is_file():
        raise FileNotFoundError(f"there is no {path}: give the output folder of `spanreward compare`.")
    found: dict[str, dict[tuple[str, int], dict[str, Any]]] = {}
    for where, record in read_records(path):
        kinds = {"model": str, "seed": int, "id": str, "completion": str, "scores": dict}
        if not all(isinstance(record.get(key), kind) for key, kind in kinds.items()):
            raise ValueError(f"{where} needs {', '.join(kinds)}, as `spanreward compare` writes them.")
        answers = found.setdefault(record["model"], {})
        key = (record["id"], record["seed"])
        if key in answers:
            raise ValueError(
                f"{where} answers the row {key[0]!r}, seed {key[1]}, of {record['model']!r} a second time."
            )
        answers[key] = record
    for side in sides:
        if side not in found:
            raise ValueError(f"{path} has no side {side!r}: it has {', '.join(map(repr, found))}.")
    one, other = (found[side] for side in sides)
    if sides[0] == sides[1] or one.keys() != other.keys():
        lacking = len(one.keys() ^ other.keys())
        raise ValueError(f"{path}: two different sides with the same rows are needed; {lacking} rows have one only.")
    return [
        Answered(
            name,
            seed,
            (record["completion"], other[name, seed]["completion"]),
            {
                metric: (number(score), number(other[name, seed]["scores"][metric]))
                for metric, score in record["scores"].items()
                if metric in other[name, seed]["scores"]
            },
        )
        for (name, seed), record in one.items()
    ]


def number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and value == value else None


def read_rows(folder: Path) -> dict[str, Row]:
    """The rows that were compared on, by id. Raises ValueError for data that cannot be loaded again."""
    path = folder / "results.json"
    try:
        source = json.loads(path.read_text(encoding="utf-8"))["data"]
        if source["source"] == "rows":  # of `compare --data`
            rows: Any = prompts_of_file(source["path"], source["count"]).rows
        else:
            rows = load_data(TypeAdapter(DataPart).validate_python(source))
    except (OSError, ValueError, KeyError, TypeError, ValidationError, RecipeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(
            f"{path} does not say which rows were shown, or they are gone ({reason}): with --texts-only people see the "
            "two texts alone."
        ) from None
    found = {}
    for row in rows:
        right = row.get("reference") or row.get("answers") or []
        prompt = row["prompt"]
        request = prompt if isinstance(prompt, str) else "\n".join(str(message["content"]) for message in prompt)
        found[str(row["id"])] = Row(request, right if isinstance(right, str) else next(iter(right), ""), row["image"])
    return found
