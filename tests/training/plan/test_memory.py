"""training/plan/memory.py: the formula by hand, and sizes of real architectures."""

from dataclasses import replace

import pytest
from transformers import LlavaConfig, Qwen2Config

from spanreward.training.plan.memory import (
    LIVE_PARAMETERS,
    PINNED_SHARE,
    PROCESS_BYTES,
    Awake,
    Plan,
    Size,
    size_by_name,
    size_of,
)

POLICY = Size(
    parameters=1000, layers=2, hidden=10, kv_bytes=32, vocabulary=50, lora_parameters_per_rank=30
)
SIZE = Size(
    parameters=4000, layers=3, hidden=16, kv_bytes=96, vocabulary=50, lora_parameters_per_rank=40
)
JUDGE = Awake(SIZE, kv_tokens=5)
PARTS = ("policy", "gradients", "optimizer", "copies of weights")


def test_one_gpu_trains_everything() -> None:
    plan = Plan(POLICY, (JUDGE,), gpus=1, sharding="none", tokens=7)
    state = {"policy": 4000, "optimizer": 8000, "process": PROCESS_BYTES}
    state["judges' processes"] = PROCESS_BYTES
    assert plan.training == {
        **state,
        "gradients": 4000,
        "copies of weights": 2000,
        "activations": 7 * 10 * 2 * 2 + 7 * 10 * 34,
        "log-probabilities": 2 * 7 * 50 + 4 * 7 * 10 + 4 * 50 * 10,
    }
    batch = 28 * 8192 * 16 + 8 * 256 * 50
    assert plan.judging == {
        **state, "judge": 8000, "KV cache": 4 * 3 * 8 * 5, "judge's batch": batch,
    }  # fmt: skip
    assert plan.main_memory == 8000 * PINNED_SHARE


@pytest.mark.parametrize(
    # docs/evidence/gpu.md: at most, in GB, by PyTorch's allocator on an H200
    ("policy", "dtype", "rank", "allocated"),
    [
        ("Qwen/Qwen3-VL-2B-Instruct", "bfloat16", None, 19.4),
        ("Qwen/Qwen3-VL-2B-Instruct", "float32", None, 38.7),
        ("Qwen/Qwen2.5-VL-3B-Instruct", "bfloat16", 16, 8.9),
    ],
)
def test_what_a_step_took_on_a_gpu(
    policy: str, dtype: str, rank: int | None, allocated: float
) -> None:
    """Eight rows of 128 and 256 tokens. Pictures and fragmentation are not computed."""
    size = size_by_name(policy)
    assert size is not None
    plan = Plan(size, (), 1, "none", rank, tokens=8 * (128 + 256), dtype=dtype)
    assert (sum(plan.training.values()) - PROCESS_BYTES) / 1e9 == pytest.approx(allocated, rel=0.05)


@pytest.mark.parametrize(
    ("sharding", "weights", "gradients", "optimizer", "copies"),
    [
        ("zero1", 2000, 2000, 3000, 0),
        ("zero2", 2000, 500, 3000, 0),
        ("zero3", 500, 500, 3000, 2000),  # all 1000 parameters are fewer than may be live
        ("fsdp", 1000, 1000, 2000, 2000),  # both layers
    ],
)
def test_what_each_way_of_sharding_divides_by_four(
    sharding: str, weights: int, gradients: int, optimizer: int, copies: int
) -> None:
    training = Plan(POLICY, (JUDGE,), gpus=4, sharding=sharding).training
    assert [training[part] for part in PARTS] == [weights, gradients, optimizer, copies]


def test_zero3_gathers_only_so_much() -> None:
    large = replace(POLICY, parameters=7 * LIVE_PARAMETERS, layers=70)
    for sharding, share in (("zero3", 1), ("fsdp", 5)):
        plan = Plan(large, (JUDGE,), gpus=4, sharding=sharding)
        assert plan.training["copies of weights"] == 2 * LIVE_PARAMETERS // share


@pytest.mark.parametrize(("dtype", "weights"), [("float32", 4 * 1000), ("bfloat16", 2 * 1000)])
def test_adapters_are_all_that_is_trained(dtype: str, weights: int) -> None:
    plan = Plan(POLICY, (JUDGE,), gpus=1, sharding="none", lora_rank=3, dtype=dtype)
    adapter = 3 * POLICY.lora_parameters_per_rank
    parts = [plan.training[part] for part in PARTS]
    assert parts == [weights + 4 * adapter, 4 * adapter, 8 * adapter, 0]


