"""When does it pay to show the judge the picture? DAPO on Scenes, where the truth is known
(docs/evidence/pictures.md).

    python -m experiments picture-map run --base 'outputs/repeat/base/seed{seed}' --seeds 0-2
    python -m experiments picture-map run --base ... --judge outputs/seeing-judge --omissions 0.5
    python -m experiments picture-map table --json docs/evidence/pictures.json --plot docs/evidence/pictures.svg
    python -m experiments picture-map people                 # what people leave out, and get wrong
    python -m experiments picture-map errors outputs/seeing-judge
    python -m experiments picture-map revise outputs/quickstart/seed0/sft --json docs/evidence/revise.json

Cells are all combinations of: references that leave out 0, 25 or 50 % of the things on a picture; a
judge that errs about 0, 10, 20 or 30 % of a picture's components; PoSh's `evidence`; the scalar
alone, or with spans. Each run has 20 rollouts of 128 completions. Every second seed starts from
weights that are perturbed by 1e-6, which stands for another machine.

A run writes one JSON file into --output when it ends, and is not made again when its file is there,
or when it stands in --earlier. So the command can be stopped and started, and `table` adds new runs
to those of another day. Seeds go one after another over all cells.
"""

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from experiments.commands.repeat import seeds
from experiments.picture_map.cell import EVIDENCES, OMISSIONS, Cell, all_cells
from spanreward.rewards.files.outputs import write_whole


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--output", type=Path, default=Path("outputs/picture-map"), help="where the runs' files are"
    )
    parser.add_argument(
        "--earlier",
        type=Path,
        default=Path("docs/evidence/pictures.json"),
        help="runs that `table --json` wrote (default: those of docs/evidence)",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="train what has no file yet")
    run.add_argument("--base", required=True, help="the base's folder, with {seed} in it")
    run.add_argument("--seeds", type=seeds, default=[0, 1, 2], metavar="A-B", help="default: 0-2")
    run.add_argument(
        "--judge", help="folder of one that was trained to see, in place of the oracle that errs"
    )
    run.add_argument("--omissions", nargs="+", type=float, choices=OMISSIONS, default=OMISSIONS)
    run.add_argument("--evidences", nargs="+", choices=EVIDENCES, default=EVIDENCES)
    run.add_argument(
        "--workers",
        type=int,
        default=os.cpu_count() or 1,
        help="runs at a time, with a thread each (default: the cores)",
    )
    table = commands.add_parser("table", help="print what the runs came to, and draw it")
    table.add_argument("--json", type=Path, help="write all runs here too")
    table.add_argument("--plot", type=Path, help="the SVG or PNG to write")
    people = commands.add_parser("people", help="how much people leave out of a picture, and err")
    people.add_argument("--data", type=Path, default=Path("../shared/data"), help="their captions")
    errors = commands.add_parser("errors", help="how often a judge that was trained to see errs")
    errors.add_argument("model", help="its folder")
    errors.add_argument("--pictures", type=int, default=500)
    revised = commands.add_parser(
        "revise", help="cut at the first wrong span and sample again, against the best of n"
    )
    revised.add_argument("policies", nargs="+", help="folders")
    revised.add_argument("--errors", nargs="+", type=float, default=[0.0, 0.2])
    revised.add_argument("--pictures", type=int, default=128)
    for one in (people, errors, revised):
        one.add_argument("--json", type=Path, help="write the figures here too")
    arguments = parser.parse_args()
    chosen = {
        "run": train_missing,
        "table": show,
        "people": show_people,
        "errors": show_errors,
        "revise": show_revising,
    }
    chosen[arguments.command](arguments)


def train_missing(arguments: argparse.Namespace) -> None:
    finished = {name_of(run) for run in all_runs(arguments)}
    missing: list[tuple[Cell | None, str, int, Path]] = []
    for seed in arguments.seeds:
        base = arguments.base.format(seed=seed)
        for cell in wanted_cells(arguments):
            name = f"{'base' if cell is None else cell.name}-seed{seed}"
            if name not in finished:
                missing.append((cell, base, seed, arguments.output / f"{name}.json"))
    os.environ["OMP_NUM_THREADS"] = "1"  # of the processes that start now
    # A pool whose processes end after some runs hangs in Python 3.11.
    with ProcessPoolExecutor(arguments.workers, get_context("spawn")) as pool:
        futures = [pool.submit(make, *one) for one in missing]
        for done, future in enumerate(as_completed(futures), 1):
            print(f"{done} of {len(missing)}: {future.result()}", flush=True)


