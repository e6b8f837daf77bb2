"""Votes on pairs of texts, which are shown in both orders.

    votes = cast(judge, [asked_one_way, asked_the_other_way])[0]
    votes.outcome                       # 1, 0 or -1 for the pair's first text, None if a vote failed

A judge that always prefers the first place decides nothing: its two votes disagree, which is a tie.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from spanreward.rewards.comparison.orders import settle
from spanreward.rewards.judges.judge import Failure, Judge, Question, Rating
from spanreward.rewards.judges.shared.cached_judge import rate_once

FIRST, SECOND = "A", "B"  # the answers for the text shown first and second
SCALE = (FIRST, SECOND, "C")


@dataclass(frozen=True, slots=True)
class Vote:
    """The answer of one order. first: whether the pair's first text was shown first."""

    answer: Rating | Failure
    first: bool

    @property
    def letter(self) -> str | None:
        """The likeliest answer, "" if there are several, None for a failed vote."""
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
        """The probability of the pair's first text plus half that of neither, None for a failed vote."""
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
        """1 if both chose the pair's first text, -1 for its second, otherwise 0. None if a vote failed."""
        return settle(self.one.choice, self.two.choice)

    @property
    def share(self) -> float | None:
        """The mean share of both votes, None if a vote failed."""
        one, two = self.one.share, self.two.share
        return None if one is None or two is None else (one + two) / 2

    @property
    def disagree(self) -> bool:
        """Whether both votes succeeded and are different."""
        return None not in (self.one.choice, self.two.choice) and self.one.choice != self.two.choice

    @property
    def failure(self) -> Failure | None:
        """The first failed answer."""
        return next((vote.answer for vote in (self.one, self.two) if isinstance(vote.answer, Failure)), None)

    @property
    def letters(self) -> list[str | None]:
        """Both answers as the judge gave them."""
        return [self.one.letter, self.two.letter]

    @property
    def slots(self) -> list[bool | None]:
        """Per vote whether it chose the text shown first, None if it chose neither or failed."""
        return [None if not vote.choice else (vote.choice > 0) == vote.first for vote in (self.one, self.two)]


def cast(judge: Judge, questions: Sequence[Question | Failure], scale: Sequence[str] = SCALE) -> list[PairVotes]:
    """Returns the votes on every pair, in order, from one call in which equal questions are asked once.

    questions: two per pair, with its first text shown first and then second; a Failure is a failed vote.
    """
    found = rate_once(judge, questions, scale)
    return [
        PairVotes(Vote(one, first=True), Vote(two, first=False))
        for one, two in zip(found[::2], found[1::2], strict=True)
    ]
