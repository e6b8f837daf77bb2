"""What sampling ahead of training would save, by simulation, and what span credit by group loses of
the batch's.

python -m experiments benchmark ahead --seconds push=2 decode=10 wake=1 judge=25 sleep=1 logprobs=2
train=8
python -m experiments benchmark ahead --metrics outputs/try/metrics.jsonl --json ahead.json
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from experiments.benchmark.groups import make_groups
from spanreward.training.grpo.credit import first_mentions, phrases_of, residual_credit

DESCRIPTION = """Seconds of a step by phase come from --seconds, or are the means of a run's metrics.jsonl. Each phase
varies by --variation (a lognormal's coefficient of variation), for --steps steps; --seed decides them. Four ways: all
on the same GPUs, in turn; the judge on GPUs of its own, beside log-probabilities; the policy's engine there too, one
step ahead of training (max_staleness 1), batch by batch and group by group. Other GPUs are thought of as added, so that
no phase becomes slower. Credit: on --groups groups of 8 descriptions of Scenes with planted mistakes, judged by
`match`, each phrase's credit less the baseline of its own group against that of batches of --batch groups."""
PHASES = ("push", "decode", "wake", "judge", "sleep", "logprobs", "train")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seconds",
        nargs="+",
        metavar="PHASE=SECONDS",
        help=f"of {', '.join(PHASES)}; 0 where not said",
    )
    parser.add_argument(
        "--metrics", type=Path, metavar="metrics.jsonl", help="of a run, in place of --seconds"
    )
    parser.add_argument("--steps", type=int, default=1000, help="default 1000")
    parser.add_argument("--groups", type=int, default=64, help="default 64")
    parser.add_argument("--batch", type=int, default=8, help="groups (default 8)")
    parser.add_argument("--variation", type=float, default=0.2, help="default 0.2")
    parser.add_argument("--seed", type=int, default=0, help="default 0")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    seconds = read_seconds(arguments.seconds, arguments.metrics)
    random = np.random.default_rng(arguments.seed)
    sigma = np.sqrt(np.log1p(arguments.variation**2))
    drawn = random.lognormal(-(sigma**2) / 2, sigma, (arguments.steps, len(PHASES))) * list(
        seconds.values()
    )
    steps = [dict(zip(PHASES, row, strict=True)) for row in drawn.tolist()]
    today = float(np.mean([sum(step.values()) for step in steps]))
    beside = float(
        np.mean(
            [s["push"] + s["decode"] + max(s["judge"], s["logprobs"]) + s["train"] for s in steps]
        )
    )
    ways = {
        "in turn on the same GPUs": today,
        "the judge on its own GPUs": beside,
        "one step ahead, by batch": ahead(steps, 1),
        "one step ahead, by group": ahead(steps, arguments.batch),
    }
    table = Table("", "seconds a step", "ratio")
    for way, mean in ways.items():
        table.add_row(way, f"{mean:.1f}", f"{mean / today:.2f}")
    Console().print(table)
    credit = by_group(arguments.groups, arguments.batch)
    Console().print(credit)
    return {"seconds": seconds, "variation": arguments.variation, "ways": ways, "credit": credit}


def read_seconds(given: Sequence[str] | None, metrics: Path | None) -> dict[str, float]:
    if (given is None) == (metrics is None):
        raise ValueError("give either --seconds or --metrics")
    if metrics is not None:
        lines = [json.loads(line) for line in metrics.read_text().splitlines()]
        told = [line for line in lines if "seconds/train" in line]
        if not told:
            raise ValueError(
                f"{metrics} has no seconds/train: it is of a run before they were logged"
            )
        return {
            phase: float(np.mean([line[f"seconds/{phase}"] for line in told])) for phase in PHASES
        }
    found = dict(pair.split("=", 1) for pair in given or ())
    if unknown := set(found) - set(PHASES):
        raise ValueError(f"--seconds knows {', '.join(PHASES)}, got {', '.join(sorted(unknown))}")
    return {phase: float(found.get(phase, 0)) for phase in PHASES}


def ahead(steps: Sequence[Mapping[str, float]], parts: int) -> float:
    """Returns the mean seconds of a step whose completions are written while the policy learns from
    earlier ones.

    The writer starts a batch once the policy has learnt from the batch before the last; the judge
    takes it in `parts` equal parts. Training takes whole batches, and the push stops the writer.
    """
    written = judged = trained = before = 0.0
    ends = []
    for step in steps:
        start = max(written, before) + step["push"]
        for part in range(parts):
            end = start + step["decode"] * (part + 1) / parts
            judged = max(judged, end) + step["judge"] / parts
        written = start + step["decode"]
        before, trained = trained, max(trained, judged) + step["logprobs"] + step["train"]
        ends.append(trained)
    return float(np.mean([end - start for start, end in pairwise(ends)]))


def by_group(groups: int, batch: int) -> dict[str, float]:
    """How the phrases' credit less their own group's baseline agrees with that less a batch's."""
    from spanreward.rewards import MatchJudge, PoshReward

    reward = PoshReward(MatchJudge())
    whole: list[float] = []
    alone: list[float] = []
    told = make_groups(groups, 2)
    for start in range(0, groups, batch):
        phrases = []
        for number, (samples, _) in enumerate(told[start : start + batch]):
            judged = [replace(sample, references=(sample.context or "",)) for sample in samples]
            for sample, verdict in zip(judged, reward.assess(judged), strict=True):
                phrases += phrases_of(first_mentions(verdict.spans), sample.completion, number)
        whole += residual_credit(phrases)
        for number in range(len(told[start : start + batch])):
            alone += residual_credit([phrase for phrase in phrases if phrase.group == number])
    both = np.array([whole, alone])
    same = np.mean(np.sign(both[0]) == np.sign(both[1]))
    return {"phrases": len(whole), "r": float(np.corrcoef(both)[0, 1]), "same sign": float(same)}
