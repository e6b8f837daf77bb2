"""Contests between a completion and another text: the verdict's parts and the completions'
strengths.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from spanreward.rewards.comparison.ratings import Pair, bradley_terry
from spanreward.rewards.judges.judge import Rating
from spanreward.rewards.pairwise.votes import PairVotes, first_slot_share

OUTCOMES = {"won": 1, "tied": 0, "lost": -1}


@dataclass(frozen=True, slots=True)
class Contest:
    """A contest of two texts. other: the number of the opposing sample, None for an anchor or
    reference.
    """

    sample: int
    other: int | None
    texts: tuple[str, str]
    votes: PairVotes | None = None  # None: decided without a judge, by `certain`
    certain: int = 0

    @property
    def outcome(self) -> int | None:
        """1, 0 or -1 from the sample's side, None if a vote failed."""
        return self.votes.outcome if self.votes else self.certain

    @property
    def open(self) -> bool:
        """Whether a judge has to decide. Equal texts tie without a question."""
        return not self.certain and self.texts[0] != self.texts[1]


def chances(contests: Sequence[Contest]) -> dict[str, float]:
    """Returns each sample's Bradley-Terry chance over its readable contests.

    Groups never meet, so each is apart.
    """
    pairs = []
    for contest in contests:
        if contest.outcome is not None:
            pairs.append(Pair(str(contest.sample), str(contest.other), contest.outcome))
    return bradley_terry(pairs)


def parts_of_contests(outcomes: Sequence[int], contests: Sequence[Contest]) -> dict[str, float]:
    """Returns the shares of a sample's readable pairs, and statistics of the votes on it."""
    votes = [contest.votes for contest in contests if contest.votes]
    parts = {name: outcomes.count(outcome) / len(outcomes) for name, outcome in OUTCOMES.items()}
    parts["failed_pairs"] = 1 - len(outcomes) / len(contests)
    parts["orders_disagree"] = 0.0
    if votes:
        parts["orders_disagree"] = sum(pair.disagree for pair in votes) / len(votes)
    first = first_slot_share([slot for pair in votes for slot in pair.slots])
    if first is not None:
        parts["first_slot"] = first
    return parts


def votes_in_words(number: int, contests: Sequence[Contest]) -> str:
    """Returns the answers to the sample's contests, with its text shown first and second: "A/B,
    C/-", or "".

    A is the text shown first, and "-" means that several answers are likeliest.
    """
    votes = []
    for contest in contests:
        if contest.votes:
            letters = contest.votes.letters
            if contest.sample != number:
                letters = letters[::-1]
            words = ["failed" if letter is None else letter or "-" for letter in letters]
            votes.append("/".join(words))
    return f"votes, shown first / second: {', '.join(votes)}" if votes else ""


def cut_of(contest: Contest, text: str) -> int:
    """Returns how many characters at the text's end did not fit.

    Only the longer text of a pair is ever cut.
    """
    if contest.votes is None or len(text) < max(map(len, contest.texts)):
        return 0
    answers = (contest.votes.one, contest.votes.two)
    return max((answer.cut for answer in answers if isinstance(answer, Rating)), default=0)
