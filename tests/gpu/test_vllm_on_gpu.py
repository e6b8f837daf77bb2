"""The `vllm:` judge on CUDA: asleep and awake, beside a policy's memory, killed, and with pictures.

All weights are random. Without vLLM these are skipped.
"""

import gc
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
import pytest
import torch

from experiments.benchmark.soak import growth, look
from spanreward.rewards import PoshReward, Status
from spanreward.rewards.judges import Question, Rating
from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from spanreward.rewards.judges.local.vllm_judge import VllmJudge
from spanreward.rewards.judges.usage import Usage
from tests.gpu.conftest import Machine
from tests.gpu.descriptions import descriptions
from tests.gpu.models import save_judge, save_policy
from tests.support.paths import ROOT
from tests.support.posh_questions import posh_questions
from tests.support.tiny_models import FIRST, ask

COUNT = 24
CACHE = 1.5e9  # bytes
CYCLES = 200


@pytest.fixture(autouse=True)
def installed() -> None:
    if importlib.util.find_spec("vllm") is None:
        pytest.skip("needs the package vllm")


@pytest.fixture(scope="module")
def small(machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a model of SmolLM2's size."""
    folder = tmp_path_factory.mktemp("small")
    save_judge("smollm2", machine, folder)
    return str(folder)


@pytest.fixture(scope="module")
def judge(small: str) -> Iterator[VllmJudge]:
    judge = VllmJudge(small, memory=CACHE, max_model_len=4096, min_mass=0.0)
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
    """One question alone: of several the engine reads as many at once as have come, which moves the
    last bits.
    """
    alone, several = questions(1), questions(COUNT)
    before = free(machine)
    judge.start()
    asleep = before - free(machine)
    first, together = means(judge.rate(alone)), means(judge.rate(several))
    with judge:
        awake = before - free(machine)
        assert means(judge.rate(alone)) == pytest.approx(first, abs=1e-3)
    figures["vllm: GB held asleep and awake"] = [round(asleep / 1e9, 2), round(awake / 1e9, 2)]
    usage = judge.usage
    figures["vllm: seconds to wake and to sleep, three times"] = [
        round(seconds, 2) for seconds in (usage.wake_seconds, usage.sleep_seconds)
    ]
    pairs = zip(together, means(judge.rate(several)), strict=True)
    figures[f"vllm: largest difference of a rating among {COUNT} asked twice"] = max(
        abs(a - b) for a, b in pairs
    )
    if machine.real:
        assert asleep < 2e9
        assert awake > asleep + CACHE


def test_it_sleeps_200_times_and_keeps_nothing(
    judge: VllmJudge, machine: Machine, figures: dict[str, Any]
) -> None:
    """On a CPU, where vLLM cannot sleep, the judge is opened and closed alone."""
    asked = questions(1)
    judge.start()
    held, first, worst, looks = free(machine), means(judge.rate(asked)), 0.0, []
    began = time.monotonic()
    for cycle in range(CYCLES):
        with judge:
            now = means(judge.rate(asked))
        worst = max(worst, *(abs(one - other) for one, other in zip(first, now, strict=True)))
        looks.append(
            {"seconds": time.monotonic() - began, **look(os.getpid()), "lines": float(cycle + 1)}
        )
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


def test_it_rates_as_transformers_does(
    judge: VllmJudge, small: str, machine: Machine, figures: dict[str, Any]
) -> None:
    """Both in bfloat16, each beside float32."""
    asked = questions(COUNT)
    other, exact = (
        TransformersJudge(small, dtype=dtype, device=machine.device, min_mass=0.0)
        for dtype in ("bfloat16", "float32")
    )
    ours, theirs, truth = (np.array(means(one.rate(asked))) for one in (judge, other, exact))
    found = [float(abs(one - truth).max()) for one in (ours, theirs)]
    figures["ratings' standard deviation over questions"] = float(truth.std())
    figures["largest difference of a rating from float32: vllm's and transformers', bfloat16"] = (
        found
    )
    assert truth.std() > 0.05
    assert found[0] < 2 * found[1] + 0.01


def test_a_judge_of_8_b_wakes_answers_64_descriptions_and_sleeps(
    tmp_path: Path, machine: Machine, figures: dict[str, Any]
) -> None:
    """What PoSh costs with vLLM; the weights are in main memory, as a hub's cache would be after
    its first use.
    """
    count = 64 if machine.real else 2
    with tempfile.TemporaryDirectory(dir="/dev/shm" if machine.real else tmp_path) as folder:
        save_judge("Qwen/Qwen3-8B", machine, Path(folder))
        gc.collect()
        torch.cuda.empty_cache()
        judge = VllmJudge(
            folder, memory=CACHE if not machine.real else 6e9, max_model_len=4096, min_mass=0.0
        )
        reward = PoshReward(judge)
        before = free(machine)
        began = time.monotonic()
        try:
            judge.start()
            started = time.monotonic() - began
            asleep = before - free(machine)
            samples, looks = descriptions(2 * count), []
            for half in (samples[:count], samples[count:]):
                told = counts(judge.usage)
                began = time.monotonic()
                verdicts = reward.assess(half)
                seconds = time.monotonic() - began
                assert {verdict.status for verdict in verdicts} == {Status.OK}
                grew = {
                    name: round(now - told[name], 2) for name, now in counts(judge.usage).items()
                }
                looks.append({"seconds": round(seconds, 2), **grew})
        finally:
            judge.close()
    figures["8 B judge, vllm: seconds to start"] = round(started, 1)
    figures["8 B judge, vllm: GB of the device asleep, and at most"] = [
        round(size / 1e9, 2) for size in (asleep, judge.usage.peak_memory_bytes)
    ]
    figures["8 B judge, vllm: PoSh of 64 descriptions, twice"] = looks


def counts(usage: Usage) -> dict[str, float]:
    return {
        "questions": usage.questions,
        "tokens": usage.prompt_tokens,
        "waking": usage.wake_seconds,
        "falling asleep": usage.sleep_seconds,
    }


def test_a_second_one_starts_beside_a_sleeping_one_and_a_policy(
    judge: VllmJudge, small: str, machine: Machine
) -> None:
    """Three quarters of the device are taken: 60 of 80 GB."""
    judge.start()
    total = torch.cuda.get_device_properties(0).total_memory if machine.real else 0
    policy = torch.empty(total * 3 // 4, dtype=torch.uint8, device=machine.device)
    second = VllmJudge(small, memory=1e9, max_model_len=2048, min_mass=0.0)
    try:
        second.start()
        assert means(second.rate(questions(1))) == pytest.approx(
            means(judge.rate(questions(1))), abs=1e-3
        )
    finally:
        second.close()
        del policy
        torch.cuda.empty_cache()  # the processes of later tests need it


def test_killed_it_is_started_anew(judge: VllmJudge, machine: Machine) -> None:
    with judge:
        before = means(judge.rate(questions(1)))
        judge._processes[0].kill()
        time.sleep(1.0)
        assert means(judge.rate(questions(1))) == pytest.approx(before, abs=1e-3)


def test_the_same_picture_before_and_after_a_sleep(tmp_path: Path, machine: Machine) -> None:
    """vLLM #42995: the cache of pictures outlived the sleep, and the engine died of it."""
    if importlib.util.find_spec("torchvision") is None:
        pytest.skip("needs torchvision, without which vLLM serves no pictures")
    save_policy("Qwen/Qwen2.5-VL-3B-Instruct", replace(machine, real=False), tmp_path)
    judge = VllmJudge(str(tmp_path), memory=5e8, min_mass=0.0)
    try:
        first = means(judge.rate([ask("Rate from 1 to 5.", FIRST)]))
        assert means(judge.rate([ask("Rate from 1 to 5.", FIRST)])) == pytest.approx(
            first, abs=1e-3
        )
    finally:
        judge.close()


COLOCATED = """
import os
import sys
os.environ |= {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29577"}
import torch
from trl.generation import vllm_generation
from spanreward.rewards.judges import Question
from spanreward.rewards.judges.local.vllm_judge import VllmJudge
from tests.support.trl_engine_on_cpu import on_cpu

if __name__ == "__main__":
    if not torch.cuda.is_available():
        on_cpu()
    judge = VllmJudge(sys.argv[1], memory=1e9, max_model_len=512, min_mass=0.0)
    judge.start()
    policy = vllm_generation.LLM(  # as TRL's vllm_mode=colocate
        model=sys.argv[1], distributed_executor_backend="external_launcher", enable_sleep_mode=True,
        gpu_memory_utilization=0.3, max_model_len=512,
    )
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


def test_killed_beside_trls_colocated_engine_it_is_started_anew(
    small: str, tmp_path: Path, machine: Machine
) -> None:
    script = tmp_path / "colocated.py"
    script.write_text(COLOCATED)
    line = run([sys.executable, str(script), small])
    _, first, second = line.split()
    assert float(first) == pytest.approx(float(second), abs=1e-3)


SAMPLED_IN_VLLM = (
    *("trainer.use_vllm=true", "trainer.vllm_mode=colocate", "trainer.vllm_enable_sleep_mode=true"),
    *("trainer.vllm_gpu_memory_utilization=0.1", "trainer.vllm_max_model_length=1024"),
)


@pytest.mark.parametrize("learns", ["all weights", "an adapter"])
def test_training_with_a_policy_in_vllm_and_a_judge_in_vllm(
    learns: str, small: str, tmp_path: Path, machine: Machine, figures: dict[str, Any]
) -> None:
    """A recipe as people launch it on one GPU: the engines of the policy and of the judge take
    turns.
    """
    if importlib.util.find_spec("torchvision") is None:
        pytest.skip("needs torchvision, without which vLLM serves no pictures")
    policy, out = tmp_path / "policy", tmp_path / "out"
    save_policy("Qwen/Qwen2.5-VL-3B-Instruct", replace(machine, real=False), policy)
    judge = {
        "name": f"vllm:{small}",
        "options": {"memory": 1e9, "min_mass": 0.0, "max_model_len": 4096},
    }
    launch = f"accelerate_configs/{'one_gpu' if machine.real else 'cpu'}.yaml"
    command = [
        *(
            sys.executable,
            "-m",
            "accelerate.commands.launch",
            "--num_processes",
            "1",
            "--config_file",
            launch,
        ),
        *("-m", "spanreward" if machine.real else "tests.support.trl_engine_on_cpu", "train"),
        *("recipes/quickstart/scenes-dapo.yaml", "--set", f"policy.model={policy}"),
        *(f"output={out}", f"rewards.0.judge={json.dumps(judge)}", "referees=[]", "data.count=32"),
        *(f"trainer.use_cpu={not machine.real}", f"trainer.bf16={machine.real}"),
        *("trainer.max_steps=4", "trainer.span_coef=0.5"),
        *("trainer.steps_per_generation=null", "trainer.logging_steps=1"),
        *SAMPLED_IN_VLLM,
        *("trainer.max_completion_length=48", "trainer.per_device_train_batch_size=32"),
        *(["policy.lora={r: 8, alpha: 16}"] if learns == "an adapter" else []),
    ]
    subprocess.run(command, cwd=ROOT, timeout=240 if machine.real else 900, check=True)
    steps = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    steps = [line for line in steps if "loss" in line]
    assert len(steps) == 4
    figures[f"training {learns}, the policy's and the judge's engine on one GPU: last step"] = (
        steps[-1]
    )
    assert all(line["judge/failed_fraction"] == 0 for line in steps)
    assert all(
        line["sampling/sampling_logp_difference/mean"] < (0.1 if machine.real else 1e-3)
        for line in steps
    )


RANKS = """
import sys
import torch.distributed as dist
from spanreward.rewards.judges import Question
from spanreward.rewards.judges.local.vllm_judge import VllmJudge

if __name__ == "__main__":
    judge = VllmJudge(sys.argv[1], memory=1e9, max_model_len=512, min_mass=0.0)
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


def test_two_ranks(small: str, tmp_path: Path, machine: Machine) -> None:
    """An engine each on its own GPU."""
    if not machine.real or torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    script = tmp_path / "ranks.py"
    script.write_text(RANKS)
    launch = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc_per_node",
        "2",
    ]
    _, first, second = run([*launch, str(script), small]).split()
    assert float(first) == pytest.approx(float(second), abs=1e-3)


def run(command: list[str]) -> str:
    """The line of the ratings.

    What the process says is shown as it comes, so that a run that is cut still tells.
    """
    found = ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        end = Timer(240, process.kill)
        end.start()
        for line in process.stdout or ():
            print(line, end="", flush=True)
            found = line if line.startswith("ratings") else found
        end.cancel()
    assert found, f"no ratings, exit code {process.returncode}"
    return found
