"""Finds a rank whose judge answers nothing in several steps in a row.

    silence = SilentJudges(2)             # for two rewards
    silence.begin()                       # at the begin of each step
    silence.add(0, verdicts)              # verdicts of reward 0 on this rank; several times a step
    silence.lasting(silent_of_all_ranks)  # returns (rank, reward), or None

If the judge of one rank is dead, the rank's completions teach nothing. If the judges of many other
ranks work, the failed fraction over all ranks is too small to stop the run.
"""

from collections.abc import Sequence

import torch

from spanreward.rewards.base.verdict import Status, Verdict

MAX_SILENT_STEPS = 3  # after so many silent steps in a row, the trainer stops


class SilentJudges:
    """Counts for each rank and reward the steps in a row in which the judge answered nothing.

    A step counts if the judge failed on a row of the rank and answered for no row. A row for which
    the judge is not asked (status EMPTY or NOT_APPLICABLE) is no answer and no failure.

    Args:
        rewards: the number of rewards.

    Attributes:
        reasons: for each reward the note of this rank's first failure in the step; None without a
            failure.
    """

    def __init__(self, rewards: int) -> None:
        # for each reward, whether this rank's judge has answered in this step
        self._answered = [False] * rewards
        self.reasons: list[str | None] = [None] * rewards
        # (ranks, rewards), the number of silent steps in a row; None before the first step, because
        # the number of ranks is not known then
        self._steps: torch.Tensor | None = None

    def begin(self) -> None:
        """Begins a new step: forgets the answers and failures of the step before."""
        self._answered = [False] * len(self._answered)
        self.reasons = [None] * len(self.reasons)

    def add(self, reward: int, verdicts: Sequence[Verdict]) -> None:
        """Notes whether the verdicts hold an answer of the judge, and the reason of the step's
        first failure, if there is one.

        reward: the number of the reward that returned the verdicts. verdicts: on completions of
        this rank. A verdict with another status than OK or a failure, such as EMPTY, changes
        nothing.
        """
        for verdict in verdicts:
            if verdict.status is Status.OK:
                self._answered[reward] = True
            elif verdict.status.failed and self.reasons[reward] is None:
                self.reasons[reward] = verdict.note

    @property
    def silent(self) -> list[bool]:
        """For each reward whether this rank's judge failed and answered nothing in this step."""
        silent = []
        for reason, answered in zip(self.reasons, self._answered, strict=True):
            failed = reason is not None
            silent.append(failed and not answered)
        return silent

    def lasting(self, silent: torch.Tensor) -> tuple[int, int] | None:
        """Counts a step. Returns the first rank and reward that were silent for MAX_SILENT_STEPS
        steps in a row, or None.

        silent: (ranks, rewards), bool, the property `silent` of every rank.
        """
        if self._steps is None:
            self._steps = torch.zeros_like(silent, dtype=torch.long)
        # count on for the silent pairs of rank and reward, and begin at 0 for the others
        self._steps = torch.where(silent, self._steps + 1, 0)
        too_long = self._steps >= MAX_SILENT_STEPS
        pairs = too_long.nonzero().tolist()  # [rank, reward] of each, in the order of the ranks
        if not pairs:
            return None
        rank, reward = pairs[0]
        return rank, reward
