"""The `transformers:` judge on CUDA: the CPU's numbers, memory that runs out, and what judging a
batch takes.
"""

import random
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from scipy.stats import spearmanr

from experiments.scenes.language import describe
from experiments.scenes.world import make_scenes
from spanreward.rewards import PoshReward, Status
from spanreward.rewards.judges import Question, Rating
from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from spanreward.training.plan.memory import PINNED_SHARE
from tests.gpu.conftest import Machine
from tests.gpu.descriptions import descriptions
from tests.gpu.models import judge_of
from tests.support.tiny_models import FIRST, SECOND, ask, save_llava, save_qwen


def questions() -> list[Question]:
    generator = random.Random(0)
    texts = [
        f"Rate from 1 to 5. {describe(scene, generator)}"
        for scene in make_scenes("train", level=3, count=24)
    ]
    return [ask(text, *images) for images in ((), (FIRST,), (FIRST, SECOND)) for text in texts]


def means(ratings: list[Any]) -> list[float]:
    assert all(isinstance(rating, Rating) for rating in ratings)
    return [rating.mean for rating in ratings]


@pytest.mark.parametrize("save", [save_llava, save_qwen], ids=["llava", "qwen2.5-vl"])
def test_the_cpus_ratings(
    save: Any, tmp_path: Path, machine: Machine, figures: dict[str, Any], monkeypatch: Any
) -> None:
    # or patches are convolved with 10 bits
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    save(tmp_path)
    exact, same, coarse, coarse_here = (
        means(
            TransformersJudge(str(tmp_path), dtype=dtype, device=device, min_mass=0.0).rate(
                questions()
            )
        )
        for dtype in ("float32", "bfloat16")
        for device in ("cpu", machine.device)
    )
    difference = max(abs(one - other) for one, other in zip(exact, same, strict=True))
    found = [float(spearmanr(exact, ratings).statistic) for ratings in (coarse, coarse_here)]
    figures[f"{save.__name__}: largest difference of a rating from the CPU's, float32"] = difference
    figures[f"{save.__name__}: rank correlation of bfloat16 with float32, on the CPU and here"] = (
        found
    )
    assert difference < 1e-4
    assert found[1] > found[0] - 0.005


def test_out_of_memory_halves_the_batch_and_answers(
    tmp_path: Path, machine: Machine, figures: dict[str, Any], monkeypatch: Any
) -> None:
    judge = judge_of(
        "Qwen/Qwen3-8B" if not machine.real else "smollm2", machine, tmp_path, batch_size=256
    )
    asked = [
        Question(
            [{"role": "user", "content": f"{number} " + "red star " * (60 if machine.real else 4)}]
        )
        for number in range(256 if machine.real else 16)
    ]
    alone = means([judge.rate([question])[0] for question in asked[:4]])
    if machine.real:
        torch.cuda.empty_cache()
        room = torch.cuda.memory_allocated() + 600_000_000
        torch.cuda.set_per_process_memory_fraction(
            room / torch.cuda.get_device_properties(0).total_memory
        )
    else:
        inner = judge._next_token_logprobs

        def small(suffixes: Any, *others: Any) -> Any:
            if len(suffixes) > 4:
                raise torch.OutOfMemoryError("as on a GPU")
            return inner(suffixes, *others)

        monkeypatch.setattr(judge, "_next_token_logprobs", small)
    try:
        together = means(judge.rate(asked))
    finally:
        if machine.real:
            torch.cuda.set_per_process_memory_fraction(1.0)
    figures["questions asked again in halves of a batch, of 256"] = judge.usage.retries
    assert judge.usage.retries > 0
    assert together[:4] == pytest.approx(alone, abs=0.05)


def test_judging_a_batch_of_64_descriptions(
    tmp_path: Path, machine: Machine, figures: dict[str, Any]
) -> None:
    """PoSh with a model of 8 B and random weights: what it says means nothing, what it costs is
    real.
    """
    count = 64 if machine.real else 8
    judge = judge_of("Qwen/Qwen3-8B", machine, tmp_path)
    reward, samples = PoshReward(judge), descriptions(count)
    began = time.monotonic()
    verdicts = reward.assess(samples)
    seconds = time.monotonic() - began
    figures["8 B judge, PoSh: questions, seconds, questions a second of a batch of 64"] = [
        judge.usage.questions,
        round(seconds, 2),
        round(judge.usage.questions / seconds, 1),
    ]
    figures["8 B judge: peak GB of the device"] = round(judge.usage.peak_memory_bytes / 1e9, 1)
    assert {verdict.status for verdict in verdicts} == {Status.OK}


def test_pinned_main_memory_of_a_sleeping_judge(machine: Machine, figures: dict[str, Any]) -> None:
    """vLLM's level 1: the fused weights of Qwen3-14B's layers, two layers of it, copied into pinned
    memory.
    """
    if not machine.real:
        pytest.skip("needs a GPU: pinned memory is CUDA's")
    shapes = [(7168, 5120), (5120, 5120), (34_816, 5120), (5120, 17_408)] * 2
    weights = [torch.empty(shape, dtype=torch.bfloat16, device="cuda") for shape in shapes]
    size = sum(weight.nbytes for weight in weights)
    before = torch.cuda.host_memory_stats()["allocated_bytes.current"]
    torch.cuda.synchronize()
    began = time.monotonic()
    kept = [torch.empty(shape, dtype=torch.bfloat16, pin_memory=True) for shape in shapes]
    for there, weight in zip(kept, weights, strict=True):
        there.copy_(weight)
    torch.cuda.synchronize()
    seconds = time.monotonic() - began
    pinned = torch.cuda.host_memory_stats()["allocated_bytes.current"] - before
    figures["pinned bytes for a byte of Qwen3-14B's layers"] = round(pinned / size, 3)
    figures["GB a second into pinned memory, the first time"] = round(size / seconds / 1e9, 1)
    assert pinned / size == pytest.approx(PINNED_SHARE, rel=0.05)
