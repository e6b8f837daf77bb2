"""What fits on which GPUs, by arithmetic: see training/plan/memory.py for the formula.

python -m experiments benchmark memory --gpus 1 4 8 --gpu-memory 80
"""

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

GB = 1e9
DESCRIPTION = """GPU memory of a policy in training beside a judge, by arithmetic (training/plan/memory.py); no measure.
Without --policy and --judge: Qwen2.5-VL-7B-Instruct and Qwen2.5-14B-Instruct. One GPU trains LoRA adapters of rank 16,
several train all weights under ZeRO-3. A line each for a judge per rank, and a server elsewhere.
Per GPU in GB: what each part takes, and the two peaks, in the backward pass and while the judge is awake."""
POLICY, JUDGE = "Qwen/Qwen2.5-VL-7B-Instruct", "Qwen/Qwen2.5-14B-Instruct"
LORA_RANK = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--policy",
        type=Path,
        metavar="FOLDER",
        help="another policy: a folder with its config.json",
    )
    parser.add_argument(
        "--judge", type=Path, metavar="FOLDER", help="another judge: a folder with its config.json"
    )
    parser.add_argument(
        "--gpus", type=int, nargs="+", default=[1, 4, 8], help="numbers of GPUs (default 1 4 8)"
    )
    parser.add_argument("--gpu-memory", type=float, default=80.0, help="GB of one GPU (default 80)")
    parser.add_argument(
        "--tokens", type=int, default=8192, help="trained on at once by one GPU (default 8192)"
    )
    parser.add_argument(
        "--kv-tokens", type=int, default=40_000, help="in the judge's KV cache (default 40000)"
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    from spanreward.training.plan.memory import Awake, Plan, size_by_name

    if min(arguments.gpus) < 1:
        raise ValueError(f"--gpus must be 1 or more, got {min(arguments.gpus)}")
    policy, judge = (
        size_by_name(str(arguments.policy or POLICY)),
        size_by_name(str(arguments.judge or JUDGE)),
    )
    if policy is None or judge is None:
        raise ValueError(
            f"there is no model in {arguments.judge if policy else arguments.policy}: give a "
            "folder."
        )
    lines = []
    for gpus in arguments.gpus:
        for placement in ("per_rank", "server"):
            plan = Plan(
                policy,
                (Awake(judge, kv_tokens=arguments.kv_tokens),) if placement == "per_rank" else (),
                gpus,
                "zero3" if gpus > 1 else "none",
                None if gpus > 1 else LORA_RANK,
                arguments.tokens,
                dtype="bfloat16",
            )
            training, judging = plan.training, plan.judging
            peaks = sum(training.values()) / GB, sum(judging.values()) / GB
            lines.append(
                {
                    "gpus": gpus,
                    "training": "all weights, ZeRO-3" if gpus > 1 else f"LoRA of rank {LORA_RANK}",
                    "placement": placement,
                    **{part: round(size / GB, 1) for part, size in {**training, **judging}.items()},
                    "peak_training": round(peaks[0], 1),
                    "peak_judging": round(peaks[1], 1),
                    "fits": max(peaks) <= arguments.gpu_memory,
                    "main_memory": round(plan.main_memory / GB, 1),
                }
            )
    show(lines, arguments.gpu_memory)
    return {
        "computed": "by training/plan/memory.py, not measured",
        "gpu_memory": arguments.gpu_memory,
        "policy_parameters": policy.parameters,
        "judge_parameters": judge.parameters,
        "tokens": arguments.tokens,
        "kv_tokens": arguments.kv_tokens,
        "lines": lines,
    }


def show(lines: list[dict[str, Any]], gpu_memory: float) -> None:
    table = Table(title=f"GB on each GPU of {gpu_memory:g} GB: computed, not measured")
    headings = (
        "GPUs",
        "training",
        "judge",
        "policy",
        "optimizer",
        "gradients, activations",
        "judge",
        "its KV cache",
    )
    for heading in (*headings, "peak: training", "peak: judging", "main memory"):
        table.add_column(heading)
    for line in lines:
        table.add_row(
            str(line["gpus"]),
            line["training"],
            line["placement"],
            f"{line['policy']:g}",
            f"{line['optimizer']:g}",
            f"{line['gradients'] + line['activations']:.1f}",
            f"{line.get('judge', 0):g}",
            f"{line.get('KV cache', 0):g}",
            f"{line['peak_training']:g}",
            f"{line['peak_judging']:g}" + ("" if line["fits"] else " (too much)"),
            f"{line['main_memory']:g}",
        )
    Console(stderr=True, width=140).print(table)
