"""A rank whose judge answers nothing. Its completions teach nothing, and where the others' are
judged the mean over ranks does not say so.

    silence = SilentJudges(2)             # rewards
    silence.add(0, verdicts)              # of this rank, as often as it judges in a step
    silence.lasting(silent_of_all_ranks)  # (rank, reward), or None
    silence.begin()                       # the next step
"""

from collections.abc import Sequence

import torch

from spanreward.rewards.base.verdict import Status, Verdict

MAX_SILENT_STEPS = 3  # in a row, after which a rank is given up


class SilentJudges:
    """Counts the steps in a row in which a reward's judge answered nothing, by rank.

    A step counts where a judge failed on a row of the rank and answered for none. Rows about which
    it need not be asked, empty or not applicable ones, are no answers and no failures.

    Args:
        rewards: how many there are.

    Attributes:
        reasons: by reward, the note of this rank's first failure in the step, None without one.
    """

    def __init__(self, rewards: int) -> None:
        self._answered = [False] * rewards  # in this step, by this rank's judge
        self.reasons: list[str | None] = [None] * rewards
        # (ranks, rewards), how many steps in a row; None before the first step, when the ranks are
        # not known yet
        self._steps: torch.Tensor | None = None

    def begin(self) -> None:
        """A step begins."""
        self._answered = [False] * len(self._answered)
        self.reasons = [None] * len(self.reasons)

    def add(self, reward: int, verdicts: Sequence[Verdict]) -> None:
        """Takes verdicts of this rank. reward: the number of the one that gave them."""
        for verdict in verdicts:
            if verdict.status is Status.OK:
                self._answered[reward] = True
            elif verdict.status.failed and self.reasons[reward] is None:
                self.reasons[reward] = verdict.note

    @property
    def silent(self) -> list[bool]:
        """For each reward whether its judge answered nothing in this step, on this rank."""
        silent = []
        for reason, answered in zip(self.reasons, self._answered, strict=True):
            failed = reason is not None
            silent.append(failed and not answered)
        return silent

    def lasting(self, silent: torch.Tensor) -> tuple[int, int] | None:
        """Counts a step, and returns the first rank and reward that were silent in
        MAX_SILENT_STEPS in a row.

        silent: (ranks, rewards), bool, `silent` of every rank.
        """
        if self._steps is None:
            self._steps = torch.zeros_like(silent, dtype=torch.long)
        self._steps = torch.where(silent, self._steps + 1, 0)  # one answer begins anew
        lasting = (self._steps >= MAX_SILENT_STEPS).nonzero().tolist()  # by rank, then by reward
        if not lasting:
            return None
        rank, reward = lasting[0]
        return rank, reward
