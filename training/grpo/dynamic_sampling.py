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

    Args:
        ids: its token ids, as sampled.
        logprobs: the sampler's log-probability of each id; None where the sampler gives none.
        text: what was judged.
        verdicts: by the Reward's name.
        reward: the weighted sum of the verdicts' scores (`reward_of`).
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
        # a sum without the failed judge's part would look like a low reward
        if verdict.status.failed:
            return None
        # a reward that does not apply to the row has no score, and is no failure
        if verdict.score is not None:
            scores.append(weights[name] * verdict.score)
    if not scores:
        return None
    return sum(scores)


def has_variance(group: Sequence[Rollout], spread: float) -> bool:
    """Returns whether the standard deviation of the group's rewards, as TRL's `reward_std`, is
    above `spread`.
    """
    rewards = [rollout.reward for rollout in group if rollout.reward is not None]
    if len(rewards) < 2:  # nothing to compare: the other completions have no reward
        return False
    return stdev(rewards) > spread


def groups_to_draw(missing: int, useful: int, seen: int, batch: int) -> int:
    """Returns how many groups to draw, at most `batch`, so that `missing` of them probably have
    variance.

    Each round wakes the judges and, where TRL's engine sleeps, pushes the weights, so that few
    rounds with some groups too many are cheaper than many without.

    useful: how many of the groups `seen` so far had variance. With 2 missing and 6 useful groups of
    8 it is 3.
    """
    # (useful + 1) / (seen + 2), the share with variance by the rule of succession, is never 0
    expected = missing * (seen + 2) / (useful + 1)
    return min(batch, math.ceil(expected))


def round_groups(groups: int, group_size: int, ranks: int) -> int:
    """Returns the fewest groups, `groups` or more, whose completions split evenly over the ranks.

    With groups of 6 completions on 4 ranks it is a multiple of 2: 2 groups make 3 completions a
    rank.
    """
    unit = ranks // math.gcd(group_size, ranks)
    units = -(-groups // unit)  # rounded up, in whole numbers
    return units * unit


def draw(count: int, seed: int, first: int, last: int) -> list[int]:
    """Returns places first .. last - 1 of an endless shuffled order of the rows 0 .. count - 1,
    which `seed` decides.

    Each pass over the rows has another order, which depends on the seed and the pass alone. So a
    resumed run needs only the place at which it stopped.
    """
    orders: dict[int, list[int]] = {}  # by the number of the pass
    rows = []
    for place in range(first, last):
        number, place_in_pass = divmod(place, count)
        if number not in orders:
            orders[number] = list(range(count))
            random.Random(f"dynamic sampling {seed} {number}").shuffle(orders[number])
        rows.append(orders[number][place_in_pass])
    return rows


class DynamicSampling:
    """Replaces a batch's groups without variance by groups of new prompts, in at most
    `max_resamples` rounds.

    Args:
        dataset: the training data. Its rows are read by number, in an order that the settings' seed
            decides.
        args: the trainer's settings.
        whole_groups: whether each rank drafts whole groups, for a reward that compares the
            completions of one.

    Attributes:
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

        Every rank draws the same groups, since all decide by the groups of all ranks.

        inputs: this rank's rows in the data's order. draft: completes and judges rows of this rank,
        and returns the groups of all ranks. size: completions of a group. rank: this one's number
        of the `ranks`.
        """
        groups = draft(inputs)
        # of the first draft: a batch from which groups were chosen says less of the policy
        reward = mean_reward(groups)
        # the batch's groups, by their place in it, that teach nothing as they are
        missing = []
        for number, group in enumerate(groups):
            if not has_variance(group, self.spread):
                missing.append(number)
        replaced: dict[int, int] = {}  # group of the batch: row of the dataset
        # with a unit of 1, groups are a multiple of the ranks, and none is cut by a rank's end
        unit = 1 if self.whole_groups else size
        rounds = 0
        drawn = 0
        useful = len(groups) - len(missing)
        while missing and rounds < self.max_resamples:
            seen = len(groups) + drawn
            count = groups_to_draw(len(missing), useful, seen, batch=len(groups))
            begin = self.drawn
            self.drawn += round_groups(count, unit, ranks)
            numbers = draw(len(self.dataset), self.seed, begin, self.drawn)
            # complete and judge them: each row stands once for each of its group's completions
            repeated: list[int] = []
            for row in numbers:
                repeated += [row] * size
            new_inputs = []
            for row in share(repeated, rank, ranks):
                new_inputs.append(self._read(row, inputs[0]))
            new_groups = draft(new_inputs)
            # put those with variance in the places of groups without
            for row, group in zip(numbers, new_groups, strict=True):
                if not has_variance(group, self.spread):
                    continue
                useful += 1
                if missing:  # else the batch is full, and this group is one too many
                    place = missing.pop(0)
                    groups[place] = group
                    replaced[place] = row
            rounds += 1
            drawn += len(numbers)
        batch = self._batch_rows(inputs, replaced, size, rank)
        rollouts = share(list(chain(*groups)), rank, ranks)
        numbers_to_log = {
            "reward": reward,
            "unfilled_groups": len(missing),
            "rounds": rounds,
            "drawn_groups": drawn,
            "resampled_groups": len(replaced),
        }
        return batch, rollouts, numbers_to_log

    def _batch_rows(
        self, inputs: list[dict[str, Any]], replaced: Mapping[int, int], size: int, rank: int
    ) -> list[dict[str, Any]]:
        """Returns this rank's rows with those of the replaced groups in their places.

        replaced: by a group's number in the batch of all ranks, the row of the dataset.
        """
        batch = []
        # numbered over all ranks, which have equally many rows
        for number, input_row in enumerate(inputs, start=rank * len(inputs)):
            group = number // size
            if group in replaced:
                batch.append(self._read(replaced[group], input_row))
            else:
                batch.append(input_row)
        return batch

    def save(self, checkpoint: Path) -> None:
        """Write the state into a checkpoint's folder, which need not be there yet."""
        checkpoint.mkdir(parents=True, exist_ok=True)
        (checkpoint / STATE_FILE).write_text(json.dumps({"drawn": self.drawn}))

    def load(self, checkpoint: Path) -> None:
        """Read the state from a checkpoint's folder, if it was saved there."""
        file = checkpoint / STATE_FILE
        # a checkpoint of a run without dynamic sampling has none: the draws begin anew
        if file.is_file():
            self.drawn = json.loads(file.read_text())["drawn"]

    def _read(self, row: int, like: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the dataset's row, with the columns of the row `like` alone."""
        values = self.dataset[row]
        return {name: values[name] for name in like}


def mean_reward(groups: Sequence[Sequence[Rollout]]) -> float:
    """Returns the mean reward of the rollouts that have one, NaN where none has."""
    rewards = []
    for rollout in chain(*groups):
        if rollout.reward is not None:
            rewards.append(rollout.reward)
    if not rewards:
        return math.nan
    return sum(rewards) / len(rewards)


def share(rows: list[Any], rank: int, ranks: int) -> list[Any]:
    """Returns this rank's part of the rows of all ranks, which follow each other by rank.

    Every rank has equally many: of 8 rows, rank 1 of 2 has the last four.
    """
    count = len(rows) // ranks
    return rows[rank * count : (rank + 1) * count]
