"""Situations of training that people reported, re-enacted with tiny random policies on a CPU:
before and now.

    python -m experiments trainings ../shared/field
    # a Markdown table, one line a case; four minutes

`trainings.md` has a row for each situation, with what happened before in its column `today`. A case
in first_set.py, steps.py or learning.py names its row, and says what it observes.
"""

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from datasets import Dataset

from experiments.field.texts import FOLDER
from experiments.scenes.parts import TINY
from experiments.trainings import first_set, learning, steps
from experiments.trainings.enacting import Case, watched
from spanreward import LaveReward, PoshReward
from spanreward.training.grpo.preflight import check_rows
from spanreward.training.policy import load_policy

HEADS = ("| situation |", "|---")  # of each table
CASES = sorted((*first_set.CASES, *steps.CASES, *learning.CASES), key=attrgetter("row"))


def before(folder: Path) -> list[tuple[str, str]]:
    """Returns the situations of trainings.md and what happened in each; [] where the file is not
    there.
    """
    file = folder / "trainings.md"
    if not file.is_file():
        return []
    situations = []
    for line in file.read_text().splitlines():
        if not line.startswith("|") or line.startswith(HEADS):
            continue
        cells = line.replace(r"\|", "\0").strip("|").split("|")
        situations.append((cells[0].replace("\0", "|").strip(), cells[1].strip()))
    return situations


def enacted(cases: Sequence[Case]) -> Iterator[tuple[Case, str]]:
    for case in cases:
        with TemporaryDirectory() as folder:
            torch.manual_seed(0)
            now = watched(case.enact, case.policy, Path(folder))
            yield case, " ".join(now.split())


def preflight(count: int) -> Iterator[str]:
    """Says what the preflight of so many rows costs.

    Their pictures are not there, and nothing opens them.
    """
    columns = {
        "reference": "A red circle on grass.",
        "question": "What is it?",
        "image": "nowhere.png",
    }
    prompts = {
        "prompt": [[{"role": "user", "content": "What is it?"}]] * count,
        "answers": [["circle"] * 10] * count,
    }
    data = Dataset.from_dict(prompts | {name: [value] * count for name, value in columns.items()})
    rewards = [PoshReward("match"), LaveReward("match")]
    _, processor = load_policy(TINY)
    for chosen in (rewards[:1], rewards):
        began, used = time.perf_counter(), time.process_time()
        check_rows(chosen, processor, "train_dataset", data)
        seconds = (
            f"{time.process_time() - used:.2f} s of CPU, {time.perf_counter() - began:.2f} "
            "s on the clock"
        )
        yield f"{count:,} rows, {len(chosen)} rewards: {seconds}, load {os.getloadavg()[0]:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder", type=Path, nargs="?", default=FOLDER, help="the folder with trainings.md"
    )
    parser.add_argument(
        "--rows", type=int, help="instead: what the preflight of so many rows costs"
    )
    arguments = parser.parse_args()
    if arguments.rows:
        print("\n".join(preflight(arguments.rows)))
        return
    known = before(arguments.folder)
    print("| situation | policy | before | now |\n|---|---|---|---|")
    for (row, now), alike in groupby(enacted(CASES), key=lambda one: (one[0].row, one[1])):
        cases = [case for case, _ in alike]
        situation, was = known[row] if known else (cases[0].enact.__name__, "")
        cells = (situation, ", ".join(case.policy for case in cases), was, now)
        print("".join(f"| {cell.replace('|', chr(92) + '|')} " for cell in cells) + "|", flush=True)


if __name__ == "__main__":
    main()
