"""A comparison's folder as pairs: what two sides wrote for the same prompt and seed, with their
scores.

    answered = read_answered(Path("outputs/comparison"), ("dapo", "sft"))
    answered[0].texts, answered[0].scores          # the first side's first

`spanreward compare` writes completions.jsonl (model, run, seed, id, completion, scores) and
results.json (`data`: the rows that were shown) into that folder.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from spanreward.rewards.rows.fingerprint import sample_fingerprint
from spanreward.rewards.rows.sample import read_sample
from spanreward.rewards.rows.tables import read_table
from spanreward.training.evaluation.answers.prompts import Prompts, prompts_of, prompts_of_file
from spanreward.training.evaluation.answers.same_row import ROW_KEY
from spanreward.training.evaluation.page.results import SCHEMA_VERSION
from spanreward.training.recipe import DataPart


@dataclass(frozen=True, slots=True)
class Answered:
    """What both sides wrote for the row `id` with a training seed. scores: by metric, those of both
    sides, None where a judge failed. row: its fingerprint, "" where an earlier version wrote the
    file.
    """

    id: str
    seed: int
    texts: tuple[str, str]
    scores: dict[str, tuple[float | None, float | None]]
    row: str = ""


def read_answered(folder: Path, sides: tuple[str, str]) -> list[Answered]:
    """Returns the pairs in the file's order, of several runs of one seed the first one's. Raises
    FileNotFoundError without the file, and ValueError for lines of another form, a repeated answer,
    a side that is not there, and sides that answered different rows.
    """
    path = folder / "completions.jsonl"
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no {path}: give the output folder of `spanreward compare`."
        )
    kinds = {"model": str, "seed": int, "id": str, "completion": str, "scores": dict}
    found: dict[str, dict[tuple[str, int], dict[str, Any]]] = {}
    for where, record in read_table(path):
        if not all(isinstance(record.get(key), kind) for key, kind in kinds.items()):
            raise ValueError(
                f"{where} needs {', '.join(kinds)}, as `spanreward compare` writes them."
            )
        model, name, seed = record["model"], record["id"], record["seed"]
        kept = found.setdefault(model, {}).setdefault((name, seed), record)
        if kept is not record and kept.get("run") == record.get("run"):
            raise ValueError(
                f"{where} answers the row {name!r}, seed {seed}, of {model!r} a second time."
            )
    for side in sides:
        if side not in found:
            raise ValueError(f"{path} has no side {side!r}: it has {', '.join(map(repr, found))}.")
    one, other = (found[side] for side in sides)
    if sides[0] == sides[1] or one.keys() != other.keys():
        lacking = len(one.keys() ^ other.keys())
        raise ValueError(
            f"{path}: two different sides with the same rows are needed; {lacking} rows have one "
            "only."
        )
    answered = []
    for (name, seed), record in one.items():
        beside = other[name, seed]
        both = [metric for metric in record["scores"] if metric in beside["scores"]]
        scores = {
            metric: (number(record["scores"][metric]), number(beside["scores"][metric]))
            for metric in both
        }
        if (row := record.get(ROW_KEY, "")) != beside.get(ROW_KEY, ""):
            raise ValueError(f"{path}: the sides answered another row under the id {name!r}.")
        answered.append(
            Answered(name, seed, (record["completion"], beside["completion"]), scores, row)
        )
    return answered


def number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and value == value else None


def read_rows(folder: Path, answered: Sequence[Answered] = ()) -> dict[str, dict[str, Any]]:
    """Returns what is shown of the compared rows, by id: the `request`, and, where a row has them,
    one correct text as `reference` and the picture as `image`. Raises ValueError for data that
    cannot be loaded again, or that have changed since they were answered.
    """
    path = folder / "results.json"
    try:
        rows = compared_prompts(json.loads(path.read_text(encoding="utf-8"))).rows
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(
            f"{path} does not say which rows were shown, or they are gone ({reason}): with "
            "--texts-only people see the two texts alone."
        ) from None
    found, marks = {}, {pair.id: pair.row for pair in answered if pair.row}
    for row in rows:
        if (
            marks.get(row["id"], mark := sample_fingerprint(read_sample(row, "", row["prompt"])))
            != mark
        ):
            raise ValueError(
                f"{path}: the row {row['id']!r} has changed since it was answered: compare again."
            )
        right = row.get("reference") or row.get("answers") or [""]
        shown = {
            "request": row["prompt"][0]["content"],
            "reference": right[0],
            "image": row.get("image"),
        }
        found[row["id"]] = {name: value for name, value in shown.items() if value}
    return found


def compared_prompts(results: dict[str, Any]) -> Prompts:
    """Returns the prompts of a finished comparison, read again from the data that its results.json
    names.
    """
    if results["schema"] != SCHEMA_VERSION:
        raise ValueError(
            f"the schema is {results['schema']}, and this version reads {SCHEMA_VERSION}"
        )
    data = results["data"]
    if data["source"] == "rows":  # of `compare --data`
        return prompts_of_file(data["path"], data["count"], results["columns"])
    return prompts_of(TypeAdapter[Any](DataPart).validate_python(data), results["columns"])
