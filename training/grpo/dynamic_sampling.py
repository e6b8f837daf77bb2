"""Dynamic sampling, which TRL lacks: every group of a batch has completions with different rewards.

A group whose completions all have the same reward has advantages of 0. DAPO (Yu et al. 2025, arXiv
2503.14476, section 3.2, equation 11) leaves such groups out and samples until the batch is full.
Scores such as PoSh's are hardly ever equal, and TRL divides small differences by their deviation,
so that they count as large ones do: here a group also goes whose deviation is at most
dynamic_sampling_spread. A batch is first drafted: completed and judged. For groups without variance
new prompts are drawn, completed and judged, in at most max_resamples rounds. Then TRL scores the
full batch once, with the drafted completions and verdicts in place of its own, so that padding,
log-probabilities, advantages and logs are those of the batch that is trained on.

The reward that must vary is the weighted sum of the Rewards' scores. Other reward functions (a
length punishment) and completions on which a judge failed do not count. New prompts come in an
order of their own, which is the same on every rank and goes on after a checkpoint. Groups that a
round finds beyond those missing are dropped. docs/logged_keys.md says what `sampling/...` logs.
"""

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import stdev
from typing import Any

from spanreward.rewards.base.verdict import Verdict
from spanreward.training.grpo.config import SpanGRPOConfig

STATE_FILE = "sampling.json"  # in a checkpoint: how many prompts were drawn


@dataclass(frozen=True, slots=True)
class Rollout:
    """A completion that was sampled and judged.

    ids: its token ids. logprobs: the sampler's log-probabilities, where it gives them. verdicts: by
    the Reward's name. reward: of the verdicts (`reward_of`).
    """

    ids: list[int]
    logprobs: list[float] | None
    text: str
    verdicts: Mapping[str, Verdict]
    reward: float | None


def reward_of(verdicts: Mapping[str, Verdict], weights: Mapping[str, float]) -> float | None:
    """Returns the weighted sum of the scores that there are; None without any, or where a judge
    failed. A reward of weight 0 decides nothing.
    """
    scores = []
    for name, verdict in verdicts.items():
        if weights[name] == 0:
            continue
        if verdict.status.failed:
            return None
        if verdict.score is not None:
            scores.append(weights[name] * verdict.score)
    return sum(scores) if scores else None


def has_variance(group: Sequence[Rollout], spread: float) -> bool:
    """Returns whether the standard deviation of the group's rewards, as TRL's `reward_std`, is
    above `spread`.
    """
    rewards = [rollout.reward for rollout in group if rollout.reward is not None]
    return len(rewards) > 1 and stdev(rewards) > spread


def groups_to_draw(missing: int, useful: int, seen: int, batch: int) -> int:
    """Returns how many groups to draw, at most `batch`, so that `missing` of them probably have
    variance.

    useful: those of the groups `seen` so far that had variance; the rule of succession estimates
    the share from both. Each round wakes the judges and, where TRL's engine sleeps, pushes the
    weights, so that few rounds with some groups too many are cheaper than many without.
    """
    return min(batch, math.ceil(missing * (seen + 2) / (useful + 1)))