def all_runs(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Returns the earlier runs, and those of the folder, which count where both have one."""
    runs: dict[str, dict[str, Any]] = {}
    if arguments.earlier.is_file():
        for run in json.loads(arguments.earlier.read_text("utf-8")):
            runs[name_of(run)] = run
    for path in sorted(arguments.output.glob("*.json")):
        run = json.loads(path.read_text("utf-8"))
        runs[name_of(run)] = run
    return [runs[name] for name in sorted(runs)]


def name_of(run: dict[str, Any]) -> str:
    cell = Cell(**run["cell"]).name if "cell" in run else "base"
    return f"{cell}-seed{run['seed']}"


def wanted_cells(arguments: argparse.Namespace) -> list[Cell | None]:
    """Returns the cells, after None for the base."""
    if arguments.judge is None:
        cells: list[Cell | None] = [None, *all_cells()]
    else:
        cells = []
        for omission in arguments.omissions:
            for evidence in arguments.evidences:
                for spans in (False, True):
                    cells.append(Cell(omission, evidence, 0.0, spans, arguments.judge))
    return [
        cell
        for cell in cells
        if cell is None
        or (cell.omission in arguments.omissions and cell.evidence in arguments.evidences)
    ]


def make(cell: Cell | None, base: str, seed: int, path: Path) -> str:
    """Makes one run in this process. Returns what to print of it."""
    from experiments.picture_map.experiment import Start, measure_base, train_run

    start = Start(base, seed)
    with (
        TemporaryDirectory() as folder,
        open(os.devnull, "w") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
    ):
        if cell is None:
            result = measure_base(start)
        else:
            result = train_run(cell, start, Path(folder) / "run")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(result) + "\n")
    return f"{path.stem}: truth F1 {result['greedy']['truth_f1']:.3f}"


def show(arguments: argparse.Namespace) -> None:
    from experiments.picture_map.report import draw_map, markdown_lines, rows_of

    runs = all_runs(arguments)
    rows = rows_of(runs)
    print("\n".join(markdown_lines(rows)))
    if arguments.json is not None:
        lines = ",\n".join(json.dumps(rounded(run)) for run in runs)
        write_whole(arguments.json, f"[\n{lines}\n]\n")
    if arguments.plot is not None:
        draw_map(rows, arguments.plot)


def rounded(run: dict[str, Any]) -> dict[str, Any]:
    """Returns a run without what its judge said, with four digits of each figure."""
    kept = {name: value for name, value in run.items() if name != "judge_said"}
    for texts in ("greedy", "sampled"):
        kept[texts] = {name: round(value, 4) for name, value in run[texts].items()}
    return kept


def show_people(arguments: argparse.Namespace) -> None:
    from experiments.picture_map.people import shares_of_people

    write_figures(shares_of_people(arguments.data), arguments.json)


def show_errors(arguments: argparse.Namespace) -> None:
    from experiments.picture_map.judge_errors import errors_of, markdown_lines
    from experiments.scenes.seeing_judge import SeeingJudge

    rows = errors_of(SeeingJudge(arguments.model), arguments.pictures)
    print("\n".join(markdown_lines(rows)))
    if arguments.json is not None:
        write_whole(arguments.json, json.dumps(rows, indent=1) + "\n")


def show_revising(arguments: argparse.Namespace) -> None:
    from experiments.picture_map.revising import compare_revising

    found = []
    for number, policy in enumerate(arguments.policies):
        for errors in arguments.errors:
            figures = compare_revising(policy, errors, arguments.pictures, seed=number)
            found.append({"policy": policy, "errors": errors, "figures": figures})
    write_figures(found, arguments.json)


def write_figures(figures: Any, path: Path | None) -> None:
    text = json.dumps(figures, indent=1) + "\n"
    print(text)
    if path is not None:
        write_whole(path, text)


if __name__ == "__main__":
    main()
