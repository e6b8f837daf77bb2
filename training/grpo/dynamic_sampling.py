"""Dynamic sampling, which TRL lacks: replaces groups of a batch that teach nothing.

If all completions of a group have the same reward, the group's advantages are 0. DAPO (Yu et al.
2025, arXiv 2503.14476, section 3.2, equation 11) leaves out such groups and samples until the batch
is full. Scores such as PoSh's are hardly ever equal. TRL divides a group's rewards by their
standard deviation, so that small differences would count as much as large differences. Therefore
this module also replaces a group with a standard deviation of at most dynamic_sampling_spread.

A batch is first drafted, which means completed and judged. Then new prompts are drawn, completed
and judged for the groups without variance, in at most max_resamples rounds. At last TRL scores the
full batch once, with the drafted completions and verdicts. So padding, log-probabilities,
advantages and logs belong to the batch that is trained on.

The reward that must vary is the weighted sum of the Rewards' scores. Other reward functions, such
as a punishment of length, do not count. Completions on which a judge failed do not count either.
The new prompts follow a random order that is the same on every rank and continues after a
checkpoint. A round may find more useful groups than are missing; the extra groups are dropped.
docs/logged_keys.md explains the keys `sampling/...`.
"""

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import stdev
from typing import Any, NamedTuple

from spanreward.rewards.base.verdict import Verdict
from spanreward.training.grpo.config import SpanGRPOConfig

STATE_FILE = "sampling.json"  # the file in a checkpoint with the number of prompts drawn so far


@dataclass(frozen=True, slots=True)
class Rollout:
    """A completion that was sampled and judged.

    Args:
        ids: the completion's token ids, as sampled.
        logprobs: the sampler's log-probability of each id; None if the sampler gives none.
        text: the judged text.
        verdicts: each Reward's verdict, by the Reward's name.
        reward: the weighted sum of the verdicts' scores, or None (see `reward_of`).
    """

    ids: list[int]
    logprobs: list[float] | None
    text: str
    verdicts: Mapping[str, Verdict]
    reward: float | None


def reward_of(verdicts: Mapping[str, Verdict], weights: Mapping[str, float]) -> float | None:
    """Returns the weighted sum of a completion's scores; None if no verdict has a score, or if a
    judge failed.

    Dynamic sampling asks whether these sums differ within a group, so that the policy can learn
    from the group. A Reward of weight 0 teaches nothing, so its score and its failure do not count.
    (`span_table.logged_reward` sums what every reward function paid, and a weight of 0 adds 0.)

    verdicts, weights: by the Reward's name.
    """
    scores = []
    for name, verdict in verdicts.items():
        if weights[name] == 0:
            continue
        # a sum without the failed judge's score would look like a low reward
        if verdict.status.failed:
            return None
        # a reward that does not apply to the row has no score, although no judge failed
        if verdict.score is not None:
            scores.append(weights[name] * verdict.score)
    if not scores:
        return None
    return sum(scores)


def has_variance(group: Sequence[Rollout], spread: float) -> bool:
    """Returns whether the standard deviation of the group's rewards is above `spread`.

    The deviation is the sample standard deviation (n - 1), like TRL's `reward_std`.
    """
    rewards = [rollout.reward for rollout in group if rollout.reward is not None]
    if len(rewards) < 2:  # fewer than two rewards have no standard deviation
        return False
    return stdev(rewards) > spread


def groups_to_draw(missing: int, useful: int, seen: int, batch: int) -> int:
    """Returns how many groups to draw so that about `missing` of these groups have variance.

    The result may be a few groups too many, because a further round costs more than a few groups:
    it wakes the judges, and it pushes the weights if TRL's engine sleeps. Example: 2 missing
    groups, with 6 useful groups of 8 seen, give 3.

    Args:
        missing: the number of groups of the batch that still need a replacement.
        useful: the number of groups with variance among the groups seen so far.
        seen: the number of groups that were completed and judged so far.
        batch: the number of groups of a batch, which the result never exceeds.
    """
    # estimate the share of useful groups by the rule of succession, which never gives 0
    expected = missing * (seen + 2) / (useful + 1)
    return min(batch, math.ceil(expected))


