"""How many tokens of one request a KV cache holds: vLLM refuses to start where the longest allowed one does not fit."""

from typing import Any

BLOCK = 256  # tokens; a multiple of the block sizes that vLLM chooses
BYTES = {"float32": 4, "float": 4}  # of a number, by the name of its type; 2 otherwise


def bytes_per_token(config: Any, dtype: str, tensor_parallel: int = 1) -> int:
    """Keys and values of all layers on one device. config: the text model's; dtype: "auto" is the configuration's."""
    heads = config.num_attention_heads
    shared = getattr(config, "num_key_value_heads", None) or heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    name = str(config.dtype if dtype == "auto" else dtype).removeprefix("torch.")
    return 2 * config.num_hidden_layers * max(shared // tensor_parallel, 1) * size * BYTES.get(name, 2)


def tokens_that_fit(memory: int, token: int) -> int:
    """Tokens of one request in `memory` bytes, of `token` bytes each, in whole blocks; one block vLLM keeps for itself.

    Raises ValueError where not even one block fits.
    """
    blocks = memory // (token * BLOCK) - 1
    if blocks < 1:
        raise ValueError(
            f"memory={memory:.3g} bytes hold {memory // token} tokens of the judge's KV cache, which is less than "
            f"{2 * BLOCK}: give it {2 * BLOCK * token:.2g} or more."
        )
    return blocks * BLOCK
