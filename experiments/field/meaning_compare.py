"""The cases of meaning.jsonl that files of answers bring: an API's failures, prompts in their
template, one of several references.

for case, outcome in compare_cases(Path("../shared/field")):
    print(case, outcome)        # "an API's failure", "named, the verdict waits"
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FAILURE = "an API's failure"
ANSWERED = (
    "answers with the chat template in the prompt",
    "one of the row's references",
)
ROWS = 12


def compare_cases(folder: Path) -> Iterator[tuple[str, str]]:
    """Yields each case's name and what `spanreward compare` makes of it; nothing without the
    file.
    """
    file = folder / "meaning.jsonl"
    lines = file.read_text("utf-8").splitlines() if file.is_file() else []
    for case in map(json.loads, lines):
        if case["case"] == FAILURE:
            yield FAILURE, of_failure(case["completion"])
        elif case["case"] in ANSWERED:
            yield case["case"], of_answer(case["rows"][0])


def of_failure(text: str) -> str:
    """A third of a perfect model's answers is this text."""
    data = []
    right = []
    for number in range(ROWS):
        caption = f"A grey heron stands beside boat {number}."
        data.append({"id": str(number), "reference": caption})
        right.append({"id": str(number), "completion": caption})
    mixed = [line | {"completion": text} if n % 3 == 0 else line for n, line in enumerate(right)]
    done = compared(data, right, mixed)
    if isinstance(done, str):
        return done
    named = done.get("no_answers", {}).get("other", {}).get("found", [])
    verdicts = {one["verdict"] for one in done["difference"]["other_minus_one"].values()}
    waits = "the verdict waits" if verdicts == {"undecided"} else f"verdicts {verdicts}"
    return f"{'named' if named else 'not named'}, {waits}"


def of_answer(row: Mapping[str, Any]) -> str:
    """The line as a file of answers has it, beside data with the plain prompt or all references."""
    data = {"id": "1", "prompt": "Describe.", "reference": row["reference"]}
    data["reference"] = row.get("data", {}).get("references", row["reference"])
    line = {key: value for key, value in row.items() if key != "data"} | {"id": "1"}
    done = compared([data], [line], [line])
    return done if isinstance(done, str) else "taken"


def compared(
    data: list[dict[str, Any]], one: list[dict[str, Any]], other: list[dict[str, Any]]
) -> dict[str, Any] | str:
    """Returns results.json of two files of answers, or the last line of an error."""
    with tempfile.TemporaryDirectory() as name:
        paths = {}
        for side, lines in {"data": data, "one": one, "other": other}.items():
            paths[side] = Path(name, f"{side}.jsonl")
            paths[side].write_text("".join(json.dumps(line) + "\n" for line in lines))
        command = [sys.executable, "-m", "spanreward", "compare"]
        command += [f"one={paths['one']}", f"other={paths['other']}"]
        command += ["--data", str(paths["data"]), "--metric", "posh", "--output", f"{name}/out"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stderr.strip().splitlines()[-1].replace(name, "FOLDER")
        results: dict[str, Any] = json.loads(Path(name, "out", "results.json").read_text())
        return results
