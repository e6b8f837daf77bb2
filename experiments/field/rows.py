"""Rows, files and messages as data sets have them, through `spanreward score`: what comes out of
each reported case.

for case, outcome in row_cases(Path("../shared/field")):
    print(case, outcome)                # "list in a string, JSON", "1.00"

A case of `rows.jsonl` has `rows`, or `first` and `then`, which are scored one after the other into
one output.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spanreward.rewards import LaveReward, MatchJudge, PoshReward, Sample


def row_cases(folder: Path) -> Iterator[tuple[str, str]]:
    """Yields each case's name, and the score of each row or the command's last line where it ends
    with an error.
    """
    for case in map(json.loads, (folder / "rows.jsonl").read_text("utf-8").splitlines()):
        steps = (
            [case["rows"]]
            if "rows" in case
            else [case[name] for name in ("first", "then") if name in case]
        )
        if steps:
            yield case["case"], scored(steps)
    yield "one string where a list belongs, in Python", strings()


def scored(steps: list[list[dict[str, Any]]]) -> str:
    with tempfile.TemporaryDirectory() as name:
        rows, output = Path(name, "rows.jsonl"), Path(name, "verdicts.jsonl")
        for step in steps:
            rows.write_text("".join(json.dumps(row) + "\n" for row in step))
            metric = "lave" if "answers" in step[0] else "posh"
            words = [
                "score",
                metric,
                "--judge",
                "match",
                "--input",
                str(rows),
                "--output",
                str(output),
            ]
            command = [
                sys.executable,
                "-m",
                "spanreward",
                *words,
                *(["--set", "rationale=false"] if metric == "lave" else []),
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stderr.strip().splitlines()[-1].replace(name, "FOLDER")
        scores = [json.loads(line)["score"] for line in output.read_text().splitlines()]
    return ", ".join("no score" if score is None else f"{score:.2f}" for score in scores)


def strings() -> str:
    sample = Sample("", "A red circle.", references="A red circle.")  # type: ignore[arg-type]
    answered = Sample("", "red", question="Which colour?", answers="red")  # type: ignore[arg-type]
    posh, lave = PoshReward(MatchJudge()), LaveReward(MatchJudge(), rationale=False)
    try:
        found = [posh.assess([sample])[0].score, lave.assess([answered])[0].score]
        found += posh(["Describe."], ["A red circle."], reference="A red circle.")
    except (ValueError, TypeError) as error:
        return str(error)
    return ", ".join(str(score) if score is None else f"{score:.2f}" for score in found)
