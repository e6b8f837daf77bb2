"""How much memory a run takes on each GPU, computed before anything is loaded.

    plan = Plan(policy=size_of(policy_config), judge=size_of(judge_config), gpus=4, sharding="zero3")
    for phase in (plan.training, plan.judging): print(phase, sum(phase.values()) / 1e9)

Bytes of one GPU. Per trained parameter, mixed-precision AdamW keeps 16 (ZeRO, arXiv 1910.02054, section 3.1):
DeepSpeed 2 of weights, 2 of gradients and 12 of optimizer state, a float32 copy and two moments; PyTorch alone, and
FSDP, 4 of float32 weights, 4 of gradients and 8 of moments. Then autocast also keeps a bfloat16 copy of each weight
that learns until its pass ends. Without sharding, all weights of a bfloat16 policy have 2, 2 and 4: PyTorch's AdamW
keeps its moments in their dtype and no copy. SHARDED says what the GPUs divide. Of divided weights, ZeRO-3 holds up
to LIVE whole ones in a pass (stage3_max_live_parameters), and FSDP those of two layers, one ahead. Gradient
checkpointing keeps every layer's input (2 bytes a number) and all of one layer: 34 bytes a number, with an attention
that keeps no scores (arXiv 2205.05198, equation 1). TRL projects TILE of tokens and vocabulary at once, and keeps the
gradients of its input, and of the projection if it learns, in float32 (trl/kernels/chunked_logprob.py). A KV cache has
4 bytes (a key and a value in bfloat16) per token, layer and number of the key-value heads. A judge's batch of
BATCHED_TOKENS (rewards/judges/local/vllm_arguments.py) takes 28 bytes a number of the widest layer, which is assumed:
the layer's input, its norm, queries, keys and values, and a feed-forward layer of 3.5 times the width. The logits of
BATCHED_PROMPTS are kept twice in float32. Judges are awake one after another. TRL's engine takes the share of the GPU
that vllm_gpu_memory_utilization gives it. Where transformers writes, divided weights are gathered whole
(ds3_gather_for_generation).

Not counted: fragmentation, communication buffers, and activations of pictures.
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, PretrainedConfig
from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING

from spanreward.rewards.judges.local.vllm_arguments import BATCHED_PROMPTS, BATCHED_TOKENS

PROCESS = 2_000_000_000  # assumed: what CUDA and its libraries keep for one process beside its tensors
TILE = 4096, 32768  # tokens, entries of the vocabulary
# Main memory of a sleeping judge's weights / their size: vLLM copies each into a pinned block, which torch rounds up to
# a power of two. The fused weights of a layer of Qwen3-14B, 73, 52, 357 and 178 MB, become 134, 67, 537 and 268.
PINNED = 1.51
LIVE = 1_000_000_000  # parameters
SHARDED: dict[str, tuple[str, ...]] = {
    **{"none": (), "zero1": ("optimizer",), "zero2": ("optimizer", "gradients")},
    **dict.fromkeys(("zero3", "fsdp"), ("optimizer", "gradients", "weights")),
}


@dataclass(frozen=True, slots=True)
class Size:
    """What decides a model's memory: its number of parameters and the text model's shape."""

    parameters: int
    layers: int
    hidden: int
    kv_numbers: int  # per token and layer: key-value heads times their width
    vocabulary: int
    linear: int  # rows plus columns of all linear layers: a LoRA adapter of rank r has r times as many parameters
    context: int  # the most tokens that it reads

    @property
    def kv_bytes(self) -> int:
        """Bytes of one token's keys and values in all layers, in bfloat16."""
        return 4 * self.layers * self.kv_numbers


