"""Whether a run that is killed again and again ends as one that was not.

python -m experiments benchmark kills RECIPE trainer.save_strategy=steps trainer.save_steps=5
--times 20
"""

import argparse
import os
import random
import shlex
import socket
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import yaml
from rich.console import Console
from rich.table import Table

from experiments.benchmark.kills_compare import compare
from experiments.benchmark.kills_victim import PHASES, PLACE, lengths, phase_file, phase_of
from experiments.benchmark.soak import family, kill, kill_session

DESCRIPTION = """Launches the recipe with `accelerate launch` (several ranks on the CPU: torchrun) once undisturbed, in
FOLDER/whole, and then again in FOLDER/killed0, where at random moments one of --victims gets SIGKILL: all (every
process of the run, as when a machine stops), rank (one training process), judge (a process that a rank has started,
such as vLLM's engine), server (the one of --server, which is then started again). Every second kill waits until there
is a whole checkpoint, which most others come before; a launch that outlives its judge or server is struck again. With
--phases a kill waits for that phase of the training (saving: while a checkpoint is written; removing: while an older
one is deleted, with trainer.save_total_limit), and comes at a random moment of it; each kill is counted by the phase
that it hit, which the run itself keeps in a file. It waits until the run has ended, and resumes it as a person would:
with --resume where there is a whole checkpoint, else anew. A run that ends before all kills were made is compared, and
another begins. Compared are weights, logged numbers, every verdict, and the caches; nothing may be left running. Not
compared are times, memory, and how many questions were put, cached or tried again (judge/questions and the like): a
resumed process begins with an empty memory, and asks the cache some questions again. In the recipe max_failed_fraction
becomes 0, as completions without a score make another run, and every cache a file in FOLDER. The run must save
checkpoints (trainer.save_strategy=steps, trainer.save_steps)."""
VICTIMS = ("all", "rank", "judge", "server")
MARK = "SPANREWARD_KILLS"
VICTIM = "experiments.benchmark.kills_victim"
SETTLED = 0.5  # seconds between two looks
SOON = 0.0005
REPLACED = 5.0  # seconds at most after which a killed server is started again


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "recipe", help="the YAML file of the run: few steps, and a checkpoint every few of them"
    )
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="as for train")
    parser.add_argument("--times", type=int, default=20, help="kills (default 20)")
    parser.add_argument("--seed", type=int, default=0, help="of moments and victims (default 0)")
    parser.add_argument(
        "--victims", nargs="+", choices=VICTIMS, default=["all", "rank"], help="(default all rank)"
    )
    aimed = "aim the kills at these, one after the other and again (default: at any moment)"
    parser.add_argument(
        "--phases", nargs="+", choices=PHASES, default=[], metavar="PHASE", help=aimed
    )
    parser.add_argument("--processes", type=int, default=1, help="ranks (default 1)")
    parser.add_argument(
        "--accelerate-config",
        type=Path,
        metavar="PATH",
        help="launch with this (default: on the CPU)",
    )
    parser.add_argument(
        "--server", metavar="COMMAND", help="the judge's server, which the recipe's judges ask"
    )
    parser.add_argument(
        "--folder", type=Path, default=Path("outputs/kills"), help="(default outputs/kills)"
    )
    parser.add_argument(
        "--hangs",
        type=float,
        default=900.0,
        metavar="SECONDS",
        help="at least so long a run may take to end after a kill (default 900)",
    )


class Run:
    """One launch of a recipe file; what it says goes to the log, and beside it its phases
    (kills_victim.py).

    `with Run(...)` leaves nothing of it running.

    All that it starts is known by a variable of the environment: ranks of torchrun and engines
    begin sessions of their own, and have no parent any more when the launcher is gone.
    """

    def __init__(
        self, arguments: argparse.Namespace, recipe: Path, more: list[str], log: Path
    ) -> None:
        command, environment = launcher(arguments.processes, arguments.accelerate_config)
        self.mark = f"{MARK}={uuid4().hex}"
        self.place = log.with_suffix("")  # of its phases
        phase_file(self.place).unlink(missing_ok=True)  # of an earlier launch
        name, _, value = self.mark.partition("=")
        with log.open("ab") as file:
            self.process = subprocess.Popen(
                [*command, "-m", VICTIM, "train", str(recipe), *more],
                env={**os.environ, **environment, name: value, PLACE: str(self.place)},
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *raised: object) -> None:
        self.end()

    @property
    def processes(self) -> list[int]:
        """All that still run."""
        return marked(self.mark)

    @property
    def ranks(self) -> list[int]:
        """The processes that train: the launcher's own children which run the recipe."""
        return [
            one
            for one in family(self.process.pid, deep=False)[1:]
            if f"-m {VICTIM} train" in words_of(one)
        ]

    @property
    def judges(self) -> list[int]:
        """What the ranks have started, but for Python's own helper."""
        found = [one for rank in self.ranks for one in family(rank)[1:]]
        return [one for one in found if "resource_tracker" not in words_of(one)]

    def end(self) -> int:
        """Kill what is left of it; how many processes that were."""
        left = self.processes
        for one in left:
            kill(one)
        self.process.wait()
        return len(left)


