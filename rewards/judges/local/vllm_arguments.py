"""Arguments of vLLM's engine, what its KV cache holds, and prompts as its requests.

LLM(model=folder, **engine_arguments(4e9, "auto", sees_pictures=True))
"""

import os
from typing import Any

from spanreward.rewards.judges.encoding.prompt import Prompt

CPU_KV_CACHE_BYTES = 1 << 30  # vLLM's default is a large part of the machine's memory
CPU_BLOCK_SIZE = 32  # tokens; vLLM's 128 would lose most of what short questions have in common
LEAST_UTILIZATION = 0.01
# vLLM's defaults on smaller GPUs. Its defaults on large ones, 16,384 and 1,024, take 2 to 5 GB of
# activations and logits beside the cache. training/plan/memory.py counts these.
BATCHED_TOKENS = 8192
BATCHED_PROMPTS = 256
BLOCK_TOKENS = 256  # a multiple of the block sizes that vLLM chooses
BYTES = {"float32": 4, "float": 4}  # per number, by dtype; 2 for the others


def engine_arguments(memory: float | int | None, dtype: str, sees_pictures: bool) -> dict[str, Any]:
    """Returns arguments of vLLM's LLM: the KV cache and the weights' dtype (see VllmJudge for
    `memory` and `dtype`), how much is read at once, and sleep mode where the platform has it. There
    is no room for videos, which no metric shows.
    """
    from vllm.platforms import current_platform

    on_cpu = current_platform.is_cpu()
    arguments: dict[str, Any] = {
        "dtype": "float32" if on_cpu and dtype == "auto" else dtype,
        "enforce_eager": True,
        "enable_prefix_caching": True,
        "enable_sleep_mode": current_platform.is_sleep_mode_available(),
    }
    if on_cpu:
        arguments["block_size"] = CPU_BLOCK_SIZE
    else:
        arguments["max_num_batched_tokens"] = BATCHED_TOKENS
        arguments["max_num_seqs"] = BATCHED_PROMPTS
    if sees_pictures:
        arguments["limit_mm_per_prompt"] = {"video": 0}
    # `memory` is the fraction of a GPU up to 1, and bytes of the KV cache above.
    if memory is None:
        if on_cpu and not os.environ.get("VLLM_CPU_KVCACHE_SPACE"):
            arguments["kv_cache_memory_bytes"] = CPU_KV_CACHE_BYTES
    elif memory > 1:
        arguments["kv_cache_memory_bytes"] = int(memory)
        if not on_cpu:
            # The cache's size is given, but at its start vLLM still wants this fraction to be free:
            # 92 % by default.
            arguments["gpu_memory_utilization"] = LEAST_UTILIZATION
    else:
        arguments["gpu_memory_utilization"] = memory
    return arguments


def bytes_per_token(config: Any, dtype: str, tensor_parallel: int = 1) -> int:
    """Returns the bytes of one token's keys and values on one device.

    config: the text model's. dtype: "auto" is the config's. tensor_parallel: devices, which share
    the heads.
    """
    # With grouped-query attention (Ainslie et al. 2023, arXiv 2305.13245) several heads share keys
    # and values. A config that does not say so has them for each head.
    heads = config.num_attention_heads
    shared = getattr(config, "num_key_value_heads", None) or heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    name = str(config.dtype if dtype == "auto" else dtype).removeprefix("torch.")
    # with more devices than heads, each head is on several
    heads_of_device = max(shared // tensor_parallel, 1)
    numbers = 2 * config.num_hidden_layers * heads_of_device * size  # a key and a value in each
    return numbers * BYTES.get(name, 2)


def tokens_that_fit(memory: int, token: int) -> int:
    """Returns how many tokens of one request fit into `memory` bytes: whole blocks, less one that
    vLLM keeps. token: bytes of each (`bytes_per_token`).

    Raises ValueError if no block fits.
    """
    blocks = memory // (token * BLOCK_TOKENS) - 1
    if blocks < 1:
        raise ValueError(
            f"memory={memory:.3g} bytes hold {memory // token} tokens of the judge's KV cache, "
            f"which is less than {2 * BLOCK_TOKENS}: give it {2 * BLOCK_TOKENS * token:.2g} or "
            "more."
        )
    return blocks * BLOCK_TOKENS


def as_request(prompt: Prompt) -> dict[str, Any]:
    """Returns a prompt as a request of vLLM.

    The ids have one placeholder per picture, which vLLM itself expands.
    """
    ids = list(prompt.short or prompt.ids)
    request: dict[str, Any] = {"prompt_token_ids": ids}
    if prompt.pictures:
        images = [picture.image for picture in prompt.pictures]
        request["multi_modal_data"] = {"image": images}
    return request
