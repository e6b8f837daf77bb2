"""Whether a command that runs for hours leaks: memory, threads, open files, processes, and time.

python -m experiments benchmark soak --lines outputs/soak/metrics.jsonl train RECIPE
--set output=outputs/soak
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import stats

DESCRIPTION = """Runs `spanreward COMMAND` (on Linux) and looks every few seconds at it and all that it started:
resident memory, threads, open files, processes, CPU seconds, and the lines of the file --lines, which are the work
done. After the warm-up the growth of each is the Theil-Sen slope times the time that was watched. It holds when memory
grew by less than --megabytes, threads, files and processes by less than one, CPU seconds a line rose by less than
--slower, the command ended with 0, and no process was left. Memory that processes share counts for each of them.
Lines may become more work without anything being wrong: with --work KEY, a number in each line, CPU seconds are counted
for each unit of it. A training step samples until its longest completion has ended: completions/max_length.
Options of soak stand before COMMAND."""
MOST = 2000  # samples that slopes are taken of: their number of pairs is squared
FEWEST = 10
MB = 1e6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--every", type=float, default=5.0, metavar="SECONDS", help="between two looks (default 5)"
    )
    parser.add_argument(
        "--warm-up", type=float, default=0.2, metavar="SHARE", help="of the time (default 0.2)"
    )
    parser.add_argument(
        "--megabytes", type=float, default=100.0, help="that memory may grow by (default 100)"
    )
    parser.add_argument(
        "--slower",
        type=float,
        default=0.2,
        help="share by which a line may get slower (default 0.2)",
    )
    parser.add_argument(
        "--lines",
        type=Path,
        metavar="FILE",
        help="to which the command writes a line a piece of work",
    )
    parser.add_argument(
        "--work",
        metavar="KEY",
        help="how much work a line was, as a number in it (default: 1 each)",
    )
    parser.add_argument(
        "--samples",
        type=Path,
        metavar="PATH",
        help="write what was seen at each look there, as JSONL",
    )
    parser.add_argument(
        "words", nargs=argparse.REMAINDER, metavar="COMMAND", help="train RECIPE, score METRIC, ..."
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    if not Path("/proc/self/statm").exists():
        raise OSError("soak reads /proc, which only Linux has")
    if not arguments.words or arguments.words[0].startswith("-"):
        raise ValueError(
            "say which command to run after soak's own options, such as `soak train RECIPE`"
        )
    if arguments.every <= 0 or not 0 <= arguments.warm_up < 1:
        raise ValueError(
            f"--every is above 0 and --warm-up in [0, 1), got {arguments.every} and "
            f"{arguments.warm_up}"
        )
    if arguments.work and not arguments.lines:
        raise ValueError("--work names a number in the lines of --lines FILE: give both")
    command = [sys.executable, "-m", "spanreward", *arguments.words]
    child = subprocess.Popen(command, start_new_session=True)
    samples = []
    try:
        for sample in watch(child, arguments.every, arguments.lines):
            samples.append(sample)
            if arguments.samples:
                with arguments.samples.open("a") as file:
                    file.write(f"{json.dumps(sample)}\n")
        left = len(of_session(child.pid))
    finally:
        kill_session(child)
    numbers = {"command": arguments.words, "exit_code": child.returncode, "left": left}
    work = read_work(arguments.lines, arguments.work) if arguments.work else None
    numbers |= growth(samples, arguments.warm_up, work)
    numbers["limits"] = limits(numbers, arguments.megabytes, arguments.slower)
    numbers["holds"] = all(numbers["limits"].values())
    show(numbers)
    return numbers


def watch(
    child: "subprocess.Popen[bytes]", every: float, lines: Path | None
) -> Iterator[dict[str, float]]:
    """What `look` sees until the process ends."""
    began = time.monotonic()
    while True:
        try:
            child.wait(every)
            return
        except subprocess.TimeoutExpired:
            yield {
                "seconds": time.monotonic() - began,
                **look(child.pid),
                "lines": count_lines(lines),
            }


def look(pid: int) -> dict[str, float]:
    """Of the process and all that it started, together: memory in bytes, threads, open files,
    processes, CPU seconds.

    A process that ends meanwhile is left out.
    """
    seen = {"memory": 0.0, "threads": 0.0, "files": 0.0, "processes": 0.0, "cpu": 0.0}
    for one in family(pid):
        folder = Path(f"/proc/{one}")
        try:
            # from the third field on
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            files = len(list((folder / "fd").iterdir()))
        except OSError:
            continue
        seen["memory"] += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
        seen["threads"] += int(fields[17])
        seen["files"] += files
        seen["processes"] += 1
        # ended children's too
        seen["cpu"] += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return seen


def family(pid: int, deep: bool = True) -> list[int]:
    """The process and all that came of it and still runs; with deep=False its own children
    alone.
    """
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [
            int(child) for task in tasks for child in (task / "children").read_text().split()
        ]
    except OSError:
        return []
    return [pid, *(one for child in children for one in (family(child) if deep else [child]))]


def of_session(session: int) -> list[int]:
    """Processes of a session that still run."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(folder.name))
    return found


