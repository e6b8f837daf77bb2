"""training/plan/memory.py: the formula by hand, and sizes of real architectures."""

from dataclasses import replace

import pytest
from transformers import LlavaConfig, Qwen2Config

from spanreward.training.plan.memory import PINNED, PROCESS, Plan, Size, size_of

POLICY = Size(parameters=1000, layers=2, hidden=10, kv_numbers=4, vocabulary=50, linear=30, context=99)
JUDGE = Size(parameters=4000, layers=3, hidden=16, kv_numbers=8, vocabulary=50, linear=40, context=99)


def test_one_gpu_trains_everything() -> None:
    plan = Plan(POLICY, JUDGE, gpus=1, sharding="none", tokens=7, kv_tokens=5)
    assert plan.training == {
        "policy": 2000,
        "optimizer": 12_000,
        "process": PROCESS,
        "gradients": 2000,
        "activations": 7 * 10 * 2 * 2 + 7 * 10 * 34 + 7 * 50 * 10,
        "judge's process": PROCESS,
    }
    assert plan.judging == {
        "policy": 2000,
        "optimizer": 12_000,
        "process": PROCESS,
        "judge": 8000,
        "KV cache": 4 * 3 * 8 * 5,
        "judge's batch": 28 * 8192 * 16 + 8 * 256 * 50,
        "judge's process": PROCESS,
    }
    assert plan.main_memory == 8000 * PINNED


@pytest.mark.parametrize(
    ("sharding", "weights", "gradients", "optimizer"),
    [("zero1", 2000, 2000, 3000), ("zero2", 2000, 500, 3000), ("zero3", 500, 500, 3000), ("fsdp", 500, 500, 3000)],
)
def test_what_each_way_of_sharding_divides_by_four(sharding: str, weights: int, gradients: int, optimizer: int) -> None:
    training = Plan(POLICY, JUDGE, gpus=4, sharding=sharding).training
    assert (training["policy"], training["gradients"], training["optimizer"]) == (weights, gradients, optimizer)


def test_adapters_are_all_that_is_trained() -> None:
    plan = Plan(POLICY, JUDGE, gpus=1, sharding="none", lora_rank=3)
    assert plan.trained == 90
    assert (plan.training["policy"], plan.training["gradients"]) == (2180, 180)
    assert plan.state["optimizer"] == 12 * 90


@pytest.mark.parametrize(
    ("sharding", "rank", "state"), [("none", None, 4 * 1000), ("zero2", None, 12 * 1000 // 4), ("none", 3, 12 * 90)]
)
def test_plain_adamw_keeps_bfloat16_moments_of_bfloat16_weights(sharding: str, rank: int | None, state: int) -> None:
    plan = Plan(POLICY, JUDGE, gpus=4, sharding=sharding, lora_rank=rank, dtype="bfloat16")
    assert plan.state["optimizer"] == state
    assert plan.training == {**replace(plan, dtype="float32").training, "optimizer": state}


def test_where_the_judge_is() -> None:
    one, several, elsewhere = (Plan(POLICY, JUDGE, 4, placement=p) for p in ("rank0", "per_rank", "server"))
    assert (one.main_memory, several.main_memory, elsewhere.main_memory) == (8000 * PINNED, 32_000 * PINNED, 0)
    assert one.judging == several.judging
    assert elsewhere.judging == elsewhere.state
    assert elsewhere.training["judge's process"] == 0
    halves = Plan(POLICY, JUDGE, 4, judge_parallel=2, kv_tokens=5)
    assert (halves.judge_awake["judge"], halves.judge_awake["KV cache"]) == (4000, 240)
    assert halves.main_memory == 16_000 * PINNED


def test_sizes_are_exact() -> None:
    config = Qwen2Config(
        hidden_size=8, intermediate_size=12, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        vocab_size=20, tie_word_embeddings=False, max_position_embeddings=77,
    )  # fmt: skip
    attention = 8 * 8 + 8 + 2 * (8 * 4 + 4) + 8 * 8  # queries, keys and values with their biases, output
    layer = attention + 3 * 8 * 12 + 2 * 8
    linear = (8 + 8) + 2 * (8 + 4) + (8 + 8) + 3 * (8 + 12)
    assert size_of(config) == Size(2 * 20 * 8 + 2 * layer + 8, 2, 8, 4, 20, 2 * linear, 77)


def test_a_picture_model_is_counted_with_its_tower() -> None:
    text = {"hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 1, "num_attention_heads": 2}
    tower = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = LlavaConfig(
        text_config={**text, "model_type": "llama", "vocab_size": 30, "num_key_value_heads": 1},
        vision_config={**tower, "model_type": "clip_vision_model", "image_size": 8, "patch_size": 4},
    )
    size = size_of(config)
    assert (size.layers, size.hidden, size.kv_numbers, size.vocabulary) == (1, 8, 4, 30)
    blind = size_of(Qwen2Config(**text, vocab_size=30, num_key_value_heads=1))
    assert size.parameters > blind.parameters
    assert size.linear > blind.linear


def test_pinned_blocks_of_a_14b_judge_by_hand() -> None:
    """Qwen3-14B in bfloat16 as vLLM keeps it: blocks rounded up to 2 MiB on the device, to a power of two pinned."""
    hidden, inner, layers, vocabulary = 5120, 17_408, 40, 151_936
    layer = [(hidden + 2 * 1024) * hidden, hidden * hidden, 2 * inner * hidden, inner * hidden]
    blocks = [2 * size for size in layers * layer + 2 * [vocabulary * hidden]]
    pinned = [1 << (-(-size // (2 << 20)) * (2 << 20) - 1).bit_length() for size in blocks]
    assert sum(blocks) == pytest.approx(29.5e9, rel=0.002)
    assert sum(pinned) == pytest.approx(44.6e9, rel=0.002)
    assert sum(pinned) / sum(blocks) == pytest.approx(PINNED, abs=0.005)
