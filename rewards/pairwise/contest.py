"""Contests between a completion and another text, with the numbers that verdicts take from
contests.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from spanreward.rewards.comparison.ratings import Pair, bradley_terry
from spanreward.rewards.judges.judge import Rating
from spanreward.rewards.pairwise.votes import PairVotes, first_slot_share

VALUES_OF_OUTCOMES = {"won": 1, "tied": 0, "lost": -1}  # by the name of the verdict's part


@dataclass(frozen=True, slots=True)
class Contest:
    """A contest between two texts: a sample's completion and an opposing text.

    Args:
        sample: the sample's number.
        other: the number of the opposing sample, None for an anchor or reference.
        texts: the sample's text and the opposing text.
        votes: the judge's votes. None before the judge is asked, and for a contest without a
            question.
        certain: an outcome without a judge, from the sample's side. 1 if only the opposing text is
            empty, -1 if only the sample's text is empty, otherwise 0.
    """

    sample: int
    other: int | None
    texts: tuple[str, str]
    votes: PairVotes | None = None
    certain: int = 0

    @property
    def outcome(self) -> int | None:
        """1 if the sample's text won, 0 for a tie, -1 if it lost. None if a vote failed."""
        return self.votes.outcome if self.votes else self.certain

    @property
    def open(self) -> bool:
        """Whether the judge has to decide. Equal texts tie without a question."""
        sample_text, opposing_text = self.texts
        return not self.certain and sample_text != opposing_text


def chances_to_win(contests: Sequence[Contest]) -> dict[str, float]:
    """Returns each sample's chance to beat an average text of its group, from 0 to 1.

    The keys are the samples' numbers as strings. The chances come from the Bradley-Terry model over
    all contests without a failed vote. No contest joins two groups, so the groups do not influence
    each other.
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
    """Returns the parts of a sample's verdict.

    The parts "won", "tied" and "lost" are shares of the contests with an outcome. "failed_pairs" is
    the share of contests with a failed vote. "orders_disagree" is the share of contests whose two
    votes disagree. "first_slot" is the share of votes for the text shown first, without ties and
    failed votes.

    Args:
        outcomes: the outcomes from the sample's side, without failed contests. At least one.
        contests: all contests of the sample, also failed contests.
    """
    parts = {}
    for name, outcome in VALUES_OF_OUTCOMES.items():
        parts[name] = outcomes.count(outcome) / len(outcomes)
    parts["failed_pairs"] = 1 - len(outcomes) / len(contests)
    # a contest without a question has no votes
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
    """Returns the judge's answers on a sample's contests for a note, or "".

    "votes, shown first / second: A/B, C/-" has two contests. In the first contest the answer was A
    with the sample's text shown first, and B with the sample's text shown second. "-" means that
    several answers were equally likely.

    Args:
        number: the sample's number.
        contests: the sample's contests.
    """
    votes = []
    for contest in contests:
        if contest.votes is None:
            continue
        letters = contest.votes.letters
        if contest.sample != number:
            # The sample's text is the pair's second text. So the second vote is the vote with the
            # sample's text shown first.
            letters = letters[::-1]
        words = [_letter_in_words(letter) for letter in letters]
        votes.append("/".join(words))
    if not votes:
        return ""
    return f"votes, shown first / second: {', '.join(votes)}"


def _letter_in_words(letter: str | None) -> str:
    """Returns an answer of `PairVotes.letters` for a note: "A", "-" or "failed"."""
    if letter is None:
        return "failed"
    return letter or "-"


def cut_of(contest: Contest, text: str) -> int:
    """Returns how many characters at the end of a text the judge did not read in a contest.

    Only the longer text of a contest is ever cut. text: one of the contest's two texts.
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
