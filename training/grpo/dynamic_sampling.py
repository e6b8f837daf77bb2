"""Dynamic sampling, which TRL lacks: a batch whose every group has something to learn from. Nothing of TRL is copied.

    SpanGRPOConfig(dynamic_sampling=True, max_resamples=5)

A group whose completions all have the same reward has advantages of 0; DAPO (Yu et al. 2025, arXiv 2503.14476, section
3.2, equation 11) leaves it out and samples on until the batch is full. Here a batch is first drafted: its completions
are sampled and judged, and where a group has no variance, new prompts are drawn and completed, as many as are missing,
for at most max_resamples rounds. Only then does TRL score the batch, once, and finds the drafted completions and
verdicts in place of its own sampling: padding, pictures, log-probabilities, advantages, other reward functions, metrics
and logs are all of the batch that is trained on, whatever was drawn for it.

The reward looked at is the weighted sum of the Rewards' scores: no other reward function (a punishment of length), and
no completion on which a judge failed. New prompts come from an order of their own, the same on every rank, which a
checkpoint continues. What a round found beyond the need is dropped. Logged, per batch:

    sampling/reward             mean reward of the prompts that the data's order gave, solved ones included
    sampling/rounds             rounds of drawing
    sampling/drawn_groups       prompts drawn in them
    sampling/resampled_groups   groups of the batch that were replaced
    sampling/unfilled_groups    groups of the batch without variance, for which nothing was found
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewards.verdict import Verdict
from training.grpo.config import SpanGRPOConfig
from training.grpo.recorder import Recorder

SAME_REWARD = 1e-6  # rewards of a group as close as this are one: TRL divides by their deviation plus 1e-4
STATE_FILE = "sampling.json"  # of a checkpoint: how many prompts were drawn


@dataclass(frozen=True, slots=True)
class Rollout:
    """A completion that was sampled and judged: its token ids, its sampler's log-probabilities where that gives them,
    its text, and a verdict by each Reward's name.
    """

    ids: list[int]
    logprobs: list[float] | None
    text: str
    verdicts: Mapping[str, Verdict]


def reward_of(rollout: Rollout, weights: Mapping[str, float]) -> float | None:
    """Weighted sum of the scores, those that do not apply left out; None without any, or where a judge failed."""
    if any(verdict.status.failed for verdict in rollout.verdicts.values()):
        return None
    scores = [weights[name] * verdict.score for name, verdict in rollout.verdicts.items() if verdict.score is not None]
    return sum(scores) if scores else None


def has_variance(group: Sequence[Rollout], weights: Mapping[str, float]) -> bool:
    """Whether the group's rewards differ; those that are None are not looked at."""
    rewards = [reward for reward in (reward_of(rollout, weights) for rollout in group) if reward is not None]
    return bool(rewards) and max(rewards) - min(rewards) > SAME_REWARD


def mean_reward(rollouts: Sequence[Rollout], weights: Mapping[str, float]) -> float:
    """Mean of the rewards that are not None; NaN without any."""
    rewards = [reward for reward in (reward_of(rollout, weights) for rollout in rollouts) if reward is not None]
    return sum(rewards) / len(rewards) if rewards else math.nan


def round_groups(missing: int, group_size: int, ranks: int) -> int:
    """How many groups to draw for `missing` ones: the fewest whose completions split evenly over the ranks."""
    unit = ranks // math.gcd(group_size, ranks)
    return -(-missing // unit) * unit


class PromptStream:
    """Rows of a dataset of `count`, by number, in a shuffled order without end that `seed` decides.

    Every pass over the dataset has another order. `drawn`, how many were given, is all of its state.
    """

    def __init__(self, count: int, seed: int) -> None:
        self.count = count
        self.seed = seed
        self.drawn = 0

    def draw(self, wanted: int) -> list[int]:
        """The next `wanted` rows."""
        first, self.drawn = self.drawn, self.drawn + wanted
        passes = {place // self.count for place in range(first, self.drawn)}
        orders = {number: self._order(number) for number in passes}
        return [orders[place // self.count][place % self.count] for place in range(first, self.drawn)]

    def _order(self, number: int) -> list[int]:
        rows = list(range(self.count))
        random.Random(f"dynamic sampling {self.seed} {number}").shuffle(rows)
        return rows


class DynamicSampling:
    """Fills batches from `dataset`, whose rows are read by number, in an order that the settings' seed decides."""

    def __init__(self, dataset: Any, args: SpanGRPOConfig, recorders: Sequence[Recorder]) -> None:
        self.dataset = dataset
        self.max_resamples = args.max_resamples
        self.names = [recorder.__name__ for recorder in recorders]
        self.prompts = PromptStream(len(dataset), args.seed)

    def fill(
        self,
        inputs: list[dict[str, Any]],
        draft: Callable[[list[dict[str, Any]]], list[list[Rollout]]],
        weights: Mapping[str, float],
        size: int,
        rank: int,
        ranks: int,
    ) -> tuple[list[dict[str, Any]], list[Rollout], dict[str, float]]:
        """This rank's rows and rollouts of the batch to train on, and what is logged of it.

        inputs: this rank's rows in the data's order. draft: completes and judges rows of this rank, and gives the
        groups of all ranks. weights: of all reward functions, by name. size: completions of a group.
        """
        weights = {name: weights[name] for name in self.names}
        groups = draft(inputs)
        reward = mean_reward([rollout for group in groups for rollout in group], weights)
        missing = [number for number, group in enumerate(groups) if not has_variance(group, weights)]
        replaced: dict[int, int] = {}  # group of the batch: row of the dataset
        rounds = drawn = 0
        while missing and rounds < self.max_resamples:
            numbers = self.prompts.draw(round_groups(len(missing), size, ranks))
            rows = share([row for row in numbers for _ in range(size)], rank, ranks)
            found = draft([self._read(row, inputs[0]) for row in rows])
            for row, group in zip(numbers, found, strict=True):
                if missing and has_variance(group, weights):
                    place = missing.pop(0)
                    groups[place], replaced[place] = group, row
            rounds, drawn = rounds + 1, drawn + len(numbers)
        first = rank * len(inputs)
        places = [(first + number) // size for number in range(len(inputs))]
        batch = [
            self._read(replaced[place], row) if place in replaced else row
            for place, row in zip(places, inputs, strict=True)
        ]
        counts = {"rounds": rounds, "drawn_groups": drawn, "resampled_groups": len(replaced)}
        rollouts = share([rollout for group in groups for rollout in group], rank, ranks)
        return batch, rollouts, {"reward": reward, "unfilled_groups": len(missing), **counts}

    def _read(self, row: int, like: Mapping[str, Any]) -> dict[str, Any]:
        """A row of the dataset with the columns of `like`."""
        read = self.dataset[row]
        return {name: read[name] for name in like}


def share(rows: list[Any], rank: int, ranks: int) -> list[Any]:
    """The part of all ranks' rows that is this rank's."""
    count = len(rows) // ranks
    return rows[rank * count : (rank + 1) * count]
