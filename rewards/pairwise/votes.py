"""Votes on pairs of texts, which are shown in both orders.

    votes = cast(judge, [asked_one_way, asked_the_other_way])[0]
    votes.outcome  # 1, 0 or -1 for the pair's first text, None if a vote failed

A judge that always prefers the first place decides nothing: its two votes disagree, which is a tie.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from spanreward.rewards.judges.judge import Failure, Judge, Question, Rating, answered

# the answers for the text shown first and second
FIRST = "A"
SECOND = "B"
VOTE_SCALE = (FIRST, SECOND, "C")
# whether a letter chose the text shown first; letters that are not here chose neither slot
IS_FIRST_SLOT: dict[str | None, bool] = {FIRST: True, SECOND: False}
# what a letter means for the text shown first; letters that are not here chose neither
CHOICES = {FIRST: 1, SECOND: -1, None: None}


def letter_of(answer: Rating | Failure) -> str | None:
    """Returns the likeliest answer, "" if there are several, None for a failed vote."""
    if isinstance(answer, Failure):
        return None
    shares = answer.probabilities
    best = max(shares.values())
    letters = [letter for letter, share in shares.items() if share == best]
    if len(letters) > 1:
        return ""
    return letters[0]


@dataclass(frozen=True, slots=True)
class PairVotes:
    """The judge's answers on a pair.

    Args:
        one: the answer where the pair's first text was shown first.
        two: the answer where the pair's first text was shown second.
    """

    one: Rating | Failure
    two: Rating | Failure

    @property
    def failure(self) -> Failure | None:
        """The first failed answer."""
        for answer in (self.one, self.two):
            if isinstance(answer, Failure):
                return answer
        return None

    @property
    def letters(self) -> list[str | None]:
        """Both answers as the judge gave them, see `letter_of`."""
        return [letter_of(self.one), letter_of(self.two)]

    @property
    def slots(self) -> list[bool | None]:
        """Per vote whether it chose the text shown first, None if it chose neither or failed."""
        return [IS_FIRST_SLOT.get(letter) for letter in self.letters]

    @property
    def choices(self) -> tuple[int | None, int | None]:
        """Per vote 1 for the pair's first text, -1 for its second, 0 for neither, None if it
        failed.
        """
        first_letter, second_letter = self.letters
        first = CHOICES.get(first_letter, 0)
        second = CHOICES.get(second_letter, 0)
        if second is not None:
            second = -second  # there A was the pair's second text
        return first, second

    @property
    def outcome(self) -> int | None:
        """1 if both chose the pair's first text, -1 for its second, otherwise 0.

        None if a vote failed.
        """
        return settled_vote(*self.choices)

    @property
    def disagree(self) -> bool:
        """Whether both votes succeeded and are different."""
        first, second = self.choices
        if first is None or second is None:
            return False
        return first != second


def cast(
    judge: Judge,
    questions: Sequence[Question | Failure],
    scale: Sequence[str] = VOTE_SCALE,
) -> list[PairVotes]:
    """Returns the votes on every pair, in order, from one call in which equal questions are asked
    once.

    questions: two per pair, with its first text shown first and then second; a Failure is a failed
    vote.
    """
    answers = answered(judge.rate, questions, scale)
    shown_first = answers[::2]
    shown_second = answers[1::2]
    votes = []
    for first, second in zip(shown_first, shown_second, strict=True):
        votes.append(PairVotes(first, second))
    return votes


def settled_vote(first: int | None, second: int | None) -> int | None:
    """Returns 1, 0 or -1 where both orders say so, 0 where they differ, and None where one of them
    failed.
    """
    if first is None or second is None:
        return None
    return first if first == second else 0


def first_slot_share(chose_first: Sequence[bool | None]) -> float | None:
    """Returns the share, in [0, 1], of decided votes for the text shown first, None without any.

    A judge without position bias that is asked in both orders has 0.5. chose_first: per vote, None
    for neither text and for a failure.
    """
    decided = [is_first for is_first in chose_first if is_first is not None]
    if not decided:
        return None
    return decided.count(True) / len(decided)
