"""What vLLM is given: its engine's arguments, and a prompt as one of its requests.

LLM(model=folder, **number_format("auto"), **cache_arguments(4e9), **batch_arguments(sees_pictures=True))
"""

import json
import os
from pathlib import Path
from typing import Any

from rewards.judges.encoding.prompt import Prompt

CPU_KV_CACHE_BYTES = 1 << 30  # by itself vLLM would take a large part of the machine's memory
CPU_BLOCK_SIZE = 32
LEAST_UTILIZATION = 0.01
# vLLM's defaults on smaller GPUs. On large ones it takes 16,384 and 1,024, whose activations and logits are 2 to 5 GB
# beside the cache; training/plan/memory.py counts these.
BATCHED_TOKENS = 8192
BATCHED_PROMPTS = 256
LORA_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)  # for which vLLM makes room


def number_format(dtype: str) -> dict[str, Any]:
    """ "auto" is float32 on a CPU, where bfloat16 is ten times slower without instructions for it."""
    from vllm.platforms import current_platform

    return {"dtype": "float32" if dtype == "auto" and current_platform.is_cpu() else dtype}


def cache_arguments(memory: float | int | None, block_size: int | None = None) -> dict[str, Any]:
    """Of the KV cache, see VllmJudge for `memory` and `block_size`; and that the engine can sleep where it can."""
    from vllm.platforms import current_platform

    arguments: dict[str, Any] = {
        "enable_prefix_caching": True,
        "enable_sleep_mode": current_platform.is_sleep_mode_available(),
    }
    if block_size is not None or current_platform.is_cpu():
        arguments["block_size"] = block_size or CPU_BLOCK_SIZE
    if memory is None:
        if current_platform.is_cpu() and not os.environ.get("VLLM_CPU_KVCACHE_SPACE"):
            arguments["kv_cache_memory_bytes"] = CPU_KV_CACHE_BYTES
    elif memory > 1:
        arguments["kv_cache_memory_bytes"] = int(memory)
        if not current_platform.is_cpu():
            # The KV cache has its size, but vLLM asks at the start for this fraction to be free, by default 92 %.
            arguments["gpu_memory_utilization"] = LEAST_UTILIZATION
    else:
        arguments["gpu_memory_utilization"] = memory
    return arguments


def batch_arguments(sees_pictures: bool) -> dict[str, Any]:
    """How much the engine reads at once, without room for videos, which no metric shows."""
    from vllm.platforms import current_platform

    arguments: dict[str, Any] = {"enforce_eager": True}
    if not current_platform.is_cpu():
        arguments |= {"max_num_batched_tokens": BATCHED_TOKENS, "max_num_seqs": BATCHED_PROMPTS}
    if sees_pictures:
        arguments["limit_mm_per_prompt"] = {"video": 0}
    return arguments


def adapter_arguments(adapter: Path | None) -> dict[str, Any]:
    """Room for a LoRA adapter. Raises as `lora_rank` does."""
    return {} if adapter is None else {"enable_lora": True, "max_lora_rank": lora_rank(adapter)}


def lora_rank(adapter: Path) -> int:
    """The rank for which vLLM must make room, from the adapter's configuration.

    Raises FileNotFoundError where there is none, ValueError for a rank that vLLM does not take.
    """
    path = adapter / "adapter_config.json"
    if not path.is_file():
        raise FileNotFoundError(f"the judge's adapter {adapter} has no {path.name}: give the folder peft has saved to")
    config = json.loads(path.read_text())
    rank = max(config["r"], *config.get("rank_pattern", {}).values(), 0)
    if rank > LORA_RANKS[-1]:
        raise ValueError(f"the judge's adapter {adapter} has rank {rank}, and vLLM takes {LORA_RANKS[-1]} at most")
    return min(room for room in LORA_RANKS if room >= rank)


def as_request(prompt: Prompt) -> dict[str, Any]:
    """A prompt as vLLM takes it: the safely encoded ids and, where they hold pictures, one placeholder for each of
    them, which vLLM itself makes as many tokens as its model needs.
    """
    if prompt.short is None:
        return {"prompt_token_ids": list(prompt.ids)}
    images = [picture.image for picture in prompt.pictures]
    return {"prompt_token_ids": list(prompt.short), "multi_modal_data": {"image": images}}