def launcher(processes: int, config: Path | None) -> tuple[list[str], dict[str, str]]:
    """What launches a module (`-m NAME`) on so many ranks, and its environment. Without a
    configuration on the CPU, where `accelerate launch --cpu` starts one process whatever
    --num_processes says.
    """
    if config is None and processes > 1:
        torchrun = [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--standalone",
            "--nproc_per_node",
            str(processes),
        ]
        return torchrun, {"ACCELERATE_USE_CPU": "true"}
    alone = ["--cpu", "--num_machines", "1", "--dynamo_backend", "no", "--mixed_precision", "no"]
    settings = alone if config is None else ["--config_file", str(config)]
    settings += ["--num_processes", str(processes), "--main_process_port", "0"]
    return [sys.executable, "-m", "accelerate.commands.launch", "--quiet", *settings], {}


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.times < 1 or arguments.processes < 1:
        raise ValueError(
            f"--times and --processes are 1 or more, got {arguments.times} and "
            f"{arguments.processes}"
        )
    if ("server" in arguments.victims) != bool(arguments.server):
        raise ValueError("--server COMMAND and the victim server go together")
    folder = arguments.folder
    if folder.exists() and any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty: choose another --folder")
    folder.mkdir(parents=True, exist_ok=True)
    from spanreward.training.run_folder import read_versions

    whole = prepare(arguments, folder, "whole")
    with server(arguments, folder) as place:
        console = Console(stderr=True)
        began = time.monotonic()
        with Run(arguments, whole, [], folder / "whole.log") as run:
            code = run.process.wait()
            if code or run.processes:
                raise ValueError(
                    f"the recipe does not run undisturbed (exit code {code}): see "
                    f"{folder / 'whole.log'}"
                )
        duration = time.monotonic() - began
        if (ran_on := read_versions(folder / "whole")["processes"]) != arguments.processes:
            raise ValueError(
                f"the recipe ran on {ran_on} processes, and --processes is {arguments.processes}"
            )
        if last_checkpoint(folder / "whole") is None:
            raise ValueError(
                "the run wrote no checkpoint: give trainer.save_steps below its number of steps"
            )
        console.print(f"undisturbed: {duration:.0f} s")
        seen = lengths(folder / "whole")
        if unseen := set(arguments.phases) - seen.keys():
            raise ValueError(
                f"the undisturbed run was never {sorted(unseen)}, and has {sorted(seen)}: aim at "
                "these"
            )
        lines, runs = disturb(arguments, folder, duration, seen, place, console)
    numbers = {
        "times": len(lines),
        "seed": arguments.seed,
        "processes": arguments.processes,
        "seconds_undisturbed": duration,
        "seconds_of_a_phase": {
            phase: statistics.median(seconds) for phase, seconds in seen.items()
        },
        "kills_by_phase": dict(Counter(line["phase"] for line in lines)),
        "kills": lines,
        "runs": runs,
        "holds": all(not each["differences"] for each in runs)
        and not any(line["problem"] for line in lines),
    }
    show(numbers)
    return numbers


