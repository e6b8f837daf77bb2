"""Makes every mistake of mistakes.py in a process of its own, and prints what was said, and after
how many seconds.

python -m experiments mistakes          # a table; docs/evidence/reliability.md has its counts
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from experiments.mistakes.misplaced import MISPLACED, prepare_more
from experiments.mistakes.mistakes import MISTAKES, Mistake, prepare, whole
from experiments.mistakes.of_readers import OF_READERS, prepare_files
from spanreward.training.run_folder import machine_name

PROLOGUE = """## Typical mistakes

What people get wrong, what they are told, and how long it takes, as `python -m experiments mistakes` prints it on
{machine}, without a network. Each mistake is made in a process of its own, in a folder with a recipe, rows, and two
tiny policies (`experiments/mistakes/mistakes.py`). A command ends with the sentence and no traceback. A script of one's
own ends with Python's traceback, whose last line is the sentence. The suite makes the same mistakes in one process.

Seconds are those of the whole process, on the clock and of the CPU. Most of them are imports of torch, transformers and
TRL: `import spanreward.training.run` alone took {imports.seconds:.1f} and {imports.cpu:.1f} s. Other work ran on the
machine (load {load:.1f} at the end), so that the clock says more than a free machine would.

{count} mistakes: {silent} silent, {traces} commands that end in a traceback. The slowest takes {slowest:.1f} s.
{graded} were graded before their messages were mended ({before}) and since ({after}); the last {readers}, of somebody
who had read README and docs/ alone, so too ({before_readers}; {after_readers}). A names cause, value and cure, B cause
and value, C helps nobody, F is silent or a traceback, - did not exist.

| mistake | made by | told | s | CPU s | grade |
|---|---|---|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Made:
    """said: the line that tells the mistake, "" where no line does. seconds: on the clock; cpu: of
    all cores.
    """

    said: str
    traceback: bool
    seconds: float
    cpu: float


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    imports = run([sys.executable, "-c", "import spanreward.training.run"], Path.cwd(), 0, "")
    made = [(mistake, make(mistake)) for mistake in MISTAKES + MISPLACED + OF_READERS]
    page = PROLOGUE.format(
        machine=machine_name(),
        imports=imports,
        count=len(made),
        silent=sum(not one.said for _, one in made),
        traces=sum(one.traceback and not mistake.script for mistake, one in made),
        load=os.getloadavg()[0],
        slowest=max(one.seconds for _, one in made),
        graded=len(MISPLACED),
        before=grades(mistake.before for mistake in MISPLACED),
        after=grades(mistake.after for mistake in MISPLACED),
        readers=len(OF_READERS),
        before_readers=grades(mistake.before for mistake in OF_READERS),
        after_readers=grades(mistake.after for mistake in OF_READERS),
    )
    print(page + "".join(row(mistake, one) for mistake, one in made), end="")


def grades(given: Iterable[str]) -> str:
    return ", ".join(f"{grade} {count}" for grade, count in sorted(Counter(given).items()))


def make(mistake: Mistake) -> Made:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        prepare_more(folder)
        prepare_files(folder)
        (folder / "script.py").write_text(whole(mistake))
        command = ["-m", "spanreward", *mistake.words] if mistake.words else ["script.py"]
        return run([sys.executable, *command], folder, mistake.status, mistake.told)


def run(command: list[str], folder: Path, status: int, told: str) -> Made:
    """Run a command in a folder. Raises RuntimeError where it ends with another status."""
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd()), "COLUMNS": "1000"}
    environment.pop("HF_HUB_OFFLINE", None)
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines()]
    if done.returncode != status:
        raise RuntimeError(
            f"{command}: it ended with {done.returncode} and not {status}: {lines[-1:]}"
        )
    said = [line for line in lines if re.search(told, line)]
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Made(
        said[-1] if said else "", any(line.startswith("Traceback") for line in lines), seconds, cpu
    )


def row(mistake: Mistake, made: Made) -> str:
    by = (
        "spanreward " + " ".join(mistake.words)
        if mistake.words
        else mistake.script.replace("\n", "; ")
    )
    cells = [
        mistake.what,
        f"`{by}`",
        made.said or "nothing",
        f"{made.seconds:.1f}",
        f"{made.cpu:.1f}",
    ]
    cells.append(f"{mistake.before} {mistake.after}".strip())
    return (
        "| " + " | ".join(cell.replace("|", "\\|").replace("<", "&lt;") for cell in cells) + " |\n"
    )


if __name__ == "__main__":
    main()