def round_groups(groups: int, group_size: int, ranks: int) -> int:
    """Returns the fewest groups, `wanted` or more, whose completions split evenly over the
    ranks.
    """
    unit = ranks // math.gcd(group_size, ranks)
    return -(-groups // unit) * unit


def draw(count: int, seed: int, first: int, last: int) -> list[int]:
    """Returns places first .. last - 1 of an endless shuffled order of the rows 0 .. count - 1,
    which `seed` decides.

    Each pass over the rows has another order.
    """
    orders: dict[int, list[int]] = {}  # by the number of the pass
    for number in {place // count for place in range(first, last)}:
        orders[number] = list(range(count))
        random.Random(f"dynamic sampling {seed} {number}").shuffle(orders[number])
    return [orders[place // count][place % count] for place in range(first, last)]


class DynamicSampling:
    """Replaces a batch's groups without variance by groups of new prompts, in at most
    `max_resamples` rounds. The rows of `dataset` are read by number, in an order that the settings'
    seed decides.

    whole_groups: whether each rank drafts whole groups, for a reward that compares within one.
    drawn: the number of rows read so far, which is its whole state.
    """

    def __init__(self, dataset: Any, args: SpanGRPOConfig, whole_groups: bool = False) -> None:
        self.dataset = dataset
        self.whole_groups = whole_groups
        self.max_resamples = args.max_resamples
        self.spread = args.dynamic_sampling_spread
        self.seed = args.seed
        self.drawn = 0

    def fill(
        self,
        inputs: list[dict[str, Any]],
        draft: Callable[[list[dict[str, Any]]], list[list[Rollout]]],
        size: int,
        rank: int,
        ranks: int,
    ) -> tuple[list[dict[str, Any]], list[Rollout], dict[str, float]]:
        """Returns this rank's rows and rollouts of the batch to train on, and the numbers to log.

        inputs: this rank's rows in the data's order. draft: completes and judges rows of this rank,
        and returns the groups of all ranks. size: completions of a group.
        """
        groups = draft(inputs)
        rewards = []
        for rollout in chain(*groups):
            if rollout.reward is not None:
                rewards.append(rollout.reward)
        reward = sum(rewards) / len(rewards) if rewards else math.nan
        missing = []
        for number, group in enumerate(groups):
            if not has_variance(group, self.spread):
                missing.append(number)
        replaced: dict[int, int] = {}  # group of the batch: row of the dataset
        unit = 1 if self.whole_groups else size
        rounds = 0
        drawn = 0
        useful = len(groups) - len(missing)
        while missing and rounds < self.max_resamples:
            wanted_groups = groups_to_draw(len(missing), useful, len(groups) + drawn, len(groups))
            begin = self.drawn
            self.drawn += round_groups(wanted_groups, unit, ranks)
            numbers = draw(len(self.dataset), self.seed, begin, self.drawn)
            # a group's row stands once for each of its completions
            repeated = list(chain(*([row] * size for row in numbers)))
            rows = share(repeated, rank, ranks)
            new_groups = draft([self._read(row, inputs[0]) for row in rows])
            for row, group in zip(numbers, new_groups, strict=True):
                if has_variance(group, self.spread):
                    useful += 1
                    if missing:
                        place = missing.pop(0)
                        groups[place] = group
                        replaced[place] = row
            rounds += 1
            drawn += len(numbers)
        batch = []
        for number, input_row in enumerate(inputs, start=rank * len(inputs)):
            place = number // size
            batch.append(self._read(replaced[place], input_row) if place in replaced else input_row)
        counts = {"rounds": rounds, "drawn_groups": drawn, "resampled_groups": len(replaced)}
        rollouts = share(list(chain(*groups)), rank, ranks)
        return batch, rollouts, {"reward": reward, "unfilled_groups": len(missing), **counts}

    def save(self, checkpoint: Path) -> None:
        """Write the state into a checkpoint's folder, which need not be there yet."""
        checkpoint.mkdir(parents=True, exist_ok=True)
        (checkpoint / STATE_FILE).write_text(json.dumps({"drawn": self.drawn}))

    def load(self, checkpoint: Path) -> None:
        """Read the state from a checkpoint's folder, if it was saved there."""
        file = checkpoint / STATE_FILE
        if file.is_file():
            self.drawn = json.loads(file.read_text())["drawn"]

    def _read(self, row: int, like: Mapping[str, Any]) -> dict[str, Any]:
        read = self.dataset[row]
        return {name: read[name] for name in like}


def share(rows: list[Any], rank: int, ranks: int) -> list[Any]:
    """Returns this rank's part of the rows, which follow each other by rank."""
    count = len(rows) // ranks
    return rows[rank * count : (rank + 1) * count]
