"""Whether parsing and encoding hide behind a judge in a process of its own.

python -m experiments benchmark overlap --judge vllm:smollm2 --pairs pairs.jsonl --json overlap.json
"""

import argparse
import time
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

from experiments.benchmark.posh import read_pairs

DESCRIPTION = """PoSh over the pairs as one step with a vllm: judge. A pair is a JSON object with `completion` and `reference`.
Prints JSON, in seconds:

whole            from the first parse to the last verdict, without the engine's start
work             of each part: parse, encode, judge (the engine's calls)
beside_judge     how much of parsing and encoding went on while the engine had questions
serial           what the step waits for while the engine has nothing: parse, encode, and the rest (templates, keys,
                 arithmetic)
usage            what the judge counted, as the log has it"""
Interval = tuple[float, float]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--judge", default="vllm:smollm2", help="default vllm:smollm2")
    parser.add_argument("--pairs", required=True, type=Path, metavar="PAIRS.jsonl")
    parser.add_argument(
        "--completions", type=int, default=64, help="how many of the pairs (default 64)"
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    from spanreward.rewards import PoshReward, Sample
    from spanreward.rewards.judges import load_judge
    from spanreward.rewards.judges.local.vllm_judge import VllmJudge

    judge = load_judge(arguments.judge)
    if not isinstance(judge, VllmJudge):
        raise ValueError(f"--judge must be vllm:MODEL, got {arguments.judge}")
    pairs = read_pairs(arguments.pairs)[: arguments.completions]
    samples = [Sample("", completion, references=(reference,)) for completion, reference in pairs]
    reward = PoshReward(judge)
    reward._parse(samples[:1])  # loads the pipeline
    reward = PoshReward(judge)
    clock = Clock()
    clock.watch(reward, "_parse", "parse")
    clock.watch(judge, "_encoded", "encode")
    clock.watch(judge, "_run", "judge")
    judge.start()
    try:
        with judge:
            clock.intervals = {name: [] for name in clock.intervals}
            begun = time.perf_counter()
            verdicts = reward.assess(samples)
            ended = time.perf_counter()
    finally:
        judge.close()
    failed = sum(verdict.score is None for verdict in verdicts)
    usage = judge.usage
    return {
        "completions": len(samples),
        "failed": failed,
        "questions": usage.questions,
        **summary(clock.intervals, (begun, ended)),
        "usage": {
            "seconds": usage.seconds,
            "cpu_seconds": usage.cpu_seconds,
            "encode_seconds": usage.encode_seconds,
        },
    }


class Clock:
    """Notes when methods run."""

    def __init__(self) -> None:
        self.intervals: dict[str, list[Interval]] = {}

    def watch(self, owner: Any, method: str, name: str) -> None:
        """Replaces the owner's method by one that notes its interval under this name."""
        self.intervals[name] = []
        original: Callable[..., Any] = getattr(owner, method)

        @wraps(original)
        def timed(*arguments: Any, **options: Any) -> Any:
            begun = time.perf_counter()
            try:
                return original(*arguments, **options)
            finally:
                self.intervals[name].append((begun, time.perf_counter()))

        setattr(owner, method, timed)


def summary(intervals: dict[str, list[Interval]], whole: Interval) -> dict[str, Any]:
    judge = intervals["judge"]
    beside: dict[str, float] = {}
    serial: dict[str, float] = {}
    for name in ("parse", "encode"):
        beside[name] = common_seconds(intervals[name], judge)
        serial[name] = union_seconds(intervals[name]) - beside[name]
    idle = whole[1] - whole[0] - union_seconds(judge)
    both = union_seconds([*intervals["parse"], *intervals["encode"]])
    hidden = common_seconds([*intervals["parse"], *intervals["encode"]], judge)
    serial["rest"] = idle - (both - hidden)
    return {
        "whole": whole[1] - whole[0],
        "work": {name: union_seconds(several) for name, several in intervals.items()},
        "beside_judge": beside,
        "serial": serial,
    }


def union_seconds(intervals: Sequence[Interval]) -> float:
    """Returns how long at least one of them lasts."""
    seconds = 0.0
    covered_until = float("-inf")
    for start, end in sorted(intervals):
        seconds += max(0.0, end - max(start, covered_until))
        covered_until = max(covered_until, end)
    return seconds


def common_seconds(first: Sequence[Interval], second: Sequence[Interval]) -> float:
    """Returns how long an interval of each lasts at the same time."""
    return union_seconds(first) + union_seconds(second) - union_seconds([*first, *second])