def kill_session(process: "subprocess.Popen[bytes]") -> None:
    """End the process, which began a session, and all of that session."""
    for one in of_session(process.pid):
        kill(one)
    process.wait()


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:  # it has ended
        return


def count_lines(path: Path | None) -> int:
    return path.read_bytes().count(b"\n") if path is not None and path.is_file() else 0


def read_work(path: Path, key: str) -> list[float]:
    """The number of that name in each line of the file, 0 in a line without it (a summary at the
    end).
    """
    work = [float(json.loads(line).get(key, 0)) for line in path.read_text("utf-8").splitlines()]
    if not any(work):
        raise ValueError(f"no line of {path} has a number {key!r} above 0")
    return work


def growth(
    samples: Sequence[Mapping[str, float]], warm_up: float, work: Sequence[float] | None = None
) -> dict[str, Any]:
    """By what each number grew after the warm-up: the Theil-Sen slope over the time times the time
    that it was watched, with its 95 % interval; and CPU seconds a line in the first and the second
    half of that time, and also a unit of work where `work` says how much each line was.

    Raises ValueError for fewer than FEWEST samples after the warm-up.
    """
    kept = [one for one in samples if one["seconds"] >= warm_up * samples[-1]["seconds"]]
    if len(kept) < FEWEST:
        raise ValueError(
            f"the command was looked at {len(kept)} times after the warm-up: choose a smaller "
            "--every."
        )
    thinned = [
        kept[place]
        for place in np.linspace(0, len(kept) - 1, min(len(kept), MOST)).round().astype(int)
    ]
    seconds = np.array([one["seconds"] for one in thinned])
    found: dict[str, Any] = {
        "watched_seconds": float(seconds[-1] - seconds[0]),
        "looks": len(samples),
    }
    for name in ("memory", "threads", "files", "processes"):
        values = np.array([one[name] for one in thinned]) / (MB if name == "memory" else 1)
        slope, _, low, high = stats.theilslopes(values, seconds)
        grew = [float(each * found["watched_seconds"]) for each in (slope, low, high)]
        found[name] = {
            "first": float(values[0]),
            "last": float(values[-1]),
            "most": float(values.max()),
        }
        found[name] |= {"grew": grew[0], "interval": grew[1:]}
    middle = kept[len(kept) // 2]
    found["lines"] = int(kept[-1]["lines"])
    halves = ((kept[0], middle), (middle, kept[-1]))
    found["cpu_seconds_a_line"] = [cost(*half) for half in halves]
    if work is not None:
        found["cpu_seconds_a_unit_of_work"] = [cost(*half, work) for half in halves]
    return found


def cost(
    first: Mapping[str, float], last: Mapping[str, float], work: Sequence[float] | None = None
) -> float | None:
    """CPU seconds a line between two looks, or a unit of the lines' work; None where nothing was
    done.
    """
    lines = slice(int(first["lines"]), int(last["lines"]))
    done = lines.stop - lines.start if work is None else sum(work[lines])
    return (last["cpu"] - first["cpu"]) / done if done else None


def limits(numbers: Mapping[str, Any], megabytes: float, slower: float) -> dict[str, bool]:
    """Each thing that must hold, and whether it does."""
    first, second = numbers.get("cpu_seconds_a_unit_of_work", numbers["cpu_seconds_a_line"])
    return {
        "memory": numbers["memory"]["grew"] < megabytes,
        **{name: numbers[name]["grew"] < 1 for name in ("threads", "files", "processes")},
        "time": first is None or second is None or second < (1 + slower) * first,
        "ended": numbers["exit_code"] == 0,
        "nothing_left": numbers["left"] == 0,
    }


def show(numbers: Mapping[str, Any]) -> None:
    table = Table(
        title=f"{numbers['looks']} looks, growth over {numbers['watched_seconds']:.0f} s after the "
        "warm-up"
    )
    for column in ("", "first", "last", "most", "grew", "95 %"):
        table.add_column(column, justify="right")
    for name in ("memory", "threads", "files", "processes"):
        one = numbers[name]
        low, high = one["interval"]
        cells = [f"{one[part]:.1f}" for part in ("first", "last", "most", "grew")]
        table.add_row(
            f"{name}, MB" if name == "memory" else name, *cells, f"{low:.1f} to {high:.1f}"
        )
    console = Console(stderr=True, width=100)
    console.print(table)
    for name in ("cpu_seconds_a_line", "cpu_seconds_a_unit_of_work"):
        if None not in numbers.get(name, [None]):
            first, second = numbers[name]
            console.print(
                f"{name.replace('_', ' ')}: {first:.4g} in the first half, {second:.4g} in the "
                "second"
            )
    console.print(
        ", ".join(
            f"{name} {'holds' if held else '[red]does not hold[/]'}"
            for name, held in numbers["limits"].items()
        )
    )
