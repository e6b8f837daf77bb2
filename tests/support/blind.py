"""A comparison's folder made by hand, and people who answer tasks as they were exported."""

import json
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from experiments.blind.questions import ANSWERS, QUESTIONS
from experiments.scenes.parts import SCENES
from spanreward.training.evaluation.page.results import SCHEMA_VERSION

LABELS = {level: label for label, level in ANSWERS.items()}
Scores = dict[str, float | None]
DATA = {"source": SCENES, "options": {"split": "test", "level": 1, "count": 8}}
IDS = [str(number) for number in range(1, 9)]  # the rows of DATA


def comparison(
    folder: Path,
    texts: Callable[[str, int], tuple[str, str]],
    scores: Callable[[str, int], tuple[Scores, Scores]] = lambda name, seed: ({}, {}),
    ids: Sequence[str] = IDS,
    seeds: Sequence[int] = (0,),
) -> Path:
    """Sides `dapo` and `sft`; texts and scores of a row and a seed, dapo's first."""
    folder.mkdir(parents=True, exist_ok=True)
    results = {"schema": SCHEMA_VERSION, "columns": [], "data": DATA}
    (folder / "results.json").write_text(json.dumps(results))
    rows = []
    for place, model in enumerate(("dapo", "sft")):
        for seed, name in product(seeds, ids):
            line: dict[str, Any] = {"model": model, "seed": seed, "id": name}
            line["completion"] = texts(name, seed)[place]
            rows.append({**line, "scores": scores(name, seed)[place]})
    lines(folder / "completions.jsonl", rows)
    return folder


def filled(
    output: Path, says: Callable[[str, str, str], int], rater: str = "ann"
) -> list[dict[str, Any]]:
    """Answered rows of tasks.jsonl: says(text1, text2, question) is above 0 for the first one."""
    found = []
    for line in (output / "tasks.jsonl").read_text().splitlines():
        row = json.loads(line) | {"rater": rater}
        for name in QUESTIONS:
            row[name] = LABELS[says(row["text1"], row["text2"], name)]
        found.append(row)
    return found


def label_studio(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same as Label Studio exports it: a task each, with an annotation."""
    return [exported(number, row) for number, row in enumerate(rows, start=1)]


def exported(number: int, row: dict[str, Any]) -> dict[str, Any]:
    result = []
    for name in QUESTIONS:
        if row[name]:
            choice = {"from_name": name, "to_name": "text1", "type": "choices"}
            result.append({**choice, "value": {"choices": [row[name]]}})
    annotation = {"completed_by": row["rater"], "was_cancelled": False, "result": result}
    data = {key: row[key] for key in ("pair", "text1", "text2")}
    return {"id": number, "data": data, "annotations": [annotation]}


def lines(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
