"""Computes how much memory a run takes on each GPU, before anything is loaded.

AdamW keeps 16 bytes per trained parameter (ZeRO, arXiv 1910.02054, section 3.1): weights, gradients
and optimizer state. DeepSpeed keeps 2, 2 and 12 bytes. PyTorch and FSDP keep 4, 4 and 8 bytes, and
autocast adds a bfloat16 copy of the weights. Only a bfloat16 policy without sharding keeps less: 2,
2 and 4 bytes.

In a pass, ZeRO-3 gathers up to LIVE_PARAMETERS whole weights, and FSDP those of two layers.
transformers gathers all weights to write. Gradient checkpointing keeps the input of every layer,
and 34 bytes for each number in the input of one layer (arXiv 2205.05198, equation 1). TRL computes
logits in tiles of TILE_TOKENS times TILE_VOCABULARY. TRL keeps the gradients of the output layer
and its input in float32 (trl/kernels/chunked_logprob.py). A judge's batch takes 28 bytes (assumed)
for each number in the input of one layer, and holds its float32 logits twice.

Not counted: fragmentation, communication buffers, and activations of pictures.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

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
KNOWN_CONFIGS: dict[str, dict[str, Any]] = read_yaml_file(_KNOWN_MODELS_FILE)
# assumed: the memory that CUDA and its libraries take for one process, besides its tensors
PROCESS_BYTES = 2_000_000_000
# the bytes that one layer takes in a backward pass, for each number in the layer's input
RECOMPUTED_LAYER_BYTES = 34
TILE_TOKENS = 4096
TILE_VOCABULARY = 32768
# The main memory that a sleeping judge's weights take, divided by their size. vLLM copies each
# weight into a pinned block, and torch rounds the block up to a power of two. The fused weights of
# a layer of Qwen3-14B, 73, 52, 357 and 178 MB, take 134, 67, 537 and 268 MB.
PINNED_SHARE = 1.51
LIVE_PARAMETERS = 1_000_000_000
# by kind of sharding, the parts that are divided among the GPUs
SHARDED_PARTS: dict[str, tuple[str, ...]] = {
    "none": (),
    "zero1": ("optimizer",),
    "zero2": ("optimizer", "gradients"),
    "zero3": ("optimizer", "gradients", "weights"),
    "fsdp": ("optimizer", "gradients", "weights"),
}


@dataclass(frozen=True, slots=True)
class Size:
    """The numbers that decide a model's memory: its parameters, and the shape of its text model.

    Attributes:
        parameters: the number of parameters, including the vision tower's.
        layers, hidden, vocabulary: the text model's number of layers, width, and number of tokens.
        kv_bytes: the bytes of one token's keys and values in all layers, in bfloat16.
        lora_parameters_per_rank: the parameters of a LoRA adapter of rank 1 on all linear layers
            except the output layer. An adapter of rank r has r times as many.
    """

    parameters: int
    layers: int
    hidden: int
    kv_bytes: int
    vocabulary: int
    lora_parameters_per_rank: int


@dataclass(frozen=True, slots=True)
class Awake:
    """A judge that is awake on each rank's GPU, in bfloat16.

    Attributes:
        size: the size of its model.
        parallel: the number of GPUs that share one copy of the judge.
        kv_tokens: the number of tokens that its KV cache holds.
    """

    size: Size
    parallel: int = 1
    kv_tokens: int = 40_000

    @property
    def parts(self) -> dict[str, int]:
        """The bytes on each GPU, by part: the weights, the KV cache, and what a batch of questions
        needs.
        """
        # the 28 bytes for each entry of a token's hidden state are assumed, not measured; a logit
        # has 4 bytes, and is held twice
        activations = 28 * BATCHED_TOKENS * self.size.hidden
        logits = 8 * BATCHED_PROMPTS * self.size.vocabulary
        return {
            "judge": 2 * self.size.parameters // self.parallel,
            "KV cache": self.size.kv_bytes * self.kv_tokens // self.parallel,
            "judge's batch": activations + logits,
        }


class ParameterBytes(NamedTuple):
    """The bytes that one trained parameter takes: in the weights, in the gradients, and in the
    optimizer's state.
    """

    weight: int
    gradient: int
    optimizer: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The memory of a run: a policy in training, which computes in bfloat16, and judges on the same
    GPUs.

    Attributes:
        policy: the size of the policy's model.
        judges: the judges on the GPUs of training.
        gpus: the number of GPUs, each with a training process.
        sharding: a key of SHARDED_PARTS.
        lora_rank: the rank of adapters on all linear layers; None trains all weights.
        tokens: the tokens of prompts and completions in one pass on one GPU.
        written_tokens: the tokens of prompts and completions that transformers holds at a time when
            it writes.
        dtype: the type of the policy's weights when they are loaded.
        engine: the bytes of TRL's vLLM engine on the GPU; 0 if it has GPUs of its own; None if
            transformers writes.
        engine_sleeps: whether the engine frees its memory while others work.
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
    def trained_parameters(self) -> int:
        """The number of parameters that are trained: all, or those of the LoRA adapter."""
        if self.lora_rank is None:
            return self.policy.parameters
        return self.lora_rank * self.policy.lora_parameters_per_rank

    @property
    def bytes_per_trained_parameter(self) -> ParameterBytes:
        """The bytes that one trained parameter takes, by the rules at the top of this file."""
        # DeepSpeed trains bfloat16 weights, and keeps float32 weights in the optimizer's state
        if self.sharding.startswith("zero"):
            return ParameterBytes(weight=2, gradient=2, optimizer=12)
        # all in bfloat16: the weights, their gradients and AdamW's two moments
        trains_all_weights_unsharded = self.sharding == "none" and self.lora_rank is None
        if self.dtype == "bfloat16" and trains_all_weights_unsharded:
            return ParameterBytes(weight=2, gradient=2, optimizer=4)
        # all in float32
        return ParameterBytes(weight=4, gradient=4, optimizer=8)

    @property
    def frozen_weight_bytes(self) -> int:
        """The bytes of the weights under a LoRA adapter, before they are divided among the GPUs; 0
        if all weights are trained.
        """
        if self.lora_rank is None:
            return 0
        # the weights keep the type in which they were loaded, but DeepSpeed makes them bfloat16
        is_deepspeed = self.sharding.startswith("zero")
        if self.dtype == "float32" and not is_deepspeed:
            return 4 * self.policy.parameters
        return 2 * self.policy.parameters

    @property
    def state(self) -> dict[str, int]:
        """The bytes that stay on each GPU in all phases, by part.

        The parts are the policy's weights, the optimizer's state, the processes, and an engine that
        never sleeps. With a LoRA adapter, the weights are those of the frozen policy and those of
        the adapter, and only the adapter's parameters have an optimizer state.
        """
        per_parameter = self.bytes_per_trained_parameter
        weight_bytes = self.frozen_weight_bytes + per_parameter.weight * self.trained_parameters
        optimizer_bytes = per_parameter.optimizer * self.trained_parameters
        parts = {
            "policy": self._bytes_per_gpu("weights", weight_bytes),
            "optimizer": self._bytes_per_gpu("optimizer", optimizer_bytes),
            "process": PROCESS_BYTES,
            "judges' processes": PROCESS_BYTES * len(self.judges),
        }
        if self.engine and not self.engine_sleeps:
            parts["TRL's engine"] = self.engine
        return parts

    @property
    def copied_parameters(self) -> int:
        """The number of parameters of which a backward pass holds a second copy, in bfloat16.

        ZeRO-3 and FSDP divide the weights among the GPUs, and gather some layers as a copy. Without
        sharding, autocast copies the weights if all weights are trained in float32. In all other
        cases there is no copy: DeepSpeed's weights are bfloat16, and a LoRA adapter is small.
        """
        if self.sharding == "zero3":
            return min(self.policy.parameters, LIVE_PARAMETERS)
        if self.sharding == "fsdp":
            return 2 * self.policy.parameters // self.policy.layers  # two layers
        trains_all_weights_unsharded = self.sharding == "none" and self.lora_rank is None
        has_float32_weights = self.bytes_per_trained_parameter.weight == 4
        if trains_all_weights_unsharded and has_float32_weights:
            return self.policy.parameters  # the copy that autocast makes
        return 0

    @property
    def log_probability_bytes(self) -> int:
        """The bytes that a backward pass needs to compute the log-probabilities of its tokens.

        The logits are computed tile by tile, in bfloat16. The gradients of the output layer and of
        its input are in float32.
        """
        tile_logits = min(self.tokens, TILE_TOKENS) * min(self.policy.vocabulary, TILE_VOCABULARY)
        output_layer_parameters = 0  # an adapter does not train the output layer
        if self.lora_rank is None:
            output_layer_parameters = self.policy.vocabulary * self.policy.hidden
        output_layer_inputs = self.tokens * self.policy.hidden
        return 2 * tile_logits + 4 * (output_layer_inputs + output_layer_parameters)

    @property
    def training(self) -> dict[str, int]:
        """The bytes on each GPU in a backward pass while judges sleep, by part.

        These are the parts of `state`, and what only the pass needs: gradients, copies of weights,
        activations, and log-probabilities. The activations are the inputs of all layers, and the
        numbers inside the one layer that is computed again at a time (gradient checkpointing).
        """
        gradient_bytes = self.bytes_per_trained_parameter.gradient * self.trained_parameters
        numbers_per_input = self.tokens * self.policy.hidden
        bytes_of_inputs = 2 * numbers_per_input * self.policy.layers  # in bfloat16
        bytes_of_one_layer = RECOMPUTED_LAYER_BYTES * numbers_per_input
        return {
            **self.state,
            "gradients": self._bytes_per_gpu("gradients", gradient_bytes),
            "copies of weights": 2 * self.copied_parameters,
            "activations": bytes_of_inputs + bytes_of_one_layer,
            "log-probabilities": self.log_probability_bytes,
        }

    @property
    def writing(self) -> dict[str, int]:
        """The bytes on each GPU while the policy writes completions and judges sleep, by part.

        The policy writes through TRL's vLLM engine, which has its own copy of the weights, or
        through transformers (`engine` is None).
        """
        if self.engine is not None:
            if self.engine == 0:  # the engine is on other GPUs
                return self.state
            return {**self.state, "TRL's engine": self.engine}
        # each GPU writes with whole weights, so divided weights are gathered
        gathered = 0
        if "weights" in SHARDED_PARTS[self.sharding]:
            gathered = 2 * self.policy.parameters
        return {
            **self.state,
            "gathered weights": gathered,
            "KV cache": self.policy.kv_bytes * self.written_tokens,
        }

    @property
    def judging(self) -> dict[str, int]:
        """The bytes on each GPU while the largest judge is awake, by part.

        Judges are awake one after another. While a judge is awake, no gradients and activations of
        training are held.
        """
        parts_of_judges = [judge.parts for judge in self.judges]
        if not parts_of_judges:
            return self.state
        largest = max(parts_of_judges, key=lambda parts: sum(parts.values()))
        return {**self.state, **largest}

    @property
    def main_memory(self) -> int:
        """The bytes of main memory for the weights of all sleeping judges, on all machines
        together.

        vLLM's sleep level 1 copies the weights into pinned blocks of main memory.
        """
        total = 0
        for judge in self.judges:
            copies = self.gpus // judge.parallel
            weight_bytes = 2 * judge.size.parameters  # in bfloat16
            total += round(copies * PINNED_SHARE * weight_bytes)
        return total

    def _bytes_per_gpu(self, part: str, whole_bytes: int) -> int:
        """Returns the bytes of a part on one GPU: all of them, or an equal share if the part is
        divided among the GPUs (SHARDED_PARTS). part: such as "weights".
        """
        if part in SHARDED_PARTS[self.sharding]:
            return whole_bytes // self.gpus
        return whole_bytes


def size_by_name(model: str) -> Size | None:
    """Returns the size of a model; None if its configuration is not known on this machine.

    model: a folder, or an id on the hub. The configuration comes from the folder's config.json, the
    hub's local cache or known_models.yaml, in this order.
    """
    try:
        local = AutoConfig.from_pretrained(model, local_files_only=True, trust_remote_code=False)
        return size_of(local)
    except (OSError, ValueError):
        # known_models.yaml has the configurations of models that the recipes name
        values = dict(KNOWN_CONFIGS.get(model, {}))
        if not values:
            return None
        config = AutoConfig.for_model(values.pop("model_type"), **values)
        return size_of(config)


def size_of(config: PretrainedConfig) -> Size:
    """Returns a model's exact size from its configuration. The model is built without memory for
    weights.

    LoRA gives a linear layer two matrices: rank x inputs and outputs x rank. So an adapter of rank
    1 has inputs + outputs parameters for each layer.
    """
    # tensors of the meta device have shapes and no numbers
    with torch.device("meta"):
        model = model_class(config).from_config(config, trust_remote_code=False)
    text = config.get_text_config()
    head = model.get_output_embeddings()
    lora_parameters_per_rank = 0
    for module in model.modules():
        # an adapter has no weights for the output layer
        if isinstance(module, torch.nn.Linear) and module is not head:
            lora_parameters_per_rank += module.in_features + module.out_features
    return Size(
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        layers=text.num_hidden_layers,
        hidden=text.hidden_size,
        kv_bytes=bytes_per_token(text, "bfloat16"),
        vocabulary=text.vocab_size,
        lora_parameters_per_rank=lora_parameters_per_rank,
    )
