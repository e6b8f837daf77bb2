"""SpanGRPOTrainer on CUDA: stock TRL's step without spans, the CPU's credit, memory as computed,
the spans' share.
"""

import gc
import importlib.util
import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig
from PIL import Image

from experiments.benchmark.spans import given_ids
from spanreward.rewards import MatchJudge, PoshReward, Span, Verdict
from spanreward.training.grpo.config import SpanGRPOConfig
from spanreward.training.grpo.trainer import SpanGRPOTrainer
from spanreward.training.plan.memory import PROCESS_BYTES, Plan, size_of
from tests.gpu.conftest import Machine
from tests.gpu.models import build, config_of, processor
from tests.support.paths import ROOT
from tests.support.tiny_models import save_qwen
from tests.support.tiny_trainer import Scripted, make_trainer, scenes

TEXTS = ["A red star.", "A blue star.", "A red moon.", "A blue moon."] * 2
LANGUAGE_LAYERS = r".*language_model.*\.(q|k|v|o|gate|up|down)_proj"


def on(machine: Machine) -> dict[str, Any]:
    return {"use_cpu": not machine.real, "bf16": True, "gradient_checkpointing": True}


def given(trainer: Any, texts: list[str]) -> None:
    """Let the trainer sample these."""
    tokenizer = trainer.processing_class.tokenizer
    ids = [[*tokenizer(text)["input_ids"], tokenizer.eos_token_id] for text in texts]
    trainer._generate_single_turn = lambda *_, **__: (ids, None)


def verdicts() -> dict[str, Verdict]:
    return {
        text: Verdict(
            len(set(text)) / 20,
            spans=(
                Span(2, 6, 1.0, 0.1 * number, "attribute", "", 0),
                Span(7, 10, 1.0, -0.2, "entity", "", 1),
            ),
        )
        for number, text in enumerate(TEXTS[:4])
    }


def trained(
    path: Path, machine: Machine, cpu: bool = False, stock: bool = False, **settings: Any
) -> Any:
    where = {"use_cpu": True, "bf16": False} if cpu else on(machine)
    trainer = make_trainer(path, scenes(), [Scripted(verdicts())], stock, **where, **settings)
    given(trainer, TEXTS)
    trainer.train()
    return trainer


