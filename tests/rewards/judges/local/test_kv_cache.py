"""What a KV cache of so many bytes holds, by hand and by vLLM's own arithmetic."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
import yaml
from transformers import AutoConfig, LlamaConfig

from spanreward.rewards.judges.local.vllm_arguments import bytes_per_token, tokens_that_fit
from spanreward.rewards.judges.local.vllm_judge import VllmJudge
from spanreward.training.plan.memory import KNOWN_CONFIGS
from tests.support.paths import ROOT


def config_of(model: str) -> Any:
    """The text model's configuration, from the table of models."""
    config = {**KNOWN_CONFIGS[model], "dtype": torch.bfloat16}
    return AutoConfig.for_model(config.pop("model_type"), **config).get_text_config()


def recipe_judges() -> list[tuple[str, int]]:
    """Model and bytes of every vllm: judge that a recipe gives bytes."""
    found = set()
    for path in (ROOT / "recipes").rglob("*.yaml"):
        for reward in yaml.safe_load(path.read_text()).get("rewards", []):
            judge = reward["judge"]
            if isinstance(judge, dict) and "memory" in judge.get("options", {}):
                kind, _, model = judge["name"].partition(":")
                if kind == "vllm":
                    found.add((model, int(float(judge["options"]["memory"]))))
    return sorted(found)


def test_bytes_and_tokens_by_hand() -> None:
    qwen = config_of("Qwen/Qwen3-14B")
    assert bytes_per_token(qwen, "auto") == 2 * 40 * 8 * 128 * 2 == 163_840
    assert bytes_per_token(qwen, "float32") == 2 * 163_840
    assert bytes_per_token(qwen, "auto", tensor_parallel=4) == 163_840 // 4
    assert bytes_per_token(qwen, "auto", tensor_parallel=16) == 163_840 // 8
    sizes = {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 64}
    plain = LlamaConfig(**sizes, dtype=torch.float32)
    assert bytes_per_token(plain, "auto") == 2 * 2 * 4 * 16 * 4
    assert tokens_that_fit(1000 * 100, 100) == 2 * 256  # whole blocks, and one for the engine


HELD: list[Any] = [({"memory": memory}, 40_960) for memory in (None, 0.5, 1, 8e9)]
HELD += [({"memory": 4e9, "max_model_len": 8192}, 8192)]
HELD += [({"memory": 4e9}, 24_064)]  # (4e9 // (163,840 * 256) - 1) * 256


@pytest.mark.parametrize(("options", "context"), HELD)
def test_a_judge_reads_what_is_held(monkeypatch: Any, options: Any, context: int) -> None:
    config = config_of("Qwen/Qwen3-14B")
    fields = SimpleNamespace(get_text_config=lambda: config, model_type="qwen3")
    monkeypatch.setattr(VllmJudge, "config", fields)
    assert VllmJudge("m", **options).context == context


def test_every_recipe_has_a_judge_that_is_known() -> None:
    assert recipe_judges()
    assert {model for model, _ in recipe_judges()} <= set(KNOWN_CONFIGS)


@pytest.mark.vllm
@pytest.mark.parametrize(("model", "memory"), recipe_judges())
def test_every_recipes_judge_starts_by_vllms_own_rule(model: str, memory: int) -> None:
    from vllm.v1.core.kv_cache_utils import _check_enough_kv_cache_memory
    from vllm.v1.kv_cache_interface import FullAttentionSpec

    config = config_of(model)
    layers = config.num_hidden_layers

    def check(tokens: int, block: int) -> None:
        heads = {"num_kv_heads": config.num_key_value_heads, "head_size": config.head_dim}
        spec = FullAttentionSpec(block_size=block, dtype=torch.bfloat16, **heads)
        vllm_config: Any = SimpleNamespace(
            model_config=SimpleNamespace(max_model_len=tokens),
            parallel_config=SimpleNamespace(decode_context_parallel_size=1),
        )
        needed = layers * spec.max_memory_usage_bytes(vllm_config)
        left = memory - layers * spec.page_size_bytes  # vLLM keeps one block for itself
        _check_enough_kv_cache_memory(left, lambda: needed, tokens, lambda _: 0)

    most = config.max_position_embeddings
    held = min(most, tokens_that_fit(memory, bytes_per_token(config, "auto")))
    for block in (16, 32, 64, 128):
        check(held, block)
    if held < most:
        with pytest.raises(ValueError, match="at least one request"):
            check(most, 16)
