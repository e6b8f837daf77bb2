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
    """A contest of two texts.

    Args:
        sample: the number of the sample whose text comes first.
        other: the number of the opposing sample, None for an anchor or reference.
        texts: the sample's text and the opposing one.
        votes: the judge's votes. None before the judge was asked, and where `certain` decides.
        certain: the outcome without a judge, from the sample's side: 1 or -1 where one text is
            empty, otherwise 0.
    """

    sample: int
    other: int | None
    texts: tuple[str, str]
    votes: PairVotes | None = None
    certain: int = 0

    @property
    def outcome(self) -> int | None:
        """1, 0 or -1 from the sample's side, None if a vote failed."""
        return self.votes.outcome if self.votes else self.certain

    @property
    def open(self) -> bool:
        """Whether a judge has to decide. Equal texts tie without a question."""
        sample_text, opposing_text = self.texts
        return not self.certain and sample_text != opposing_text


def chances(contests: Sequence[Contest]) -> dict[str, float]:
    """Returns each sample's chance, 0 to 1, to beat an average text of its group (Bradley-Terry
    over its readable contests), by the sample's number as a string.

    Groups never meet, so each is apart.
    """
    pairs = []
    for contest in contests:
        if contest.outcome is None:  # a vote failed
            continue
        sample = str(contest.sample)
        other = str(contest.other)
        pairs.append(Pair(sample, other, contest.outcome))
    return bradley_terry(pairs)


def parts_of_contests(outcomes: Sequence[int], contests: Sequence[Contest]) -> dict[str, float]:
    """Returns the shares of a sample's readable pairs, and statistics of the votes on it.

    outcomes: of the sample's readable contests, from its side: at least one. contests: all of the
    sample's, with those in which a vote failed.
    """
    parts = {}
    for name, outcome in OUTCOMES.items():
        parts[name] = outcomes.count(outcome) / len(outcomes)
    parts["failed_pairs"] = 1 - len(outcomes) / len(contests)
    # contests that were decided without a judge have no votes
    votes = [contest.votes for contest in contests if contest.votes]
    parts["orders_disagree"] = 0.0
    if votes:
        disagreeing = [pair for pair in votes if pair.disagree]
        parts["orders_disagree"] = len(disagreeing) / len(votes)
    slots: list[bool | None] = []
    for pair in votes:
        slots.extend(pair.slots)
    first_share = first_slot_share(slots)
    if first_share is not None:
        parts["first_slot"] = first_share
    return parts


def votes_in_words(number: int, contests: Sequence[Contest]) -> str:
    """Returns the answers to the sample's contests, with its text shown first and second: "A/B,
    C/-", or "".

    A is the text shown first, and "-" means that several answers are likeliest. number: the
    sample's.
    """
    votes = []
    for contest in contests:
        if contest.votes is None:
            continue
        letters = contest.votes.letters
        if contest.sample != number:
            # its text is the pair's second: the second vote is the one that showed it first
            letters = letters[::-1]
        words = [_letter_in_words(letter) for letter in letters]
        votes.append("/".join(words))
    if not votes:
        return ""
    return f"votes, shown first / second: {', '.join(votes)}"


def _letter_in_words(letter: str | None) -> str:
    """Returns an answer of `PairVotes.letters` for a note."""
    if letter is None:
        return "failed"
    return letter or "-"


def cut_of(contest: Contest, text: str) -> int:
    """Returns how many characters at the text's end did not fit. text: one of the contest's.

    Only the longer text of a pair is ever cut.
    """
    if contest.votes is None:
        return 0
    first, second = contest.texts
    is_shorter = len(text) < max(len(first), len(second))
    if is_shorter:
        return 0
    cuts = [0]
    for answer in (contest.votes.one, contest.votes.two):
        if isinstance(answer, Rating):
            cuts.append(answer.cut)
    return max(cuts)
