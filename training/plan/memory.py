"""How much memory a run takes on each GPU, computed before anything is loaded.

Per trained parameter AdamW keeps 16 bytes (ZeRO, arXiv 1910.02054, section 3.1): DeepSpeed 2 of
weights, 2 of gradients and 12 of optimizer state; PyTorch and FSDP 4, 4 and 8, and autocast a
bfloat16 copy; of a bfloat16 policy without sharding 2, 2 and 4. ZeRO-3 holds up to
LIVE_PARAMETERS whole weights in a pass, FSDP two layers, and transformers gathers all to write.
Gradient checkpointing keeps every layer's input, and 34 bytes a number of one layer (arXiv
2205.05198, equation 1). TRL projects TILE_TOKENS times TILE_VOCABULARY at once and keeps its
gradients in float32 (trl/kernels/chunked_logprob.py). A judge's batch takes 28 bytes a number of
the widest layer, which is assumed, and its float32 logits twice.
Not counted: fragmentation, communication buffers, and activations of pictures.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, PretrainedConfig

from spanreward.rewards.files.yaml_file import read_yaml_file
from spanreward.rewards.judges.local.vllm_arguments import (
    BATCHED_PROMPTS,
    BATCHED_TOKENS,
    bytes_per_token,
)
from spanreward.training.policy import model_class

_KNOWN_MODELS_FILE = Path(__file__).with_name("known_models.yaml")
CONFIGS: dict[str, dict[str, Any]] = read_yaml_file(_KNOWN_MODELS_FILE)
# assumed: what CUDA and its libraries keep for one process beside its tensors
PROCESS_BYTES = 2_000_000_000
TILE_TOKENS = 4096
TILE_VOCABULARY = 32768
# Main memory of a sleeping judge's weights / their size: vLLM copies each into a pinned block,
# which torch rounds up to a power of two. The fused weights of a layer of Qwen3-14B, 73, 52, 357
# and 178 MB, become 134, 67, 537 and 268.
PINNED_SHARE = 1.51
LIVE_PARAMETERS = 1_000_000_000
SHARDED: dict[str, tuple[str, ...]] = {
    "none": (),
    "zero1": ("optimizer",),
    "zero2": ("optimizer", "gradients"),
    "zero3": ("optimizer", "gradients", "weights"),
    "fsdp": ("optimizer", "gradients", "weights"),
}


@dataclass(frozen=True, slots=True)
class Size:
    """What decides a model's memory: its parameters and the text model's shape.

    Attributes:
        parameters: how many there are, those of the vision tower too.
        layers, hidden, vocabulary: of the text model.
        kv_bytes: of one token's keys and values in all layers, in bfloat16.
        linear: rows plus columns of all linear layers. A LoRA adapter of rank r has r times as many
            parameters.
    """

    parameters: int
    layers: int
    hidden: int
    kv_bytes: int
    vocabulary: int
    linear: int


@dataclass(frozen=True, slots=True)
class Awake:
    """A judge on each rank's GPU, in bfloat16.

    Attributes:
        size: of its model.
        parallel: how many GPUs share it.
        kv_tokens: how many tokens its KV cache holds.
    """

    size: Size
    parallel: int = 1
    kv_tokens: int = 40_000

    @property
    def parts(self) -> dict[str, int]:
        """Bytes on each GPU."""
        # 28 bytes are assumed; a logit has 4, and is there twice
        activations = 28 * BATCHED_TOKENS * self.size.hidden
        logits = 8 * BATCHED_PROMPTS * self.size.vocabulary
        return {
            "judge": 2 * self.size.parameters // self.parallel,
            "KV cache": self.size.kv_bytes * self.kv_tokens // self.parallel,
            "judge's batch": activations + logits,
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """A policy in training, which computes in bfloat16, and the judges on its GPUs.

    Attributes:
        policy: the size of its model.
        judges: those on the GPUs of training.
        gpus: how many there are, with a training process each.
        sharding: a key of SHARDED.
        lora_rank: of adapters on all linear layers; None trains all weights.
        tokens: of prompts and completions in one pass on one GPU.
        written_tokens: that transformers has at once when it writes.
        dtype: of the policy's weights as they are loaded.
        engine: bytes of TRL's engine on the GPU, 0 if it has GPUs of its own, None where
            transformers writes.
        engine_sleeps: whether the engine is away while others work.
    """

    policy: Size
    judges: tuple[Awake, ...]
    gpus: int
    sharding: str = "zero3"
    lora_rank: int | None = None
    tokens: int = 8192
    written_tokens: int = 8192
    dtype: str = "float32"
    engine: int | None = None
    engine_sleeps: bool = True

    @property
    def trained(self) -> int:
        """The parameters that are trained."""
        if self.lora_rank is None:
            return self.policy.parameters
        return self.lora_rank * self.policy.linear

    @property
    def bytes_each(self) -> tuple[int, int, int]:
        """Bytes of a trained parameter: weights, gradients, optimizer."""
        # DeepSpeed trains bfloat16 weights, and keeps float32 ones with the optimizer
        if self.sharding.startswith("zero"):
            return 2, 2, 12
        # all in bfloat16: the weights, their gradients and AdamW's two moments
        is_whole = self.sharding == "none" and self.lora_rank is None
        if self.dtype == "bfloat16" and is_whole:
            return 2, 2, 4
        # all in float32
        return 4, 4, 8

    @property
    def state(self) -> dict[str, int]:
        """What stays on each GPU: the policy's weights, the optimizer's state, an engine without
        sleep, processes.
        """
        weights, _, optimizer = self.bytes_each
        frozen = 0  # bytes of weights that an adapter leaves as they are
        if self.lora_rank is not None:
            in_float32 = self.dtype == "float32" and not self.sharding.startswith("zero")
            bytes_a_weight = 4 if in_float32 else 2
            frozen = self.policy.parameters * bytes_a_weight
        parts = {
            "policy": self._share("weights", frozen + weights * self.trained),
            "optimizer": self._share("optimizer", optimizer * self.trained),
            "process": PROCESS_BYTES,
            "judges' processes": PROCESS_BYTES * len(self.judges),
        }
        if self.engine and not self.engine_sleeps:
            parts["TRL's engine"] = self.engine
        return parts

    @property
    def training(self) -> dict[str, int]:
        """Each GPU in a backward pass, while judges sleep."""
        numbers = self.tokens * self.policy.hidden  # of one layer's input
        weights, gradients, _ = self.bytes_each
        # by sharding, the parameters that a pass holds once more: whole ones that were gathered
        whole = {
            "zero3": min(self.policy.parameters, LIVE_PARAMETERS),
            "fsdp": 2 * self.policy.parameters // self.policy.layers,
        }
        output_layer = 0
        if self.lora_rank is None:
            output_layer = self.policy.vocabulary * self.policy.hidden
            # autocast's bfloat16 copy of float32 weights
            if weights == 4:
                whole["none"] = self.trained
        # log-probabilities are computed tile by tile
        tile_tokens = min(self.tokens, TILE_TOKENS)
        tile = tile_tokens * min(self.policy.vocabulary, TILE_VOCABULARY)
        return {
            **self.state,
            "gradients": self._share("gradients", gradients * self.trained),
            "copies of weights": 2 * whole.get(self.sharding, 0),
            "activations": numbers * (2 * self.policy.layers + 34),
            "log-probabilities": 2 * tile + 4 * (numbers + output_layer),
        }

    @property
    def writing(self) -> dict[str, int]:
        """Each GPU while the policy writes and judges sleep."""
        if self.engine is not None:
            parts = self.state
            # one on GPUs of its own takes nothing here
            if self.engine:
                parts["TRL's engine"] = self.engine
            return parts
        # transformers gathers all weights to write
        gathered = 0
        if "weights" in SHARDED[self.sharding]:
            gathered = 2 * self.policy.parameters
        return {
            **self.state,
            "gathered weights": gathered,
            "KV cache": self.policy.kv_bytes * self.written_tokens,
        }

    @property
    def judging(self) -> dict[str, int]:
        """Each GPU while the largest judge is awake, as one is after another, without gradients and
        activations.
        """
        largest: dict[str, int] = {}
        most = 0  # bytes
        for judge in self.judges:
            parts = judge.parts
            size = sum(parts.values())
            if size > most:
                largest = parts
                most = size
        return {**self.state, **largest}

    @property
    def main_memory(self) -> int:
        """The weights of all sleeping judges (level 1), in pinned blocks of main memory."""
        total = 0
        for judge in self.judges:
            copies = self.gpus // judge.parallel
            total += round(copies * 2 * PINNED_SHARE * judge.size.parameters)
        return total

    def _share(self, part: str, size: int) -> int:
        """Returns the bytes of a part on one GPU. size: of the whole part."""
        if part in SHARDED[self.sharding]:
            return size // self.gpus
        return size


def size_by_name(model: str) -> Size | None:
    """Returns the size of a hub id's or a folder's model; None where nothing on this machine knows
    it.

    Looks at a folder's config.json, the hub's local cache, then known_models.yaml.
    """
    try:
        local = AutoConfig.from_pretrained(model, local_files_only=True, trust_remote_code=False)
        return size_of(local)
    except (OSError, ValueError):
        # what is not on this machine may be a model that the recipes name
        values = dict(CONFIGS.get(model, {}))
        if not values:
            return None
        config = AutoConfig.for_model(values.pop("model_type"), **values)
        return size_of(config)


def size_of(config: PretrainedConfig) -> Size:
    """Returns a model's exact size from its configuration, by building it without memory for its
    weights.
    """
    # tensors of the meta device have shapes and no numbers
    with torch.device("meta"):
        model = model_class(config).from_config(config, trust_remote_code=False)
    text = config.get_text_config()
    head = model.get_output_embeddings()
    linear = 0
    for module in model.modules():
        # adapters leave the output layer as it is
        if isinstance(module, torch.nn.Linear) and module is not head:
            linear += module.in_features + module.out_features
    return Size(
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        layers=text.num_hidden_layers,
        hidden=text.hidden_size,
        kv_bytes=bytes_per_token(text, "bfloat16"),
        vocabulary=text.vocab_size,
        linear=linear,
    )
