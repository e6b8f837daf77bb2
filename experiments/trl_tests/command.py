"""TRL's own tests of GRPOTrainer, with SpanGRPOTrainer in its place: what passes, and is anything
learnt differently?

    python -m experiments trl-tests ../trl/test_grpo_trainer.py

The file is TRL's tests/test_grpo_trainer.py, which this repository does not hold: take that of the
installed TRL from its repository. It runs with TRL's trainer, with ours, and with ours and our
settings, each in a process of its own, with one thread, without a network. Models and data that it
names on the hub are made here, small and random (stand_ins.py, data.py). What needs Liger, vLLM, a
GPU or bitsandbytes is left out where these are missing, and cases with pictures without
torchvision.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from experiments.trl_tests.data import save_data
from experiments.trl_tests.plugin import SIDES
from experiments.trl_tests.stand_ins import is_known, save_model
from experiments.trl_tests.words import shorten

HUB = "trl-internal-testing"
ROOT = Path(__file__).parents[2]
CALLS = {"train": "trainings", "evaluate": "evaluations"}


@dataclass(frozen=True, slots=True)
class Side:
    """What the plugin wrote of a run. cases: outcome and reason. calls: weights and logs, by case,
    call and number.
    """

    cases: Mapping[str, tuple[str, str]]
    calls: Mapping[tuple[str, str, int], tuple[str, str]]

    def with_outcome(self, outcome: str) -> list[str]:
        return [case for case, (one, _) in self.cases.items() if one == outcome]

    def calls_of(self, name: str) -> list[tuple[str, str, int]]:
        return [key for key in self.calls if key[1] == name]


def read_side(file: Path) -> Side:
    record = json.loads(file.read_text())
    calls = {
        (case, left["call"], number): (left["weights"], left["logs"])
        for case, several in record["calls"].items()
        for number, left in enumerate(several)
    }
    return Side(
        {case: (outcome, reason) for case, (outcome, reason) in record["cases"].items()}, calls
    )


def prepare(folder: Path, file: Path) -> None:
    """Lays out the test file, and each model and dataset that it names, where it looks for them."""
    (folder / "tests").mkdir()
    (folder / "tests/__init__.py").touch()
    (folder / "tests/test_trl.py").write_text(shorten(file.read_text("utf-8")), "utf-8")
    shutil.copy(Path(__file__).with_name("testing_utils.py"), folder / "tests")
    for name in sorted(set(re.findall(rf'"{HUB}/([\w.-]+)"', file.read_text("utf-8")))):
        if name.startswith("zen"):
            save_data(folder / HUB / name)
        elif is_known(name):
            save_model(folder / HUB / name)


def run(folder: Path, side: str, words: list[str]) -> Side:
    """Runs the tests with this side's trainer. words: further ones for pytest.

    Raises SystemExit where none ran.
    """
    record = folder / f"{side}.json"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-c",
        os.devnull,
        "--rootdir",
        str(folder),
        "-p",
    ]
    command += [
        "no:cacheprovider",
        "-p",
        "experiments.trl_tests.plugin",
        "--side",
        side,
        "--record",
        str(record),
    ]
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    settings = {
        "PYTHONPATH": path,
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(folder / "hf"),
        "OMP_NUM_THREADS": "1",
    }
    settings |= {"CUDA_VISIBLE_DEVICES": "", "TOKENIZERS_PARALLELISM": "false"}
    with (folder / f"{side}.txt").open("w") as said:
        environment = {**os.environ, **settings}
        subprocess.run(
            [*command, *words, "tests"],
            cwd=folder,
            env=environment,
            stdout=said,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if not record.is_file() or not (found := read_side(record)).cases:
        raise SystemExit(f"no case of {side} ran: " + (folder / f"{side}.txt").read_text()[-4000:])
    return found


def differing(theirs: Side, ours: Side) -> Iterator[str]:
    """Says of each call that left other weights or logs what differs first."""
    for key in dict.fromkeys([*theirs.calls, *ours.calls]):
        case, name, number = key
        if key not in theirs.calls or key not in ours.calls:
            yield f"{case}: call {number}, {name}, was made by one alone"
        elif theirs.calls[key] != ours.calls[key]:
            (weights, logs), (others, other_logs) = theirs.calls[key], ours.calls[key]
            pairs = zip(logs.split("}"), other_logs.split("}"), strict=False)
            first = next((f": {one} and {other}" for one, other in pairs if one != other), "")
            yield (
                f"{case}: call {number}, {name}: "
                f"{'other weights' if weights != others else 'other logs'}{first}"
            )


def table(sides: Mapping[str, Side]) -> Iterator[str]:
    """sides: TRL's own first."""
    first, *others = sides.values()
    yield "| | " + " | ".join(sides) + " |"
    yield "|---|" + "---|" * len(sides)
    for outcome, said in {"passed": "passed", "failed": "failed", "skipped": "left out"}.items():
        yield (
            f"| {said} | "
            + " | ".join(str(len(side.with_outcome(outcome))) for side in sides.values())
            + " |"
        )
    for name, said in CALLS.items():
        cells = [str(len(first.calls_of(name)))]
        for side in others:
            made = side.calls_of(name)
            cells.append(
                f"{sum(first.calls.get(key) == side.calls[key] for key in made)} of {len(made)}"
            )
        yield (
            f"| {said}; with the weights and logs of {next(iter(sides))} | "
            + " | ".join(cells)
            + " |"
        )


def report(sides: Mapping[str, Side]) -> Iterator[str]:
    yield from table(sides)
    first = next(iter(sides.values()))
    yield "\nLeft out:"
    for reason, count in Counter(
        first.cases[case][1] for case in first.with_outcome("skipped")
    ).most_common():
        yield f"- {count}: {reason}"
    yield "\nFailed:"
    for case in dict.fromkeys(
        case for side in sides.values() for case in side.with_outcome("failed")
    ):
        by = {
            name: side.cases[case][1]
            for name, side in sides.items()
            if side.cases[case][0] == "failed"
        }
        yield f"- {case}: " + "; ".join(f"{name}: {reason}" for name, reason in by.items())
    yield "\nDifferent:"
    for name, side in list(sides.items())[1:]:
        yield from (f"- {name}: {line}" for line in differing(first, side))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="TRL's tests/test_grpo_trainer.py")
    parser.add_argument(
        "--steps", type=int, help="end a training after so many steps where the test sets no number"
    )
    parser.add_argument("-k", metavar="EXPRESSION", help="only the cases that pytest's -k chooses")
    arguments = parser.parse_args()
    if not arguments.file.is_file():
        parser.error(
            f"there is no file {arguments.file}: take tests/test_grpo_trainer.py from TRL's "
            "repository."
        )
    with TemporaryDirectory() as name:
        folder = Path(name).resolve()
        prepare(folder, arguments.file)
        words = ["-k", arguments.k] if arguments.k else []
        words += ["--steps", str(arguments.steps)] if arguments.steps else []
        print("\n".join(report({side: run(folder, side, words) for side in SIDES})))


if __name__ == "__main__":
    main()