@dataclass(frozen=True, slots=True)
class Plan:
    """A policy in training and its judge, which both compute in bfloat16.

    gpus: number of GPUs, with a training process each. sharding: a key of SHARDED. placement: of the judge, an
    engine per rank or a server, which has GPUs of its own. lora_rank: rank of adapters on all linear layers; None
    trains all weights. tokens: prompt and completion tokens of one forward and backward pass on one GPU.
    judge_parallel: GPUs that share a judge. kv_tokens: tokens whose keys and values a judge can keep. dtype: of the
    policy's weights as they are loaded.
    engine: bytes of TRL's engine on the GPU, 0 if it has GPUs of its own, None where transformers writes.
    engine_sleeps: whether it is away while others work. written_tokens: prompt and completion tokens that transformers
    has at once when it writes.
    """

    policy: Size
    judge: Size
    gpus: int
    sharding: str = "zero3"
    placement: Literal["per_rank", "server"] = "per_rank"
    lora_rank: int | None = None
    tokens: int = 8192
    judge_parallel: int = 1
    kv_tokens: int = 40_000
    dtype: str = "float32"
    engine: int | None = None
    engine_sleeps: bool = True
    written_tokens: int = 8192

    @property
    def trained(self) -> int:
        return self.policy.parameters if self.lora_rank is None else self.lora_rank * self.policy.linear

    @property
    def bytes_each(self) -> tuple[int, int, int]:
        """Bytes of a trained parameter: weights, gradients, optimizer."""
        if self.sharding.startswith("zero"):
            return 2, 2, 12
        return (2, 2, 4) if (self.dtype, self.sharding, self.lora_rank) == ("bfloat16", "none", None) else (4, 4, 8)

    @property
    def state(self) -> dict[str, int]:
        """What stays on each GPU: the policy's weights, the optimizer's state, an engine without sleep, the process."""
        weights, _, optimizer = self.bytes_each
        frozen = 0 if self.lora_rank is None else self.policy.parameters
        frozen *= 4 if self.dtype == "float32" and not self.sharding.startswith("zero") else 2
        return {
            "policy": self._share("weights", frozen + weights * self.trained),
            "optimizer": self._share("optimizer", optimizer * self.trained),
            "process": PROCESS,
            **({"TRL's engine": self.engine} if self.engine and not self.engine_sleeps else {}),
        }

    @property
    def training(self) -> dict[str, int]:
        """Each GPU in a backward pass, while the judge sleeps and only its process stays."""
        numbers = self.tokens * self.policy.hidden
        weights, gradients, _ = self.bytes_each
        whole = {"zero3": min(self.policy.parameters, LIVE), "fsdp": 2 * self.policy.parameters // self.policy.layers}
        copies = self.trained if weights == 4 and self.sharding == "none" and self.lora_rank is None else 0
        return {
            **self.state,
            "gradients": self._share("gradients", gradients * self.trained),
            "copies of weights": 2 * (copies or whole.get(self.sharding, 0)),
            "activations": numbers * (2 * self.policy.layers + 34),
            "log-probabilities": 2 * min(self.tokens, TILE[0]) * min(self.policy.vocabulary, TILE[1])
            + 4 * (numbers + (self.policy.vocabulary * self.policy.hidden if self.lora_rank is None else 0)),
            "judge's process": 0 if self.placement == "server" else PROCESS,
        }

    @property
    def writing(self) -> dict[str, int]:
        """Each GPU while the policy writes and the judge sleeps."""
        always = {**self.state, "judge's process": 0 if self.placement == "server" else PROCESS}
        if self.engine is not None:
            return {**always, **({"TRL's engine": self.engine} if self.engine else {})}
        gathered = 2 * self.policy.parameters if "weights" in SHARDED[self.sharding] else 0
        return {**always, "gathered weights": gathered, "KV cache": self.policy.kv_bytes * self.written_tokens}

    @property
    def judging(self) -> dict[str, int]:
        """The fullest GPU while the judge is awake, without gradients and activations."""
        if self.placement == "server":
            return self.state
        return {**self.state, **self.judge_awake, "judge's process": PROCESS}

    @property
    def judge_awake(self) -> dict[str, int]:
        """The awake judge on each GPU that has a part of it."""
        judge = self.judge
        kv = judge.kv_bytes * self.kv_tokens
        return {
            "judge": 2 * judge.parameters // self.judge_parallel,
            "KV cache": kv // self.judge_parallel,
            "judge's batch": 28 * BATCHED_TOKENS * judge.hidden + 8 * BATCHED_PROMPTS * judge.vocabulary,
        }

    @property
    def main_memory(self) -> int:
        """The weights of all sleeping judges (level 1), in pinned blocks of main memory."""
        engines = 0 if self.placement == "server" else self.gpus // self.judge_parallel
        return round(engines * 2 * PINNED * self.judge.parameters)

    def _share(self, part: str, size: int) -> int:
        return size // self.gpus if part in SHARDED[self.sharding] else size


def size_of(config: PretrainedConfig) -> Size:
    """Returns a model's exact size from its configuration, by building it without memory for its weights."""
    pictures = type(config) in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
    kind: Any = AutoModelForImageTextToText if pictures else AutoModelForCausalLM
    with torch.device("meta"):
        model = kind.from_config(config)
    text = config.get_text_config()
    width = text.to_dict().get("head_dim") or text.hidden_size // text.num_attention_heads  # not every model names it
    head = model.get_output_embeddings()
    linear = [module for module in model.modules() if isinstance(module, torch.nn.Linear) and module is not head]
    return Size(
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        layers=text.num_hidden_layers,
        hidden=text.hidden_size,
        kv_numbers=text.num_key_value_heads * width,
        vocabulary=text.vocab_size,
        linear=sum(module.in_features + module.out_features for module in linear),
        context=text.max_position_embeddings,
    )
