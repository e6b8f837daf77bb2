"""Votes on pairs of texts. The judge sees each pair twice, in both orders.

    votes = cast_votes(judge, [asked_one_way, asked_the_other_way])[0]
    votes.outcome  # 1, 0 or -1 for the pair's first text, None if a vote failed

If a judge always prefers the first place, its two votes disagree. Votes that disagree make a tie,
so such a judge decides nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from spanreward.rewards.judges.judge import Failure, Judge, Question, Rating, answer_questions

# the letters for the text shown first and the text shown second
LETTER_OF_FIRST = "A"
LETTER_OF_SECOND = "B"
VOTE_SCALE = (LETTER_OF_FIRST, LETTER_OF_SECOND, "C")  # C means a tie
# Whether an answer chose the text shown first. All other answers (tie, failure) chose neither text.
IS_FIRST_SLOT: dict[str | None, bool] = {LETTER_OF_FIRST: True, LETTER_OF_SECOND: False}
# The value of an answer for the text shown first. A tie has the value 0.
VALUES_OF_LETTERS = {LETTER_OF_FIRST: 1, LETTER_OF_SECOND: -1}


def letter_of(answer: Rating | Failure) -> str | None:
    """Returns the likeliest letter, "" if several letters are equally likely, None for a failed
    vote.
    """
    if isinstance(answer, Failure):
        return None
    shares = answer.probabilities
    best = max(shares.values())
    letters = [letter for letter, share in shares.items() if share == best]
    if len(letters) > 1:
        return ""
    return letters[0]


def _value_of(letter: str | None) -> int | None:
    """Returns the value of a vote: 1 for the text shown first, -1 for the text shown second, 0 for
    a tie, None for a failed vote.

    letter: the result of `letter_of`.
    """
    if letter is None:
        return None
    return VALUES_OF_LETTERS.get(letter, 0)


@dataclass(frozen=True, slots=True)
class PairVotes:
    """The judge's two answers on a pair of texts.

    Args:
        one: the answer with the pair's first text shown first.
        two: the answer with the pair's first text shown second.
    """

    one: Rating | Failure
    two: Rating | Failure

    @property
    def failure(self) -> Failure | None:
        """The first failed answer, or None."""
        for answer in (self.one, self.two):
            if isinstance(answer, Failure):
                return answer
        return None

    @property
    def letters(self) -> list[str | None]:
        """The likeliest letter of both answers, "" for equally likely letters, None for a failed
        vote.
        """
        return [letter_of(self.one), letter_of(self.two)]

    @property
    def slots(self) -> list[bool | None]:
        """For each vote, whether it chose the text shown first. None for a tie and for a failed
        vote.
        """
        return [IS_FIRST_SLOT.get(letter) for letter in self.letters]

    @property
    def choices(self) -> tuple[int | None, int | None]:
        """For each vote, 1 for the pair's first text, -1 for its second text, 0 for a tie, None for
        a failed vote.
        """
        first_letter, second_letter = self.letters
        first = _value_of(first_letter)
        second = _value_of(second_letter)
        # in the second vote, the pair's second text was shown first
        if second is not None:
            second = -second
        return first, second

    @property
    def outcome(self) -> int | None:
        """1 if both votes chose the pair's first text, -1 if both chose its second text, otherwise
        0.

        None if a vote failed.
        """
        return settled_vote(*self.choices)

    @property
    def disagree(self) -> bool:
        """Whether both votes succeeded and chose differently."""
        first, second = self.choices
        if first is None or second is None:
            return False
        return first != second


def cast_votes(
    judge: Judge,
    questions: Sequence[Question | Failure],
    scale: Sequence[str] = VOTE_SCALE,
) -> list[PairVotes]:
    """Returns the votes on every pair, in order. Equal questions are asked once, in one call.

    Args:
        judge: answers the questions.
        questions: two for each pair, with the pair's first text shown first and then second. A
            Failure in place of a question is a failed vote.
        scale: the possible answers.
    """
    answers = answer_questions(judge.rate, questions, scale)
    shown_first = answers[::2]
    shown_second = answers[1::2]
    votes = []
    for first, second in zip(shown_first, shown_second, strict=True):
        votes.append(PairVotes(first, second))
    return votes


def settled_vote(first: int | None, second: int | None) -> int | None:
    """Returns the outcome of two votes on a pair: 1, 0 or -1 if both agree, 0 if they differ.

    None if a vote failed. first, second: for each vote, 1 for the pair's first text, -1 for its
    second text, 0 for a tie, None for a failed vote.
    """
    if first is None or second is None:
        return None
    return first if first == second else 0


def first_slot_share(chose_first: Sequence[bool | None]) -> float | None:
    """Returns the share, from 0 to 1, of votes for the text shown first, or None without such
    votes.

    Ties and failed votes do not count. A judge without position bias has 0.5 if it is asked in both
    orders.

    chose_first: for each vote, whether it is for the text shown first. None for a tie or a failed
    vote.
    """
    decided = [is_first for is_first in chose_first if is_first is not None]
    if not decided:
        return None
    return decided.count(True) / len(decided)
