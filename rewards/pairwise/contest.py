"""Contests between a completion and another text, and what they say of it: its verdict's parts, and who is how strong.

contest = Contest(0, 1, ("first text", "second text"))      # between two samples of a batch, by their numbers
chances([contest])                                          # {"0": ..., "1": ...}: each beats an average one
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rewards.comparison.orders import first_slot_share
from rewards.comparison.ratings import Pair, bradley_terry
from rewards.judges.judge import Rating
from rewards.pairwise.votes import PairVotes


@dataclass(frozen=True, slots=True)
class Contest:
    """A sample's text against another's (`other`, by number) or one that comes with the row (None), and the votes."""

    sample: int
    other: int | None
    texts: tuple[str, str]
    votes: PairVotes | None = None  # None: it was decided without a judge, `certain`
    certain: int = 0

    @property
    def outcome(self) -> int | None:
        """1, 0 or -1 for the sample; None where a vote failed."""
        return self.votes.outcome if self.votes else self.certain

    @property
    def share(self) -> float | None:
        """The sample's share of both orders' distributions, in [0, 1]; None where a vote failed."""
        return self.votes.share if self.votes else (1 + self.certain) / 2

    @property
    def open(self) -> bool:
        """Whether a judge has to decide: equal texts are a tie, and so unasked."""
        return not self.certain and self.texts[0] != self.texts[1]


def chances(contests: Sequence[Contest], smooth: bool = False) -> dict[str, float]:
    """Bradley-Terry over the readable contests, by the sample's number; groups never meet, so each is rated by itself.

    smooth: by the votes' probabilities.
    """
    pairs = []
    for contest in contests:
        names = (str(contest.sample), str(contest.other))
        if contest.outcome is None or contest.share is None:
            continue
        if smooth:
            weights = ((1, contest.share), (-1, 1 - contest.share))
            pairs += [Pair(*names, outcome, weight) for outcome, weight in weights if weight > 0]
        else:
            pairs.append(Pair(*names, contest.outcome))
    return bradley_terry(pairs)


def parts_of(outcomes: Sequence[int], own: Sequence[Contest]) -> dict[str, float]:
    """Shares of a sample's readable pairs, and what its votes say of the judge."""
    votes = [contest.votes for contest in own if contest.votes]
    parts = {name: outcomes.count(outcome) / len(outcomes) for name, outcome in (("won", 1), ("tied", 0), ("lost", -1))}
    parts["failed_pairs"] = 1 - len(outcomes) / len(own)
    parts["orders_disagree"] = sum(pair.disagree for pair in votes) / len(votes) if votes else 0.0
    first = first_slot_share([slot for pair in votes for slot in pair.slots])
    return parts if first is None else {**parts, "first_slot": first}


def votes_in_words(number: int, own: Sequence[Contest]) -> str:
    """The answers to the sample's contests, each as it was given with the sample's text shown first, then second: A is
    the text shown first, "-" no likeliest answer. "" where nothing was asked.
    """
    told = []
    for contest in own:
        if contest.votes:
            first, second = contest.votes.letters
            shown = (first, second) if contest.sample == number else (second, first)
            told.append("/".join("failed" if letter is None else letter or "-" for letter in shown))
    return f"votes, shown first / second: {', '.join(told)}" if told else ""


def cut_of(contest: Contest, text: str) -> int:
    """How many characters at the text's end did not fit: only the longer text of a pair is ever cut."""
    if contest.votes is None or len(text) < max(map(len, contest.texts)):
        return 0
    votes = (contest.votes.one, contest.votes.two)
    return max((vote.answer.cut for vote in votes if isinstance(vote.answer, Rating)), default=0)
