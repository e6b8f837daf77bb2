"""TRL's engine in this process samples for the trainer: real pushes, prompts with pictures and
sleeps, on a CPU.

How it can be is in tests/support/trl_engine_on_cpu.py. That both read the same weights and the same
pictures shows in the log-probabilities of what was sampled, the engine's against the trainer's.
With TRL's prompts, in which vLLM expands pictures twice, they differ by .08, and a weight that a
push leaves out is NaN. Each step shows the same four pictures: what vLLM keeps of one from earlier
weights makes .1 and more.
"""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.gpu.models import save_policy
from tests.gpu.phases.common import SIZES
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


def python(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env={**with_torchvision(), "VLLM_CPU_KVCACHE_SPACE": "1", **variables},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def train(
    policy: Path, output: Path, ranks: int, *changes: str
) -> subprocess.CompletedProcess[str]:
    launch = ["-m", "tests.support.trl_engine_on_cpu", "train", RECIPE]
    if ranks > 1:
        torchrun = ["torch.distributed.run", "--standalone", "--nproc_per_node", str(ranks)]
        launch = ["-m", *torchrun, *launch]
    size = f"trainer.per_device_train_batch_size={16 // ranks}"
    settings = (f"policy.model={policy}", f"output={output}", *SMALL, *changes, size)
    return python(*launch, *settings, ACCELERATE_USE_CPU="true")


def steps_of(output: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if "loss" in line]


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
    steps = steps_of(tmp_path / "out")
    assert len(steps) == STEPS
    for step in steps:
        assert step["grad_norm"] > 0
        assert step["sampling/sampling_logp_difference/max"] < 1e-3
        assert step["seconds/push"] > 0
        assert step["judge/failed_fraction"] == 0


def test_a_processor_unlike_the_folders_is_refused(tmp_path: Path) -> None:
    """The trainer's scales pictures down to fewer tokens than vLLM's, the folder's own."""
    save_policy("Qwen/Qwen2.5-VL-3B-Instruct", SIZES["toy"], tmp_path / "policy")
    done = python("-c", MINE, str(tmp_path / "policy"), str(tmp_path / "out"))
    assert done.returncode != 0
    assert "prompt with pictures as" in done.stderr
    assert "save your processor" in done.stderr


MINE = """
import sys
from datasets import Dataset
from transformers import AutoModelForImageTextToText, AutoProcessor
from spanreward import PoshReward, SpanGRPOConfig, SpanGRPOTrainer
from tests.support.tiny_models import drawing
from tests.support.trl_engine_on_cpu import on_cpu

if __name__ == "__main__":
    on_cpu()
    folder, output = sys.argv[1:]
    rows = [{"prompt": [{"role": "user", "content": "Describe it."}], "image": drawing(seed, (224, 168)),
             "reference": "A red circle is left of a blue square."} for seed in range(4)]
    args = SpanGRPOConfig(
        output, use_cpu=True, bf16=False, use_vllm=True, vllm_mode="colocate", vllm_enable_sleep_mode=True,
        vllm_max_model_length=512, per_device_train_batch_size=4, num_generations=2, max_completion_length=8,
        max_steps=1, report_to="none",
    )
    processor = AutoProcessor.from_pretrained(folder, padding_side="left")
    processor.image_processor.size = {"shortest_edge": 28 * 28, "longest_edge": 16 * 28 * 28}
    model = AutoModelForImageTextToText.from_pretrained(folder, dtype="float32")
    SpanGRPOTrainer(model, PoshReward("match"), args, Dataset.from_list(rows), processing_class=processor).train()
"""
