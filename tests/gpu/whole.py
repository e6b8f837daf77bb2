"""What one GPU can tell of the main job in a quarter of an hour: each phase says its seconds the
moment it ends.

    python -m tests.gpu.whole  # on the GPU; from packed parts: python3 tests/gpu/unpack.py
    python -m tests.gpu.whole --size toy --minutes 30   # every line of it on a CPU

The most valuable phase comes first. Each is a process of its own, has at most its own seconds, and
prints the stacks of all its threads every 45 s. What was found is in build/gpu/whole.json. Where
the time is over (--minutes), the run ends; started again, it goes on with the phases that have not
ended well. Nothing is captured, so a run that is cut still tells.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.gpu.phases.common import SIZES, add_engine
from tests.support.paths import ROOT
from tests.support.torchvision_on_cpu import FOLDER

MODULE = (sys.executable, "-m")
PYTEST = (*MODULE, "pytest", "-q", "-s", "-p", "no:cacheprovider", "-m", "gpu", "tests/gpu")
TOYS_TIME = 4  # a CPU has two cores, and other work
PHASES = {  # name: seconds at most, command
    "models": (150, (*MODULE, "tests.gpu.phases.make")),
    "step": (330, (*MODULE, "tests.gpu.phases.step")),
    "smollm2": (200, (*MODULE, "tests.gpu.phases.smollm2")),
    "readme": (240, (*MODULE, "tests.gpu.phases.readme")),
    "toy-engines": (240, (*PYTEST, "-k", "training_with_a_policy_in_vllm")),
    "killed": (150, (*PYTEST, "-k", "killed_beside_trls")),
    "asleep": (150, (*MODULE, "tests.gpu.phases.asleep")),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--size", choices=SIZES, default="real", help="toy: the same lines on a CPU"
    )
    parser.add_argument(
        "--models", type=Path, help="where the models lie or are made (default /dev/shm/spanreward)"
    )
    parser.add_argument(
        "--json", type=Path, default=ROOT / "build" / "gpu" / "whole.json", help="the figures"
    )
    parser.add_argument("--minutes", type=float, default=9.5, help="when to end (default 9.5)")
    parser.add_argument(
        "--only", nargs="+", choices=PHASES, default=list(PHASES), help="these phases alone"
    )
    add_engine(parser)
    given = parser.parse_args()
    models = given.models or Path(
        "/dev/shm/spanreward" if given.size == "real" else "/tmp/spanreward-toys"
    )
    given.json.parent.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * given.minutes
    own = [
        "--size",
        given.size,
        "--models",
        str(models),
        "--json",
        str(given.json),
        "--engine",
        given.engine,
    ]
    failed = []
    for name in given.only:
        limit, command = PHASES[name]
        limit *= 1 if given.size == "real" else TOYS_TIME
        known = json.loads(given.json.read_text()) if given.json.exists() else {}
        made = name == "models" and (models / "policy").is_dir()  # which is made last
        if made or known.get("ended well", {}).get(name):
            continue
        if (left := end - time.monotonic()) < 20:
            print(f"== {name}: left out, the time is over", flush=True)
            failed.append(name)
            continue
        began, limit = time.monotonic(), min(limit, left)
        print(f"== {name}: begins, with {limit:.0f} s at most", flush=True)
        words = [*command, *([] if "pytest" in command else own)]
        code = streamed(words, limit, environment(given.size, given.engine))
        ended = "ended well" if code == 0 else f"FAILED ({code})"
        print(f"== {name}: {ended} after {time.monotonic() - began:.1f} s", flush=True)
        if code == 0:
            keep(given.json, name, time.monotonic() - began)
        else:
            failed.append(name)
    sys.exit(f"not done: {', '.join(failed)}" if failed else 0)


def environment(size: str, engine: str) -> dict[str, str]:
    """What the phases' processes see: the stacks every 45 s, this checkout, the packed packages,
    and vLLM's log.
    """
    paths = [ROOT / "tests" / "gpu" / "phases" / "stacks", ROOT, os.environ.get("PYTHONPATH", "")]
    paths += [FOLDER] if size == "toy" else []
    on_cpu = (
        {"SPANREWARD_GPU_TESTS_ON_CPU": "1", "VLLM_CPU_KVCACHE_SPACE": "1"} if size == "toy" else {}
    )
    # read in vllm/config/vllm.py
    graphs = {"TORCH_COMPILE_DISABLE": "1"} if engine == "graphs" else {}
    return {
        **os.environ,
        **on_cpu,
        **graphs,
        "PYTHONPATH": os.pathsep.join(map(str, filter(None, paths))),
        "PYTHONUNBUFFERED": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "VLLM_USE_FLASHINFER_SAMPLER": "0",
        "HF_HUB_OFFLINE": "1",
    }


def streamed(command: Sequence[str], seconds: float, environment: dict[str, str]) -> int:
    """Runs the command, whose output goes where ours goes. Returns its exit code; ends it, and what
    it started, after these seconds.
    """
    process = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return -signal.SIGKILL
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its engines too
        process.wait()


def keep(path: Path, name: str, seconds: float) -> None:
    known = json.loads(path.read_text()) if path.exists() else {}
    known.setdefault("ended well", {})[name] = round(seconds, 1)
    path.write_text(json.dumps(known, indent=2) + "\n")


if __name__ == "__main__":
    main()
