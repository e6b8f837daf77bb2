"""Pairs for people: each is shown twice, mirrored, and nothing on it tells the sides apart. The key
is kept elsewhere.

    export(Path("outputs/comparison"), ("dapo", "sft"), count=50, output=Path("blind"), seed=0)

writes blind/ to hand out (labelling.xml and tasks.json for Label Studio, tasks.jsonl with pictures/
for anything else) and blind.key.json beside it, which says which side stood first and is needed to
read the answers. The first half of the tasks has every pair once, each side first in half of them.
The second half has their mirror images in another order, so a rater who takes one half sees no text
twice.
"""

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.blind.comparison import Answered, read_answered, read_rows
from experiments.blind.label_studio import interface, task
from experiments.blind.questions import QUESTIONS
from spanreward.rewards.rows.pictures import scaled_image

PIXELS = 1024 * 1024  # the largest picture that people are shown
NAME = 12  # characters of a task's random name


def export(
    folder: Path,
    sides: tuple[str, str],
    count: int,
    output: Path,
    seed: int = 0,
    texts_only: bool = False,
) -> dict[str, Any]:
    """Writes the tasks and their key, and returns the key. Raises ValueError for no pair, and for
    files that are there already, as people may be answering them.
    """
    if count < 1:
        raise ValueError(f"--count must be 1 or more, got {count}.")
    key_file = key_of(output)
    for path in (output, key_file):
        if path.exists():
            raise ValueError(
                f"{path} is there already, and people may be answering it: give another --output."
            )
    answered = read_answered(folder, sides)
    generator = random.Random(f"blind {seed}")
    chosen = draw(answered, count, generator)
    if not chosen:
        raise ValueError(
            f"{folder}: the two sides wrote the same for every prompt, and nothing is left to "
            "compare."
        )
    rows = {} if texts_only else read_rows(folder, answered)
    tasks = mirrored(chosen, generator)
    shown = [shown_in(pair, first, name, rows) for name, (pair, first) in tasks.items()]
    key = {
        "comparison": str(folder),
        "sides": list(sides),
        "seed": seed,
        "tasks": {
            name: {
                "id": pair.id,
                "seed": pair.seed,
                "first": sides[first],
                "texts": [fingerprint(pair.texts[first]), fingerprint(pair.texts[1 - first])],
            }
            for name, (pair, first) in tasks.items()
        },
    }
    write(output, shown)
    key_file.write_text(json.dumps(key, indent=2) + "\n", encoding="utf-8")
    return key


def key_of(output: Path) -> Path:
    return output.with_name(f"{output.name}.key.json")


def fingerprint(text: str) -> str:
    """Returns a mark by which a changed text is found."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def draw(answered: Sequence[Answered], count: int, generator: random.Random) -> list[Answered]:
    """Returns pairs of different prompts, one seed each, whose texts differ."""
    prompts: dict[str, list[Answered]] = {}
    for pair in answered:
        if pair.texts[0] != pair.texts[1]:
            prompts.setdefault(pair.id, []).append(pair)
    names = generator.sample(sorted(prompts), min(count, len(prompts)))
    return [generator.choice(prompts[name]) for name in names]


def mirrored(
    chosen: Sequence[Answered], generator: random.Random
) -> dict[str, tuple[Answered, int]]:
    """Returns the tasks by name: a pair and which of its texts, 0 or 1, stands first."""
    firsts = [number % 2 for number in range(len(chosen))]
    generator.shuffle(firsts)
    half = list(zip(chosen, firsts, strict=True))
    other = [(pair, 1 - first) for pair, first in half]
    generator.shuffle(other)
    return {f"{generator.getrandbits(4 * NAME):0{NAME}x}": one for one in (*half, *other)}


def shown_in(
    pair: Answered, first: int, name: str, rows: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Returns what a task shows. Raises ValueError for a row that is not among those compared."""
    shown: dict[str, Any] = {
        "pair": name,
        "text1": pair.texts[first],
        "text2": pair.texts[1 - first],
    }
    if rows:
        if pair.id not in rows:
            raise ValueError(
                f"the row {pair.id!r} of completions.jsonl is not in the data of results.json."
            )
        shown |= rows[pair.id]
    if "image" in shown:
        shown["image"] = scaled_image(shown["image"], PIXELS)
    return shown


def write(output: Path, shown: Sequence[dict[str, Any]]) -> None:
    """Writes the folder to hand out.

    Every task has the texts that the interface names, empty where it has none.
    """
    known = {name for one in shown for name in one} & {"image", "request", "reference"}
    output.mkdir(parents=True)
    (output / "labelling.xml").write_text(interface(known), encoding="utf-8")
    filled = [dict.fromkeys(known - {"image"}, "") | one for one in shown]
    (output / "tasks.json").write_text(
        json.dumps([task(one) for one in filled], indent=1) + "\n", encoding="utf-8"
    )
    with (output / "tasks.jsonl").open("w", encoding="utf-8") as file:
        for one in filled:
            if "image" in one:
                path = output / "pictures" / f"{one['pair']}.png"
                path.parent.mkdir(exist_ok=True)
                one["image"].convert("RGB").save(path)
                one["image"] = f"pictures/{path.name}"
            file.write(json.dumps({**one, "rater": "", **dict.fromkeys(QUESTIONS)}) + "\n")