def disturb(
    arguments: argparse.Namespace,
    folder: Path,
    duration: float,
    seen: dict[str, list[float]],
    place: list[Any],
    console: Console,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Kill so many times, resume each time, and compare every run that ends: a line a kill, and a
    line a run.

    A launch that goes on without its judge or server is struck again. duration: seconds of an
    undisturbed run. seen: seconds of each time that it was in a phase.
    """
    drawn = random.Random(arguments.seed)
    lines: list[dict[str, Any]] = []
    runs: list[dict[str, Any]] = []
    while len(lines) < arguments.times or not runs or runs[-1]["ended"] is None:
        if not runs or runs[-1]["ended"] is not None:
            runs.append(
                {"name": f"killed{len(runs)}", "ended": None, "kills": 0, "differences": []}
            )
            recipe = prepare(arguments, folder, runs[-1]["name"])
        more = how_to_go_on(recipe, arguments.processes)
        output, made = folder / runs[-1]["name"], len(lines)
        with Run(arguments, recipe, more, folder / f"{runs[-1]['name']}.log") as run:
            end = time.monotonic() + duration
            while len(lines) < arguments.times:
                line = strike(arguments, run, output, drawn, end, len(lines), seen, place)
                if line is None:
                    break
                lines.append(
                    line | {"run": runs[-1]["name"], "launched_with": " ".join(more), "problem": ""}
                )
                if line["victim"] in ("all", "rank"):
                    break
            code = ended(run, max(arguments.hangs, 3 * duration))
            left = run.end()
        for line in lines[made:]:
            line["exit_code"] = code
            if code is None:
                line["problem"] = "it hung"
            elif left and line["victim"] != "all":
                line["problem"] = f"{left} processes were left"
            console.print(f"{line}")
        runs[-1]["kills"] += len(lines) - made
        if code != 0 and made == len(lines):
            raise ValueError(
                f"nothing was killed, and the run ended with {code}: see "
                f"{folder}/{runs[-1]['name']}.log"
            )
        if code == 0:
            runs[-1] |= {"ended": code, "differences": compare(folder, "whole", runs[-1]["name"])}
            console.print(f"{runs[-1]}")
    return lines, runs


def strike(
    arguments: argparse.Namespace,
    run: Run,
    output: Path,
    drawn: random.Random,
    end: float,
    number: int,
    seen: dict[str, list[float]],
    place: list[Any],
) -> dict[str, Any] | None:
    """Kill a victim, and say what it hit; None where the run had ended by then.

    With --phases it comes within the next one of these, else at a random moment from now until
    `end`, where every second kill waits for the first whole checkpoint.
    """
    began, wanted = time.monotonic(), drawn.choice(arguments.victims)
    aimed = arguments.phases[number % len(arguments.phases)] if arguments.phases else ""
    if aimed:
        await_phase(run, aimed, seen[aimed], drawn)
    else:
        await_moment(run, output, end, number % 2 == 1, drawn)
    if run.process.poll() is not None:
        return None
    ranks = run.ranks
    found = {"rank": ranks, "judge": run.judges if wanted == "judge" else []}.get(wanted, [])
    victim = wanted if found or wanted in ("all", "server") else "all"  # there is none of it yet
    if victim == "all":
        for rank in ranks:  # at once: to find the others takes longer than a phase
            kill(rank)
        run.end()
    elif victim == "server":
        kill_session(place[0])
        time.sleep(drawn.uniform(0, REPLACED))
        place[0] = start_server(arguments)
    else:
        kill(drawn.choice(found))
    return {
        "victim": victim,
        "drawn": aimed or ("after the first checkpoint" if number % 2 else "at any moment"),
        "after_seconds": round(time.monotonic() - began, 1),
        "phase": phase_of(run.place),
        "checkpoint": last_checkpoint(output),
        "unfinished": unfinished(output),
    }


def await_moment(run: Run, output: Path, end: float, late: bool, drawn: random.Random) -> None:
    """Wait for a random moment until `end`, with late=True from the first whole checkpoint on, or
    the run's end.
    """
    if late:
        await_checkpoint(run, output)
    moment = drawn.uniform(time.monotonic(), max(end, time.monotonic()))
    while time.monotonic() < moment and run.process.poll() is None:
        time.sleep(0.05)


def await_phase(run: Run, phase: str, seconds: Sequence[float], drawn: random.Random) -> None:
    """Wait until the run has been in a phase for a part of its median length, or has ended.

    It is one of the first times that the run is in it. seconds: how long each time took in an
    undisturbed run.
    """
    for _ in range(drawn.randint(1, max(1, len(seconds) // 2))):
        while phase_of(run.place) == phase and run.process.poll() is None:
            time.sleep(SOON)
        while phase_of(run.place) != phase and run.process.poll() is None:
            time.sleep(SOON)
    time.sleep(drawn.uniform(0, statistics.median(seconds)))


def await_checkpoint(run: Run, output: Path) -> None:
    """Wait until the run has a whole checkpoint, or has ended."""
    while last_checkpoint(output) is None and run.process.poll() is None:
        time.sleep(0.05)


def last_checkpoint(output: Path) -> str | None:
    """The name of the last whole checkpoint in a run's folder."""
    from spanreward.training.run_folder import STATE_FILE, checkpoint_folders, damage_of

    written = [
        folder for folder in reversed(checkpoint_folders(output)) if (folder / STATE_FILE).is_file()
    ]
    return next((folder.name for folder in written if not damage_of(folder)), None)


def unfinished(output: Path) -> list[str]:
    """The names of the checkpoints in a run's folder that are not whole."""
    from spanreward.training.run_folder import STATE_FILE, checkpoint_folders, damage_of

    return [
        folder.name
        for folder in checkpoint_folders(output)
        if not (folder / STATE_FILE).is_file() or damage_of(folder)
    ]


def ended(run: Run, hangs: float) -> int | None:
    """The exit code, None where it has not ended in so many seconds."""
    try:
        return run.process.wait(hangs)
    except subprocess.TimeoutExpired:
        return None


def how_to_go_on(recipe: Path, processes: int) -> list[str]:
    """What a person adds to the command: nothing for a new folder, --resume, or what the refusal of
    --resume says.
    """
    from spanreward.training.recipe import RecipeError, load_recipe
    from spanreward.training.run_folder import checkpoint_to_resume

    loaded = load_recipe(recipe)
    if not Path(loaded.output).exists():
        return []
    try:
        checkpoint_to_resume(loaded, processes)
    except RecipeError:
        return ["overwrite=true"]
    return ["--resume"]


def prepare(arguments: argparse.Namespace, folder: Path, name: str) -> Path:
    """The recipe file of one of the runs: its own output, its own caches, and no judgment that may
    fail.
    """
    from spanreward.training.recipe import load_recipe

    recipe = load_recipe(arguments.recipe, arguments.overrides)
    if str(recipe.trainer.get("save_strategy", "steps")) == "no":
        raise ValueError(
            "a run without checkpoints begins anew: give trainer.save_strategy=steps "
            "trainer.save_steps=5"
        )
    data = recipe.model_dump()
    data["output"], data["overwrite"] = str(folder / name), False
    for number, reward in enumerate(data["rewards"]):
        if reward["judge"]["cache"]:
            reward["judge"]["cache"] = str(folder / f"{name}.{number}.sqlite")
    if recipe.algorithm != "sft":
        data["trainer"]["max_failed_fraction"] = 0.0
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False), "utf-8")
    return path


