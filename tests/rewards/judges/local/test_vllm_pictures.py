"""Pictures through vLLM's real engine: rated and answered as by transformers."""

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

RATED = """
import json
import sys
from PIL import Image
from spanreward.rewards.judges import Question
from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from spanreward.rewards.judges.local.vllm_judge import VllmJudge
from spanreward.training.evaluation.answers import greedy
from spanreward.training.policy import load_policy
from tests.support.tiny_models import drawing

if __name__ == "__main__":
    sizes = [(56, 56), (224, 112), (60, 90), (10, 200), (1, 1)]
    shown = [(drawing(seed, size),) for seed, size in enumerate(sizes)]
    shown += [(Image.new("RGBA", (64, 64), (255, 0, 0, 90)),), (Image.new("L", (64, 64), 7),), ()]
    shown += [(drawing(1), drawing(2))]
    questions = [Question([{"role": "user", "content": "Rate it from 1 to 5."}], pictures) for pictures in shown]
    vllm = VllmJudge(sys.argv[1], memory=1e8, min_mass=0.0, dtype="float32")
    both = []
    for judge in (vllm, vllm, TransformersJudge(sys.argv[1], min_mass=0.0, dtype="float32")):
        with judge:
            both.append([rating.mean for rating in judge.rate(questions)])
    vllm.close()
    asked = {"prompt": [{"role": "user", "content": "Describe it."}]}
    rows = [{"id": str(n), "image": next(iter(one), None), **asked} for n, one in enumerate([*shown[:5], ()])]
    greedy.MAX_MODEL_TOKENS = 1024  # tokens that the cache holds
    written = greedy.answers_by_vllm(sys.argv[1], rows, 12, memory=1e8, dtype="float32")
    print(json.dumps([both, written, greedy.continue_prompts(*load_policy(sys.argv[1]), rows, 12)]), flush=True)
"""


@pytest.mark.vllm
def test_they_are_rated_and_answered_as_by_transformers(tmp_path: Path) -> None:
    if importlib.util.find_spec("vllm") is None or not FOLDER.is_dir():
        pytest.skip("needs vllm and torchvision: make test-vllm")
    save_policy("Qwen/Qwen2.5-VL-3B-Instruct", SIZES["toy"], tmp_path)
    script = tmp_path / "rated.py"  # vLLM starts processes, which import it
    script.write_text(RATED)
    environment = with_torchvision()
    environment["PYTHONPATH"] += f":{ROOT}"
    command: list[str] = [sys.executable, str(script), str(tmp_path)]
    options: Any = {"capture_output": True, "text": True, "timeout": 600}
    done = subprocess.run(command, cwd=ROOT, env=environment, **options)
    assert done.returncode == 0, done.stderr[-5000:]
    (first, again, transformers), written, expected = json.loads(done.stdout.splitlines()[-1])
    assert len(set(transformers)) == len(transformers)  # each picture changes the rating
    assert first == again == pytest.approx(transformers, abs=1e-5)
    assert written == expected
    assert len(set(written[0])) > 1
