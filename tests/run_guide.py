"""Do what a page of docs/ says, word for word, from the wheel in an empty folder: `make guide`.

    python -m tests.run_guide docs/getting_started.md docs/one_gpu.md

Of a page's blocks, one that begins with `# FILE` is written to that file, and bash is run. A text
block is what the command before it printed: its lines, in this order, with others between. `<!--
not run: ... -->` before a block leaves it out, `<!-- exit 1: ... -->` expects that exit code.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.support.paths import ROOT
from tests.support.wheel import HANGS, build_wheel

BLOCK = re.compile(r"(?:<!-- (not run|exit 1): [^>]* -->\n)?```(\w+)\n(.*?)```", re.DOTALL)
FILE = re.compile(r"# ([\w./]+\.(?:py|yaml))\n")


@dataclass(frozen=True, slots=True)
class Block:
    language: str
    text: str
    note: str

    @property
    def file(self) -> str:
        """The file that the block says it is, or ""."""
        named = FILE.match(self.text)
        return named[1] if named else ""


def blocks(page: str) -> list[Block]:
    """The page's blocks that are files, commands or what those print."""
    found = [Block(language, text, note) for note, language, text in BLOCK.findall(page)]
    told = [one for one in found if one.note != "not run"]
    return [one for one in told if one.file or one.language in ("bash", "text")]


def missing_line(expected: str, printed: str) -> str | None:
    """The first line of `expected` that does not follow the ones before it in `printed`.

    Spaces, line breaks and a table's upright lines count as one space: where a cell breaks depends
    on its other words.
    """
    rest = " ".join(printed.replace("│", " ").split())
    for line in filter(str.strip, expected.splitlines()):
        _, found, rest = rest.partition(" ".join(line.split()))
        if not found:
            return line
    return None


def environment(folder: Path) -> dict[str, str]:
    """A virtual environment of the wheel, over the packages of this one."""
    here = Path(sys.executable).parent.parent
    inside = folder / "venv"
    venv = [sys.executable, "-m", "venv", "--without-pip", str(inside)]
    subprocess.run(venv, check=True, timeout=HANGS)
    (packages,) = inside.glob("lib/python*/site-packages")
    (others,) = here.glob("lib/python*/site-packages")
    # a .pth in there, such as the editable install's, is not read
    (packages / "others.pth").write_text(f"{others}\n")
    python = inside / "bin" / "python"
    pip = f"{sys.executable} -m pip --python {python} install -q --no-deps --ignore-installed"
    subprocess.run([*pip.split(), str(build_wheel(folder))], check=True, timeout=HANGS)
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    # as in CI
    kept |= {"PATH": f"{inside / 'bin'}{os.pathsep}{kept['PATH']}", "CUDA_VISIBLE_DEVICES": ""}
    return kept | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "COLUMNS": "80"}


def follow(page: Path, folder: Path, env: dict[str, str]) -> None:
    """Do what the page says in `folder`; SystemExit where it goes otherwise."""
    printed = ""
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.file:
            path = folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        elif block.language == "text":
            if (line := missing_line(block.text, printed)) is not None:
                sys.exit(f"{page}: {line!r} was not printed, but:\n{printed[-5000:]}")
        else:
            began = time.monotonic()
            command = ["bash", "-euo", "pipefail", "-c", block.text]
            done = subprocess.run(
                command, cwd=folder, env=env, capture_output=True, text=True, timeout=HANGS
            )
            printed = done.stdout + done.stderr
            last = block.text.splitlines()[-1].strip()
            print(f"{time.monotonic() - began:6.1f} s  {last}", flush=True)
            if done.returncode != (block.note == "exit 1"):
                sys.exit(f"{page}: exit code {done.returncode} of\n{block.text}{printed[-5000:]}")


def main() -> None:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        env = environment(Path(name))
        print(f"{time.monotonic() - began:6.1f} s  the wheel, installed")
        for page in sys.argv[1:]:
            print(page)
            project = Path(name) / Path(page).stem
            project.mkdir()
            follow(ROOT / page, project, env)
    print(f"{time.monotonic() - began:6.1f} s  in all")


if __name__ == "__main__":
    main()
