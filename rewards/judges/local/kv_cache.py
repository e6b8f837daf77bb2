"""How many tokens of one request fit into a KV cache. vLLM does not start if the longest allowed request does not."""

from typing import Any

BLOCK = 256  # tokens; a multiple of the block sizes that vLLM chooses
BYTES = {"float32": 4, "float": 4}  # per number, by dtype; 2 for the others


def bytes_per_token(config: Any, dtype: str, tensor_parallel: int = 1) -> int:
    """Bytes of one token's keys and values on one device. config: the text model's. dtype: "auto" is the config's."""
    heads = config.num_attention_heads
    shared = getattr(config, "num_key_value_heads", None) or heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    name = str(config.dtype if dtype == "auto" else dtype).removeprefix("torch.")
    return 2 * config.num_hidden_layers * max(shared // tensor_parallel, 1) * size * BYTES.get(name, 2)


def tokens_that_fit(memory: int, token: int) -> int:
    """Tokens of one request that fit into `memory` bytes: whole blocks, less one that vLLM keeps. token: bytes of each.

    Raises ValueError if no block fits.
    """
    blocks = memory // (token * BLOCK) - 1
    if blocks < 1:
        raise ValueError(
            f"memory={memory:.3g} bytes hold {memory // token} tokens of the judge's KV cache, which is less than "
            f"{2 * BLOCK}: give it {2 * BLOCK * token:.2g} or more."
        )
    return blocks * BLOCK