def test_plain_adamw_keeps_bfloat16_moments_of_bfloat16_weights() -> None:
    plan = Plan(POLICY, (JUDGE,), gpus=4, sharding="none", dtype="bfloat16")
    assert [plan.training[part] for part in PARTS] == [2000, 2000, 4000, 0]
    assert replace(plan, sharding="zero2").state["optimizer"] == 12 * 1000 // 4


def test_what_writes() -> None:
    plain = Plan(POLICY, (), gpus=4, written_tokens=5)
    assert plain.writing == {**plain.state, "gathered weights": 2000, "KV cache": 4 * 2 * 4 * 5}
    assert replace(plain, sharding="none").writing["gathered weights"] == 0
    asleep = replace(plain, engine=700)
    assert asleep.writing == {**plain.state, "TRL's engine": 700}
    assert (asleep.training, asleep.judging) == (plain.training, plain.judging)
    awake = replace(asleep, engine_sleeps=False)
    assert awake.writing == asleep.writing
    assert all(phase["TRL's engine"] == 700 for phase in (awake.training, awake.judging))
    assert sum(replace(plain, engine=0).writing.values()) == sum(plain.state.values())


def test_judges_on_a_server_on_several_gpus_and_two_of_them() -> None:
    elsewhere, one = Plan(POLICY, (), 4), Plan(POLICY, (JUDGE,), 4)
    assert (one.main_memory, elsewhere.main_memory) == (32_000 * PINNED_SHARE, 0)
    assert elsewhere.judging == elsewhere.state
    halves = Plan(POLICY, (replace(JUDGE, parallel=2),), 4)
    assert (halves.judging["judge"], halves.judging["KV cache"]) == (4000, 240)
    assert halves.main_memory == 16_000 * PINNED_SHARE
    both = Plan(POLICY, (Awake(POLICY, kv_tokens=5), JUDGE), 4)
    assert both.judging == {**one.judging, "judges' processes": 2 * PROCESS_BYTES}
    assert both.main_memory == 40_000 * PINNED_SHARE


def test_sizes_are_exact() -> None:
    config = Qwen2Config(
        hidden_size=8, intermediate_size=12, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        vocab_size=20, tie_word_embeddings=False,
    )  # fmt: skip
    # queries, keys and values with their biases, output
    attention = 8 * 8 + 8 + 2 * (8 * 4 + 4) + 8 * 8
    layer = attention + 3 * 8 * 12 + 2 * 8
    linear = (8 + 8) + 2 * (8 + 4) + (8 + 8) + 3 * (8 + 12)
    assert size_of(config) == Size(2 * 20 * 8 + 2 * layer + 8, 2, 8, 2 * 2 * 4 * 2, 20, 2 * linear)


def test_a_picture_model_is_counted_with_its_tower() -> None:
    heads = {"hidden_size": 8, "num_attention_heads": 2}
    text = {**heads, "intermediate_size": 12, "num_hidden_layers": 1}
    text |= {"vocab_size": 30, "num_key_value_heads": 1}
    tower = {**heads, "intermediate_size": 8, "num_hidden_layers": 2, "image_size": 8}
    config = LlavaConfig(
        text_config={**text, "model_type": "llama"},
        vision_config={**tower, "model_type": "clip_vision_model", "patch_size": 4},
    )
    size = size_of(config)
    assert (size.layers, size.hidden, size.kv_bytes, size.vocabulary) == (1, 8, 16, 30)
    blind = size_of(Qwen2Config(**text))
    assert size.parameters > blind.parameters
    assert size.lora_parameters_per_rank > blind.lora_parameters_per_rank


def test_pinned_blocks_of_a_14b_judge_by_hand() -> None:
    """Qwen3-14B as vLLM keeps it: blocks of 2 MiB on the device, of powers of two pinned."""
    hidden, inner, layers, vocabulary = 5120, 17_408, 40, 151_936
    layer = [(hidden + 2 * 1024) * hidden, hidden * hidden, 2 * inner * hidden, inner * hidden]
    blocks = [2 * size for size in layers * layer + 2 * [vocabulary * hidden]]
    pinned = [1 << (-(-size // (2 << 20)) * (2 << 20) - 1).bit_length() for size in blocks]
    assert sum(blocks) == pytest.approx(29.5e9, rel=0.002)
    assert sum(pinned) == pytest.approx(44.6e9, rel=0.002)
    assert sum(pinned) / sum(blocks) == pytest.approx(PINNED_SHARE, abs=0.005)