def test_without_spans_the_weights_are_stock_trls(
    tmp_path: Path, machine: Machine, monkeypatch: Any
) -> None:
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", False)
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        ours, stock = (
            trained(tmp_path / name, machine, stock=name == "stock") for name in ("ours", "stock")
        )
    finally:
        torch.use_deterministic_algorithms(False)
    for one, other in zip(ours.model.parameters(), stock.model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_with_spans_it_trains_and_the_credit_is_the_cpus(
    tmp_path: Path, machine: Machine, figures: dict[str, Any]
) -> None:
    there = trained(tmp_path / "there", machine, span_coef=1.0)
    here = trained(tmp_path / "here", machine, cpu=True, span_coef=1.0)
    assert all(parameter.isfinite().all() for parameter in there.model.parameters())
    spread = [
        [line["spans/scripted/credit_std"] for line in t.state.log_history[:2]]
        for t in (there, here)
    ]
    figures["credit_std on the device and on the CPU"] = spread
    assert spread[0] == pytest.approx(spread[1], abs=1e-5)


@pytest.mark.parametrize(
    ("name", "dtype", "rank"),  # of LoRA, or all weights
    [
        ("Qwen/Qwen3-VL-2B-Instruct", "bfloat16", None),
        ("Qwen/Qwen3-VL-2B-Instruct", "float32", None),
        ("Qwen/Qwen2.5-VL-3B-Instruct", "bfloat16", 16),
    ],
)
def test_a_real_step_takes_the_memory_that_was_computed_and_little_time_for_spans(
    name: str,
    dtype: str,
    rank: int | None,
    tmp_path: Path,
    machine: Machine,
    figures: dict[str, Any],
) -> None:
    """128 completions of 256 tokens, 8 at a time; random weights at real sizes; given
    completions.
    """
    completions, tokens, rows = (128, 256, 8) if machine.real else (16, 24, 4)
    case = f"{name}, {dtype}"
    gc.collect()  # trainers of earlier tests hold themselves
    elsewhere = torch.cuda.memory_allocated() if machine.real else 0
    config = config_of(name, machine)
    ready = processor(config, tmp_path / "processor")
    model = build(config, machine, getattr(torch, dtype))
    if machine.real:
        torch.cuda.reset_peak_memory_stats()
    words = ready.tokenizer
    ids = [[*row, words.eos_token_id] for row in given_ids(words, completions, tokens - 1)]
    dataset = scenes(completions // 8)
    args = SpanGRPOConfig(
        output_dir=str(tmp_path / "out"), per_device_train_batch_size=rows,
        gradient_accumulation_steps=completions // rows, num_generations=8, max_completion_length=tokens, max_steps=2,
        span_coef=1.0, logging_steps=1, save_strategy="no", report_to="none", learning_rate=1e-5, **on(machine),
    )  # fmt: skip
    trainer = SpanGRPOTrainer(
        model, [PoshReward(MatchJudge())], args, dataset, processing_class=ready,
        peft_config=LoraConfig(r=rank, target_modules=LANGUAGE_LAYERS, task_type="CAUSAL_LM") if rank else None,
    )  # fmt: skip
    trainer._generate_single_turn = lambda *_, **__: (ids, None)  # type: ignore[method-assign]
    spent = timed(trainer.span_credit, "add")
    steps = timed(trainer, "training_step")
    trainer.train()
    whole = sum(steps)  # both optimizer steps, with their judging
    figures[
        f"{case}: spans' share of a step of {completions} x {tokens} tokens, without sampling"
    ] = sum(spent) / whole
    assert len(spent) == 2
    plan = Plan(size_of(config), (), 1, "none", rank, rows * (tokens + 128), dtype=dtype)
    kept = sum(plan.training[part] for part in ("policy", "gradients", "optimizer"))
    figures[f"{case}: bytes of weights, gradients and optimizer state, and computed"] = [
        held(trainer),
        kept,
    ]
    if rank is None:  # LoRA is on fewer layers here than the plan assumes
        assert held(trainer) == kept
    if machine.real:
        computed = sum(plan.training.values()) - PROCESS_BYTES
        peak = torch.cuda.max_memory_allocated() - elsewhere
        figures[f"{case}: GB allocated at most, and computed"] = [
            round(peak / 1e9, 1),
            round(computed / 1e9, 1),
        ]
        assert peak == pytest.approx(computed, rel=0.05)
        assert sum(spent) / whole <= 0.02


def held(trainer: Any) -> int:
    """Bytes of the weights, of a gradient of each trained one, and of the optimizer's moments."""
    weights = list(trainer.model.parameters())
    moments = [
        value
        for state in trainer.optimizer.state.values()
        for value in state.values()
        if value.dim()
    ]
    return sum(
        part.nbytes for part in (*weights, *(one for one in weights if one.requires_grad), *moments)
    )


def timed(trainer: Any, method: str) -> list[float]:
    """Seconds of each call of the method from now on."""
    inner, seconds = getattr(trainer, method), []

    def call(*args: Any, **kwargs: Any) -> Any:
        began = time.monotonic()
        try:
            return inner(*args, **kwargs)
        finally:
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            seconds.append(time.monotonic() - began)

    setattr(trainer, method, call)
    return seconds


@pytest.mark.parametrize("config", ["fsdp2", "zero3"])
def test_divided_training_saves_and_resumes(config: str, tmp_path: Path, machine: Machine) -> None:
    """One process with NCCL, and Qwen, as FSDP2 cannot resume LLaVA (docs/status.md). On a CPU
    nothing is divided: tests/training/test_accelerate_configs.py does that.
    """
    if config == "zero3" and importlib.util.find_spec("deepspeed") is None:
        pytest.skip("needs the package deepspeed")
    policy, out = tmp_path / "policy", tmp_path / "out"
    save_qwen(policy)
    command = [
        *(sys.executable, "-m", "accelerate.commands.launch", "--num_processes", "1"),
        *("--config_file", f"accelerate_configs/{config if machine.real else 'cpu'}.yaml"),
        *(
            "scripts/train.py",
            "recipes/quickstart/scenes-dapo.yaml",
            "--set",
            f"output={out}",
            f"policy.model={policy}",
        ),
        *(
            f"trainer.use_cpu={not machine.real}",
            f"trainer.bf16={machine.real}",
            "trainer.save_strategy=steps",
        ),
        *("trainer.max_steps=2", "trainer.save_steps=1", "trainer.logging_steps=1"),
        *("trainer.per_device_train_batch_size=16", "data.count=32"),
        "trainer.steps_per_generation=null",
    ]
    subprocess.run(command, cwd=ROOT, check=True, timeout=120)
    whole = steps_of(out)
    (out / "checkpoint-2").rename(tmp_path / "aside")
    subprocess.run([*command, "--resume"], cwd=ROOT, check=True, timeout=120)
    again = steps_of(out)
    assert [line["step"] for line in (whole[-1], again[-1])] == [2, 2]
    assert whole[-1]["loss"] == pytest.approx(again[-1]["loss"], abs=1e-3)


def steps_of(out: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl without the summary at its end."""
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if "loss" in line]


def test_pictures_reach_the_policy(machine: Machine, tmp_path: Path) -> None:
    """The toy of Qwen's processor is a real one: a picture becomes as many tokens as the model
    makes of it.
    """
    config = config_of("Qwen/Qwen3-VL-2B-Instruct", machine)
    ready = processor(config, tmp_path)
    model = build(config, machine, torch.bfloat16).eval()
    picture = Image.new("RGB", (96, 64), tuple(random.Random(0).choices(range(256), k=3)))
    chat = [
        {
            "role": "user",
            "content": [{"type": "image", "image": picture}, {"type": "text", "text": "What?"}],
        }
    ]
    inputs = ready.apply_chat_template(
        chat, tokenize=True, return_dict=True, return_tensors="pt"
    ).to(machine.device)
    with torch.inference_mode():
        logits = model(**inputs).logits
    assert logits.isfinite().all()