def round_groups(groups: int, group_size: int, ranks: int) -> int:
    """Returns the least number of groups, `groups` or more, that gives every rank equally many
    completions.

    Example: for groups of 6 completions on 4 ranks the result is a multiple of 2. Two groups give
    each rank 3 completions.

    group_size: the number of completions of a group. ranks: the number of ranks.
    """
    # the fewest groups whose completions can be split evenly
    unit = ranks // math.gcd(group_size, ranks)
    return math.ceil(groups / unit) * unit


def draw_row_numbers(count: int, seed: int, first: int, last: int) -> list[int]:
    """Returns a part of an endless random sequence of row numbers: the places `first` to `last` - 1
    of the sequence.

    The sequence passes over the rows 0 to `count` - 1 again and again, each time in another order.
    The order of a pass depends only on `seed` and on the number of the pass. So a resumed run can
    continue the sequence if it knows the place at which the earlier run stopped.
    """
    orders: dict[int, list[int]] = {}  # the order of each pass, by the number of the pass
    rows = []
    for place in range(first, last):
        pass_number, place_in_pass = divmod(place, count)
        if pass_number not in orders:
            order = list(range(count))
            random.Random(f"dynamic sampling {seed} {pass_number}").shuffle(order)
            orders[pass_number] = order
        rows.append(orders[pass_number][place_in_pass])
    return rows


class FilledBatch(NamedTuple):
    """The batch to train on, after dynamic sampling.

    rows: this rank's rows, one for each completion. rollouts: the completion and the verdicts of
    each of these rows. numbers: the numbers to log, by the key after `sampling/`.
    """

    rows: list[dict[str, Any]]
    rollouts: list[Rollout]
    numbers: dict[str, float]


