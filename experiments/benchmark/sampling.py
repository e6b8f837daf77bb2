"""How many steps dynamic sampling saves, and how many completions more it makes, where half of the
prompts are solved.

python -m experiments benchmark sampling --json sampling.json
"""

import argparse
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy import stats

from experiments.scenes.parts import TINY, scenes_part

DESCRIPTION = """Trains the tiny policy from the same weights without and with dynamic sampling for each of --seeds.
Every other prompt is solved: its completions score 1, so that its group has nothing to learn from; on the others the
score is the share of lower-case letters. A run ends when that share, of 32 completions sampled after each step and
averaged over three steps, reaches 0.75, or after --steps. Steps, and all completions made to train on, dropped ones
included, are compared seed by seed: difference and ratio of the means, with 95 % bootstrap intervals over seeds; null
where a run did not reach the reward (raise --steps). With few seeds such intervals are too narrow. No number depends
on the machine's speed."""
TARGET = 0.75
AVERAGED = 3  # steps
EVALUATED = range(1, 17, 2)  # prompts, not solved
GROUP = 4
SETTINGS: dict[str, Any] = {
    "per_device_train_batch_size": 16,
    "num_generations": GROUP,
    "max_completion_length": 8,
    "learning_rate": 2e-3,
    "lr_scheduler_type": "constant",
    "optim": "adamw_torch",
    "logging_steps": 1,
    "save_strategy": "no",
    "report_to": "none",
    "bf16": False,
    "use_cpu": True,
    "gradient_checkpointing": False,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seeds", type=int, nargs="+", default=list(range(6)), help="default 0 1 2 3 4 5"
    )
    parser.add_argument(
        "--steps", type=int, default=50, help="after which a run ends anyway (default 50)"
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.steps < 1 or len(set(arguments.seeds)) < len(arguments.seeds):
        raise ValueError(
            f"--steps must be 1 or more and --seeds differ, got {arguments.steps} and "
            f"{arguments.seeds}"
        )
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in track(arguments.seeds, "seeds", console=Console(stderr=True)):
            runs += [train(seed, dynamic, arguments.steps, folder) for dynamic in (False, True)]
    show(runs)
    return {
        "target": TARGET,
        "runs": runs,
        **{what: compare(runs, what) for what in ("steps", "completions")},
    }


def train(seed: int, dynamic: bool, steps: int, folder: str) -> dict[str, Any]:
    """One run: its steps, its completions, and the mean fraction of a batch's groups that have
    variance.
    """
    import torch
    from transformers import ProgressCallback, TrainerCallback

    from spanreward.rewards import Reward, Sample, Verdict
    from spanreward.training.data.load import load_data
    from spanreward.training.grpo.trainer import SpanGRPOConfig, SpanGRPOTrainer
    from spanreward.training.policy import load_policy

    given: list[float] = []  # scores since the last step
    rewards: list[float] = []  # on EVALUATED, after each step
    made: list[int] = []  # completions, in each step

    class HalfSolved(Reward):
        def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
            shares = [
                sum(map(str.islower, s.completion)) / max(len(s.completion), 1) for s in samples
            ]
            scores = [
                x if int(s.prompt.split()[-1]) % 2 else 1.0
                for s, x in zip(samples, shares, strict=True)
            ]
            given.extend(scores)
            return [Verdict(score) for score in scores]

    class Evaluation(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            made.append(len(given))
            given.clear()
            trainer.model.eval()
            with torch.random.fork_rng():
                torch.manual_seed(1000 + state.global_step)
                trainer._generate_and_score_completions(
                    [data[row] for row in EVALUATED for _ in range(GROUP)]
                )
            trainer.model.train()
            rewards.append(float(np.mean(given)))
            given.clear()
            control.should_training_stop |= reached(rewards)

    prompts = [[{"role": "user", "content": f"What is in picture {row}"}] for row in range(64)]
    data: Any = load_data(scenes_part(**{"count": len(prompts)}))
    data = data.select_columns(["image"]).add_column("prompt", prompts)
    args = SpanGRPOConfig(folder, seed=seed, max_steps=steps, dynamic_sampling=dynamic, **SETTINGS)
    model, processor = load_policy(TINY, seed=1)
    trainer: Any = SpanGRPOTrainer(
        model, HalfSolved("solved"), args, processing_class=processor, train_dataset=data
    )
    trainer.remove_callback(ProgressCallback)
    trainer.add_callback(Evaluation())
    trainer.train()
    varied = [
        1 - line["frac_reward_zero_std"] for line in trainer.state.log_history if "loss" in line
    ]
    return {
        "seed": seed,
        "dynamic_sampling": dynamic,
        "reached": reached(rewards),
        "steps": len(made),
        "completions": sum(made),
        "groups_with_variance": round(float(np.mean(varied)), 3),
        "rewards": rewards,
    }


def reached(rewards: Sequence[float]) -> bool:
    return len(rewards) >= AVERAGED and float(np.mean(rewards[-AVERAGED:])) >= TARGET


def compare(runs: Sequence[dict[str, Any]], what: str) -> dict[str, Any] | None:
    """With dynamic sampling beside without, which `runs` hold in turn; None unless all of them
    reached the reward.

    Intervals are percentiles of scipy.stats.bootstrap over seeds, None for a single one.
    """
    if not all(run["reached"] for run in runs):
        return None
    plain, dynamic = (np.array([run[what] for run in half]) for half in (runs[::2], runs[1::2]))
    found: dict[str, Any] = {"without": float(plain.mean()), "with": float(dynamic.mean())}
    for name, join in (("difference", np.subtract), ("ratio", np.divide)):
        found[name] = float(join(dynamic.mean(), plain.mean()))
        found[f"{name}_interval"] = interval(dynamic, plain, join) if len(plain) > 1 else None
    return found


def interval(dynamic: Any, plain: Any, join: np.ufunc) -> list[float]:
    def joined(ours: Any, theirs: Any, axis: int) -> Any:
        return join(ours.mean(axis=axis), theirs.mean(axis=axis))

    drawn = stats.bootstrap((dynamic, plain), joined, paired=True, method="percentile", rng=0)
    return [float(bound) for bound in drawn.confidence_interval]


def show(runs: Sequence[dict[str, Any]]) -> None:
    columns = (
        "seed",
        "dynamic sampling",
        "reached",
        "steps",
        "completions",
        "groups with variance",
    )
    table = Table(*columns, title=f"to a reward of {TARGET} on the prompts that are not solved")
    for run in runs:
        table.add_row(*(str(run[column.replace(" ", "_")]) for column in columns))
    Console(stderr=True, width=120).print(table)