@contextmanager
def server(arguments: argparse.Namespace, folder: Path) -> Iterator[list[Any]]:
    """The judge's server, in a list of one in which another may take its place; an empty one where
    there is none.
    """
    if not arguments.server:
        yield []
        return
    place = [start_server(arguments)]
    try:
        yield place
    finally:
        kill_session(place[0])


def start_server(arguments: argparse.Namespace) -> "subprocess.Popen[bytes]":
    """Start it and wait until it listens. Raises ValueError where it ends before."""
    from spanreward.training.recipe import load_recipe

    names = [part.judge.name for part in load_recipe(arguments.recipe, arguments.overrides).rewards]
    urls = [
        name.partition(":")[2].partition("#")[0]
        for name in names
        if name.startswith(("server:", "chat:"))
    ]
    if not urls:
        raise ValueError("--server needs a recipe with a judge server:URL#MODEL or chat:URL#MODEL")
    address = urlsplit(urls[0])
    process = subprocess.Popen(
        shlex.split(arguments.server), start_new_session=True, stdout=subprocess.DEVNULL
    )
    while True:
        if process.poll() is not None:
            raise ValueError(f"the server ended with {process.returncode}: {arguments.server}")
        with socket.socket() as connection:
            if connection.connect_ex((address.hostname, address.port or 80)) == 0:
                return process
        time.sleep(SETTLED)


def marked(mark: str) -> list[int]:
    """Processes in whose environment NAME=VALUE stands."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            variables = (folder / "environ").read_bytes().split(b"\0")
        except OSError:  # it has ended, or is another user's
            continue
        if mark.encode() in variables:
            found.append(int(folder.name))
    return found


def words_of(pid: int) -> str:
    try:
        return (
            Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        )
    except OSError:
        return ""


def show(numbers: dict[str, Any]) -> None:
    table = Table(
        title=f"{numbers['times']} kills, seed {numbers['seed']}, {numbers['processes']} processes"
    )
    for column in (
        "victim",
        "aimed at",
        "hit",
        "checkpoint",
        "unfinished",
        "launched with",
        "exit code",
        "problem",
    ):
        table.add_column(column)
    for line in numbers["kills"]:
        hit = (
            line["victim"],
            line["drawn"],
            line["phase"],
            line["checkpoint"] or "none",
            " ".join(line["unfinished"]),
        )
        table.add_row(*hit, line["launched_with"], str(line["exit_code"]), line["problem"])
    console = Console(stderr=True, width=130)
    console.print(table)
    console.print(
        "by phase: "
        + ", ".join(f"{phase} {count}" for phase, count in numbers["kills_by_phase"].items())
    )
    for run in numbers["runs"]:
        found = (
            "equal to the undisturbed run"
            if not run["differences"]
            else "; ".join(run["differences"])
        )
        console.print(f"{run['name']}, killed {run['kills']} times: {found}")
