"""Makes arguments and requests for vLLM's engine, and computes how many tokens its KV cache holds.

LLM(model=folder, **engine_arguments(4e9, "auto", sees_pictures=True))
"""

import os
from typing import Any

from spanreward.rewards.judges.encoding.prompt import Prompt

CPU_KV_CACHE_BYTES = 1 << 30  # vLLM's default is a large part of the machine's memory
# Tokens. Prompts share only whole blocks. With vLLM's default of 128, short questions would share
# hardly any block.
CPU_BLOCK_SIZE = 32
LEAST_UTILIZATION = 0.01
# vLLM's defaults on smaller GPUs. vLLM's defaults on large GPUs are 16,384 and 1,024. With the
# larger defaults, activations and logits would take 2 to 5 GB in addition to the KV cache.
# training/plan/memory.py counts activations and logits for the two numbers here.
BATCHED_TOKENS = 8192
BATCHED_PROMPTS = 256
BLOCK_TOKENS = 256  # a multiple of the block sizes that vLLM chooses
BYTES_OF_DTYPES = {"float32": 4, "float": 4}  # bytes of a number, by dtype; 2 for all other dtypes


def engine_arguments(memory: float | int | None, dtype: str, sees_pictures: bool) -> dict[str, Any]:
    """Returns keyword arguments for vLLM's `LLM`.

    memory, dtype: the arguments of VllmJudge. sees_pictures: whether the model takes pictures. No
    memory is reserved for videos, because no metric shows a video.
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
    arguments.update(_memory_arguments(memory, on_cpu))
    return arguments


def _memory_arguments(memory: float | int | None, on_cpu: bool) -> dict[str, Any]:
    """Returns the keyword arguments of vLLM's `LLM` that limit its memory; {} for vLLM's defaults.

    memory: up to 1, a fraction of the GPU's memory. Above 1, the bytes of the KV cache. None for
    the default.
    """
    if memory is None:
        if on_cpu and not os.environ.get("VLLM_CPU_KVCACHE_SPACE"):
            return {"kv_cache_memory_bytes": CPU_KV_CACHE_BYTES}
        return {}
    if memory <= 1:
        return {"gpu_memory_utilization": memory}
    arguments: dict[str, Any] = {"kv_cache_memory_bytes": int(memory)}
    if not on_cpu:
        # vLLM raises at its start if less than this fraction of the GPU is free, even if the size
        # of the cache is given. The default of 92 % would be too much beside a training.
        arguments["gpu_memory_utilization"] = LEAST_UTILIZATION
    return arguments


def bytes_per_token(config: Any, dtype: str, tensor_parallel: int = 1) -> int:
    """Returns how many bytes the keys and values of one token take on one device.

    config: the configuration of the text model. dtype: the dtype of the keys and values; "auto" is
    the dtype of `config`. tensor_parallel: the number of devices, which divide the heads among
    themselves.
    """
    # With grouped-query attention (Ainslie et al. 2023, arXiv 2305.13245), several heads share keys
    # and values. In a config without num_key_value_heads, each head has its own keys and values.
    heads = config.num_attention_heads
    shared = getattr(config, "num_key_value_heads", None) or heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    name = str(config.dtype if dtype == "auto" else dtype).removeprefix("torch.")
    # with more devices than heads, each device has one head
    heads_of_device = max(shared // tensor_parallel, 1)
    numbers = 2 * config.num_hidden_layers * heads_of_device * size  # 2: a key and a value
    return numbers * BYTES_OF_DTYPES.get(name, 2)


def tokens_that_fit(memory: int, token: int) -> int:
    """Returns how many tokens of one request fit into `memory` bytes of KV cache.

    token: the bytes of one token (`bytes_per_token`). Only whole blocks count, and vLLM keeps one
    block. Raises ValueError if no other block fits.
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

    The request has one placeholder token per picture. vLLM replaces the placeholder by as many
    tokens as the picture needs.
    """
    ids = list(prompt.short or prompt.ids)
    request: dict[str, Any] = {"prompt_token_ids": ids}
    if prompt.pictures:
        images = [picture.image for picture in prompt.pictures]
        request["multi_modal_data"] = {"image": images}
    return request
