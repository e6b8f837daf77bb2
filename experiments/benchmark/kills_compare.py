"""In what two runs of one recipe differ: weights, logged numbers, verdicts, pages, caches.

compare(Path("outputs/kills"), "whole", "killed0")        # [] where they are equal
"""

import hashlib
import json
import re
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from spanreward.rewards.judges.cache.store import Store

# How long something took, how much memory, and what was asked anew as nobody remembered it: a
# resumed process begins with empty memories (rewards/reward/answer_cache.py), so that it asks again
# some questions that the cache answers.
ELSEWHERE = re.compile(
    r"seconds|time|per_second|memory|judge/(questions|cached|retries|timeout|prompt_tokens)"
)


def compare(folder: Path, whole: str, other: str) -> list[str]:
    """A sentence for each difference between the outputs of these names in the folder, and for each
    broken cache.
    """
    first, second = folder / whole, folder / other
    found = []
    for path in sorted(first.rglob("*.safetensors")):
        if "checkpoint-" in str(path.relative_to(first)):
            continue
        twin = second / path.relative_to(first)
        if not twin.is_file() or hash_of(path) != hash_of(twin):
            found.append(f"{path.name} differs")
    found += different_lines(metrics(first), metrics(second), "metrics.jsonl")
    for path in sorted(first.glob("verdicts*.jsonl")):
        found += different_lines(lines_of(path), lines_of(second / path.name), path.name)
    pages = [sorted(page.name for page in each.glob("spans/*")) for each in (first, second)]
    if pages[0] != pages[1]:
        found.append(f"pages in spans/: {pages[0]} and {pages[1]}")
    found += [f"{path.name} is unfinished" for path in second.rglob("*.tmp")]
    for path in sorted(folder.glob(f"{other}.*.sqlite")):
        found += broken(path)
    return found


def hash_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def lines_of(path: Path) -> list[Any]:
    """The file's lines; the text of one that is no JSON; none where there is no file."""
    return (
        [read(line) for line in path.read_text("utf-8", errors="replace").splitlines()]
        if path.is_file()
        else []
    )


def read(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return line


def metrics(output: Path) -> list[Any]:
    """What was logged at each step, without ELSEWHERE; the summary at a run's end is of its last
    launch alone.
    """
    lines = lines_of(output / "metrics.jsonl")
    return [
        {name: value for name, value in line.items() if not ELSEWHERE.search(name)}
        if isinstance(line, dict)
        else line
        for line in lines
        if "train_runtime" not in line
    ]


def different_lines(first: list[Any], second: list[Any], name: str) -> list[str]:
    """At most one sentence, about the first line that differs; about steps that are there too often
    or not, before.
    """
    counts = [
        Counter(line["step"] for line in lines if isinstance(line, dict))
        for lines in (first, second)
    ]
    if counts[0] != counts[1]:
        step = min(
            counts[0].keys() | counts[1].keys(),
            key=lambda step: (counts[0][step] == counts[1][step], step),
        )
        return [f"{name} has {counts[0][step]} lines of step {step}, and {counts[1][step]}"]
    for number, (ours, theirs) in enumerate(zip(first, second, strict=False), 1):
        if ours != theirs:
            keys = (
                [key for key in ours if theirs.get(key) != ours[key]]
                if isinstance(theirs, dict)
                else ["no JSON"]
            )
            return [f"{name}:{number} differs in {', '.join(keys)}"]
    return (
        [] if len(first) == len(second) else [f"{name} has {len(first)} lines, and {len(second)}"]
    )


def broken(path: Path) -> list[str]:
    """What is wrong with a cache."""
    with closing(sqlite3.connect(path)) as connection:
        (state,) = connection.execute("PRAGMA integrity_check").fetchone()
        keys = [key for (key,) in connection.execute("SELECT key FROM answers")]
    store = Store(path, 1 << 40)
    kept = store.read(keys)
    if state != "ok" or store.damaged or len(kept) != len(keys) or not keys:
        return [f"{path.name}: {state}, {len(keys)} answers, {store.damaged} of them damaged"]
    return []
