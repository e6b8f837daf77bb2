"""Votes on pairs: every pair in both orders, every question once, and what the two orders decide.

    votes = cast(judge, [asked_one_way, asked_the_other_way])[0]
    votes.outcome                       # 1, 0 or -1 for the pair's first text; None where a vote failed

A judge that looks at the slot and not at the text decides nothing: its two votes disagree, which is a tie.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rewards.comparison.orders import settle
from rewards.judges.judge import Failure, Judge, Question, Rating
from rewards.judges.shared.cached_judge import rate_once

FIRST, SECOND = "A", "B"  # what a judge answers for the text that it was shown first, and second
SCALE = (FIRST, SECOND, "C")


@dataclass(frozen=True, slots=True)
class Vote:
    """One order's answer about a pair of texts; `first`: whether the pair's first text was shown first."""

    answer: Rating | Failure
    first: bool

    @property
    def letter(self) -> str | None:
        """The likeliest answer; "" where several are, None for a failed vote."""
        if isinstance(self.answer, Failure):
            return None
        best = max(self.answer.probabilities.values())
        letters = [letter for letter, share in self.answer.probabilities.items() if share == best]
        return letters[0] if len(letters) == 1 else ""

    @property
    def choice(self) -> int | None:
        """1 for the pair's first text, -1 for its second, 0 for neither, None for a failed vote."""
        if self.letter is None:
            return None
        chosen = {FIRST: 1, SECOND: -1}.get(self.letter, 0)
        return chosen if self.first else -chosen

    @property
    def share(self) -> float | None:
        """The probability that went to the pair's first text, that of neither half; None for a failed vote."""
        if isinstance(self.answer, Failure):
            return None
        shares = self.answer.probabilities
        return (1 + (shares[FIRST] - shares[SECOND]) * (1 if self.first else -1)) / 2


@dataclass(frozen=True, slots=True)
class PairVotes:
    """Both orders of a pair."""

    one: Vote
    two: Vote

    @property
    def outcome(self) -> int | None:
        """1 where both chose the pair's first text, -1 its second, otherwise 0; None where a vote failed."""
        return settle(self.one.choice, self.two.choice)

    @property
    def share(self) -> float | None:
        """The mean of both votes' distributions; None where a vote failed."""
        one, two = self.one.share, self.two.share
        return None if one is None or two is None else (one + two) / 2

    @property
    def disagree(self) -> bool:
        """Whether both votes were read and are different."""
        return None not in (self.one.choice, self.two.choice) and self.one.choice != self.two.choice

    @property
    def failure(self) -> Failure | None:
        """The first vote that failed."""
        failed = [vote.answer for vote in (self.one, self.two) if isinstance(vote.answer, Failure)]
        return failed[0] if failed else None

    @property
    def letters(self) -> list[str | None]:
        """Both answers as they were given."""
        return [self.one.letter, self.two.letter]

    @property
    def slots(self) -> list[bool | None]:
        """Per vote whether it chose the text shown first; None where it chose neither, or failed."""
        return [None if not vote.choice else (vote.choice > 0) == vote.first for vote in (self.one, self.two)]


def cast(judge: Judge, questions: Sequence[Question | Failure], scale: Sequence[str] = SCALE) -> list[PairVotes]:
    """The votes on every pair, in order; equal questions are put to the judge once, and all in one call.

    questions: two a pair, the one with its first text shown first and the one with it shown second. A Failure in place
    of a question, one that could not be asked, is a vote that failed.
    """
    found = rate_once(judge, questions, scale)
    return [
        PairVotes(Vote(one, first=True), Vote(two, first=False))
        for one, two in zip(found[::2], found[1::2], strict=True)
    ]
