"""TRL's engine in this process samples for the trainer: real pushes, prompts with pictures and
sleeps, on a CPU.

How it can be is in tests/support/trl_engine_on_cpu.py. That both read the same weights and the same
pictures shows in the log-probabilities of what was sampled, the engine's against the trainer's.
With TRL's prompts, in which vLLM expands pictures twice, they differ by .08, and a weight that a
push leaves out is NaN. Each step shows the same four pictures: what vLLM keeps of one from earlier
weights makes .1 and more.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gpu.models import save_policy
from tests.gpu.phases.common import SIZES
from tests.support.files import read_lines
from tests.support.paths import ROOT
from tests.support.torchvision_on_cpu import FOLDER, with_torchvision

RECIPE = "recipes/quickstart/scenes-dapo.yaml"
STEPS = 3
# fmt: off
SMALL = (
    "referees=[]", "data.count=4", "rewards.0.judge=match", "trainer.span_coef=0.5",
    f"trainer.max_steps={STEPS}", "trainer.num_generations=4", "trainer.max_completion_length=16",
    "trainer.steps_per_generation=null", "trainer.logging_steps=1", "trainer.use_vllm=true",
    "trainer.vllm_mode=colocate", "trainer.vllm_enable_sleep_mode=true",
    "trainer.vllm_max_model_length=512", "trainer.soft_overlong_cache=4",
    "trainer.learning_rate=0.01",
)
# fmt: on
ADAPTER = "policy.lora={r: 8, alpha: 16, target_modules: '.*_proj'}"

pytestmark = pytest.mark.vllm


@pytest.fixture(autouse=True)
def there() -> None:
    if importlib.util.find_spec("vllm") is None or not FOLDER.is_dir():
        pytest.skip("needs vllm and torchvision: make test-vllm")


def train(
    policy: Path, output: Path, ranks: int, *changes: str
) -> subprocess.CompletedProcess[str]:
    launch = ["-m", "tests.support.trl_engine_on_cpu", "train", RECIPE]
    if ranks > 1:
        torchrun = ["torch.distributed.run", "--standalone", "--nproc_per_node", str(ranks)]
        launch = ["-m", *torchrun, *launch]
    size = f"trainer.per_device_train_batch_size={16 // ranks}"
    settings = (f"policy.model={policy}", f"output={output}", *SMALL, *changes, size)
    variables = {"VLLM_CPU_KVCACHE_SPACE": "1", "ACCELERATE_USE_CPU": "true"}
    return subprocess.run(
        [sys.executable, *launch, *settings],
        cwd=ROOT,
        env={**with_torchvision(), **variables},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.mark.parametrize(
    ("name", "ranks", "changes"),
    [("Qwen2.5-VL-3B", 2, [ADAPTER]), ("Qwen2.5-VL-3B", 1, []), ("Qwen3-VL-2B", 1, [])],
    ids=["Qwen2.5-VL, an adapter, two ranks", "Qwen2.5-VL", "Qwen3-VL"],
)
def test_it_samples_with_the_trainers_weights_and_pictures(
    name: str, ranks: int, changes: list[str], tmp_path: Path
) -> None:
    save_policy(f"Qwen/{name}-Instruct", SIZES["toy"], tmp_path / "policy")
    done = train(tmp_path / "policy", tmp_path / "out", ranks, *changes)
    assert done.returncode == 0, done.stderr[-5000:]
    assert "Traceback" not in done.stderr  # as where the engine outlives its process group
    lines = read_lines(tmp_path / "out/metrics.jsonl")
    steps = [line for line in lines if "loss" in line]
    assert len(steps) == STEPS
    for step in steps:
        assert step["grad_norm"] > 0
        assert step["sampling/sampling_logp_difference/max"] < 1e-3
        assert step["seconds/push"] > 0
        assert step["judge/failed_fraction"] == 0
