"""How far an adapter's frozen base moves when its policy is pushed to vLLM.

python -m experiments benchmark adapters --json adapters.json
"""

import argparse
import statistics
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from rich.console import Console
from rich.progress import track
from rich.table import Table
from transformers import LlamaConfig, LlamaForCausalLM
from trl.generation.vllm_generation import VLLMGeneration

from spanreward.training.grpo.trl_internals.adapter_push import merged_parameters

DESCRIPTION = """A policy of one layer with an adapter of rank 16 on all linear layers makes --pushes steps of Adam's
size in random directions, and after each step its merged weights are read as for vLLM. The drift is the change of the
frozen base, as a share of what the adapter has learnt (both as Frobenius norms over all linear layers). TRL merges the
whole adapter into the live weights and takes it out again; ours does so with one layer at a time, and puts the layer
back as it was. The extra memory of a push is arithmetic, from the sizes of the layers."""
WAYS = (("TRL's push", torch.bfloat16), ("ours", torch.bfloat16), ("TRL's push", torch.float32))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pushes", type=int, default=125, help="steps, with a push after each (default 125)"
    )
    parser.add_argument("--width", type=int, default=512, help="of the layer (default 512)")
    parser.add_argument(
        "--rate", type=float, default=1e-5, help="learning rate (default 1e-5, as in the recipes)"
    )
    parser.add_argument("--seeds", type=int, default=3, help="runs of each (default 3)")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    if min(arguments.pushes, arguments.width, arguments.seeds) < 1:
        raise ValueError("--pushes, --width and --seeds must be 1 or more")
    runs = [(way, dtype, seed) for way, dtype in WAYS for seed in range(arguments.seeds)]
    drifts: dict[tuple[str, str], list[float]] = {}
    for way, dtype, seed in track(runs, "pushing", console=Console(stderr=True)):
        name = str(dtype).removeprefix("torch.")
        drifts.setdefault((way, name), []).append(drift(arguments, way, dtype, seed))
    sizes = layer_sizes(policy(arguments.width, torch.bfloat16, seed=0).model)
    extra = {
        ("TRL's push", "bfloat16"): 0,
        ("ours", "bfloat16"): 2 * 2 * max(sizes),
        ("TRL's push", "float32"): 2 * sum(sizes),
    }
    table = Table(title=f"{arguments.pushes} pushes at {arguments.rate:g}")
    for column in ("push", "base", "drift / learnt", f"each of {arguments.seeds}", "extra bytes"):
        table.add_column(column)
    for (way, name), values in drifts.items():
        each = ", ".join(f"{value:.3g}" for value in values)
        table.add_row(way, name, f"{statistics.fmean(values):.3g}", each, f"{extra[way, name]:,}")
    Console(stderr=True).print(table)
    rows = [
        {"push": way, "base": name, "drifts": values, "extra_bytes": extra[way, name]}
        for (way, name), values in drifts.items()
    ]
    settings = {key: getattr(arguments, key) for key in ("pushes", "width", "rate", "seeds")}
    return {**settings, "linear_parameters": sum(sizes), "rows": rows}


def policy(width: int, dtype: torch.dtype, seed: int, **lora: Any) -> Any:
    """TRL's VLLMGeneration of a random policy of one layer with an adapter, without an engine.
    lora: of LoraConfig.
    """
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=64,
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=1,
        num_attention_heads=4,
    )
    made: Any = VLLMGeneration.__new__(VLLMGeneration)
    adapter = LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", **lora)
    model: Any = LlamaForCausalLM(config)
    made.model = get_peft_model(model.to(dtype), adapter)
    made._dist = SimpleNamespace(gather_params=lambda parameters: nullcontext(), is_fsdp=False)
    return made


def layer_sizes(model: Any) -> list[int]:
    """Parameters of each layer that the adapter changes."""
    return [
        each.numel()
        for name, each in model.named_parameters()
        if name.endswith(".base_layer.weight")
    ]


@torch.no_grad()
def drift(arguments: argparse.Namespace, way: str, dtype: torch.dtype, seed: int) -> float:
    """The base's change after the pushes, as a share of what the adapter has learnt."""
    generation = policy(arguments.width, dtype, seed)
    model = generation.model
    layers = {name: layer for name, layer in model.named_modules() if hasattr(layer, "base_layer")}
    before = {name: layer.base_layer.weight.detach().clone() for name, layer in layers.items()}
    for _ in range(arguments.pushes):
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.data += arguments.rate * torch.randn_like(parameter).sign()
        for _ in (
            generation._iter_named_params() if way != "ours" else merged_parameters(generation)
        ):
            pass
    moved = sum(
        (layer.base_layer.weight - before[name]).double().square().sum()
        for name, layer in layers.items()
    )
    learnt = sum(
        layer.get_delta_weight("default").double().square().sum() for layer in layers.values()
    )
    return float((moved / learnt).sqrt())