class DynamicSampling:
    """Replaces a batch's groups without variance by groups of new prompts, in at most
    `max_resamples` rounds.

    Args:
        dataset: the training data, whose rows are read by number, in the order of
        `draw_row_numbers`.
        args: the trainer's settings. The order of the rows depends on their seed.
        whole_groups: whether no group may be split between two ranks. A reward that compares the
            completions of a group needs whole groups.

    Attributes:
        drawn: the number of rows drawn so far. A checkpoint needs no other state.
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
    ) -> FilledBatch:
        """Returns this rank's part of the batch to train on, and the numbers to log.

        Every rank must call this method. Every rank sees the groups of all ranks, and so replaces
        the same groups by the same prompts.

        Args:
            inputs: this rank's rows of the batch, a row for each completion, in the data's order.
            draft: a function that completes and judges rows of this rank. The function returns the
                groups of rollouts of all ranks.
            size: the number of completions of a group.
            rank: the number of this rank, from 0.
            ranks: the number of ranks.
        """
        groups = draft(inputs)
        # log the mean reward before groups are chosen: chosen groups do not represent the policy
        reward = mean_reward(groups)
        missing = []  # the numbers of the groups of the batch that need a replacement
        for number, group in enumerate(groups):
            if not has_variance(group, self.spread):
                missing.append(number)
        useful = len(groups) - len(missing)  # groups with variance among all that were judged
        replaced: dict[int, int] = {}  # by the number of a replaced group, its row of the dataset
        rounds = 0
        drawn_groups = 0
        while missing and rounds < self.max_resamples:
            judged = len(groups) + drawn_groups
            count = groups_to_draw(len(missing), useful, judged, batch=len(groups))
            new_rows = self._draw_rows(count, size, ranks)
            new_groups = draft(self._inputs_of_rank(new_rows, inputs[0], size, rank, ranks))
            useful_groups = self._rows_and_useful_groups(new_rows, new_groups)
            for row, group in useful_groups[: len(missing)]:  # further useful groups are dropped
                number = missing.pop(0)
                groups[number] = group
                replaced[number] = row
            useful += len(useful_groups)
            rounds += 1
            drawn_groups += len(new_rows)
        numbers_to_log = {
            "reward": reward,
            "unfilled_groups": len(missing),
            "rounds": rounds,
            "drawn_groups": drawn_groups,
            "resampled_groups": len(replaced),
        }
        rows = self._batch_rows(inputs, replaced, size, rank)
        rollouts = share_of_rank(list(chain(*groups)), rank, ranks)
        return FilledBatch(rows, rollouts, numbers_to_log)

    def _rows_and_useful_groups(
        self, rows: Sequence[int], groups: Sequence[list[Rollout]]
    ) -> list[tuple[int, list[Rollout]]]:
        """Returns the groups with variance, each after its row number.

        rows: the row number of each of the groups.
        """
        useful = []
        for row, group in zip(rows, groups, strict=True):
            if has_variance(group, self.spread):
                useful.append((row, group))
        return useful

    def _draw_rows(self, groups: int, size: int, ranks: int) -> list[int]:
        """Returns the next row numbers of the random order, a row for each group to complete.

        groups: the least number of rows. There may be more, so that every rank completes equally
        many. size: the number of completions of a group. ranks: the number of ranks.
        """
        if self.whole_groups:
            count = round_groups(groups, 1, ranks)  # equally many whole groups for every rank
        else:
            count = round_groups(groups, size, ranks)
        first = self.drawn
        self.drawn += count
        return draw_row_numbers(len(self.dataset), self.seed, first, self.drawn)

    def _inputs_of_rank(
        self,
        rows: Sequence[int],
        like: Mapping[str, Any],
        size: int,
        rank: int,
        ranks: int,
    ) -> list[dict[str, Any]]:
        """Returns the rows that this rank completes, each repeated for each of its completions.

        Args:
            rows: the row numbers of the groups of all ranks.
            like: a row that the trainer got for this batch; the result has the same columns.
            size: the number of completions of a group.
            rank: the number of this rank, from 0.
            ranks: the number of ranks.
        """
        repeated: list[int] = []
        for row in rows:
            repeated += [row] * size
        return [self._read(row, like) for row in share_of_rank(repeated, rank, ranks)]

    def _batch_rows(
        self,
        inputs: list[dict[str, Any]],
        replaced: Mapping[int, int],
        size: int,
        rank: int,
    ) -> list[dict[str, Any]]:
        """Returns this rank's rows of the batch, with new rows for the replaced groups.

        inputs: this rank's rows before. replaced: by the number of a replaced group in the batch of
        all ranks, the number of the new row in the dataset. size: completions of a group.
        """
        batch = []
        # number the rows over all ranks; every rank has equally many rows
        for number, input_row in enumerate(inputs, start=rank * len(inputs)):
            group = number // size
            if group in replaced:
                batch.append(self._read(replaced[group], input_row))
            else:
                batch.append(input_row)
        return batch

    def save(self, checkpoint: Path) -> None:
        """Writes the state into a checkpoint's folder. The method makes the folder if needed."""
        checkpoint.mkdir(parents=True, exist_ok=True)
        (checkpoint / STATE_FILE).write_text(json.dumps({"drawn": self.drawn}))

    def load(self, checkpoint: Path) -> None:
        """Reads the state from a checkpoint's folder, if the folder has a state."""
        file = checkpoint / STATE_FILE
        # the run of the checkpoint may have had no dynamic sampling: then `drawn` stays 0
        if file.is_file():
            self.drawn = json.loads(file.read_text())["drawn"]

    def _read(self, row: int, like: Mapping[str, Any]) -> dict[str, Any]:
        """Returns row number `row` of the dataset, with only the columns that `like` has.

        like: a row that the trainer got for this batch.
        """
        values = self.dataset[row]
        return {name: values[name] for name in like}


def mean_reward(groups: Sequence[Sequence[Rollout]]) -> float:
    """Returns the mean reward of the rollouts with a reward; NaN if no rollout has a reward."""
    rewards = []
    for rollout in chain(*groups):
        if rollout.reward is not None:
            rewards.append(rollout.reward)
    if not rewards:
        return math.nan
    return sum(rewards) / len(rewards)


def share_of_rank(rows: list[Any], rank: int, ranks: int) -> list[Any]:
    """Returns this rank's part of a list that holds the rows of all ranks, rank after rank.

    Every rank has equally many rows. Example: of 8 rows, rank 1 of 2 ranks has the last four.

    rank: the number of this rank, from 0. ranks: the number of ranks.
    """
    count = len(rows) // ranks
    return rows[rank * count : (rank + 1) * count]
