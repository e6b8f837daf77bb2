"""Batch ranking (MLLM-as-a-Judge, section 2): all texts of a group in one question, answered with their order.

    forward, backward = rank(judge, [(shown, texts)], prompts)[0]    # [2, 0, 1]: best first, places in `texts`
    votes_of(forward, backward, 3)[0, 2].outcome                     # -1: the third text is better than the first

The ranking is written, as in the paper: one answer orders all, and a judge that only prefers a place is seen. Every
group is shown twice, the second time from its end, so that every two texts stand in both orders and a ranking is a vote
on each pair: a judge that repeats the order in which texts are shown decides nothing.
"""

import re
from collections.abc import Sequence
from itertools import combinations

from rewards.judges.judge import Failure, Judge, Question, Rating
from rewards.judges.probe import RankingProbe
from rewards.judges.shared.cached_judge import write_once
from rewards.pairwise.analysis import after_analysis
from rewards.pairwise.questions import PairPrompts, Shown, head
from rewards.pairwise.votes import FIRST, SCALE, SECOND, PairVotes, Vote
from rewards.templates import fill, places
from rewards.verdict import Status

RANKING_TOKENS = 96  # of an answer, at most: a group of 16 takes some 40
NUMBER = re.compile(r"[0-9]+")
LONGEST = 9  # digits: no group has so many texts, and Python reads no number of thousands

Ranking = list[int]


def ask_ranking(prompts: PairPrompts, shown: Shown, texts: Sequence[str]) -> Question:
    """In which order the texts serve the request, to be answered with their numbers from 1, best first.

    Of a chat that is too long for the judge the end of the longest text may be left out.
    """
    content = head(prompts.batch, prompts, shown)
    longest = max(range(len(texts)), key=lambda number: len(texts[number]))
    description = (0, 0)
    for number, text in enumerate(texts):
        values = {"number": str(number + 1), "text": text}
        if number == longest:
            start, end = places(prompts.numbered, **values)["text"]
            description = (len(content) + start, len(content) + end)
        content += fill(prompts.numbered, **values) + "\n\n"
    return Question(
        [{"role": "user", "content": content + prompts.ranking}],
        images=shown.images,
        probe=RankingProbe(shown.request, tuple(texts), shown.context),
        description=description,
    )


def read_ranking(answer: str, count: int) -> Ranking | None:
    """Places from 0, best first, from the last line that has a number; None unless each of 1 to `count` is there once.

    read_ranking("2, 3, 1", 3)          # [1, 2, 0]
    read_ranking("Text 2 is best", 3)   # None
    """
    lines = [numbers for line in answer.splitlines() if (numbers := NUMBER.findall(line))]
    last = lines[-1] if lines else []
    if any(len(number) > LONGEST for number in last):
        return None
    order = [int(number) - 1 for number in last]
    return order if sorted(order) == list(range(count)) else None


def rank(
    judge: Judge, groups: Sequence[tuple[Shown, Sequence[str]]], prompts: PairPrompts, analyse: bool = False
) -> list[tuple[Ranking | Failure, Ranking | Failure]]:
    """Per group the rankings of its texts as given and from the end, both by place in the group; all in one call.

    Groups have two texts or more. An answer that is no ranking of all texts is a Failure (UNPARSED).
    """
    questions = [ask_ranking(prompts, shown, way) for shown, texts in groups for way in (texts, texts[::-1])]
    asked = after_analysis(judge, questions, prompts.ranking, prompts) if analyse else questions
    written = iter(write_once(judge, asked, RANKING_TOKENS))
    found = []
    for _, texts in groups:
        forward, backward = ranking_of(next(written), len(texts)), ranking_of(next(written), len(texts))
        if not isinstance(backward, Failure):
            backward = [len(texts) - 1 - place for place in backward]
        found.append((forward, backward))
    return found


def ranking_of(answer: str | Failure, count: int) -> Ranking | Failure:
    if isinstance(answer, Failure):
        return answer
    unread = Failure(Status.UNPARSED, f"no ranking of {count} texts: {answer[:80]!r}")
    return read_ranking(answer, count) or unread


def votes_of(forward: Ranking | Failure, backward: Ranking | Failure, count: int) -> dict[tuple[int, int], PairVotes]:
    """What two rankings of `count` texts say of every pair (one, other) of places, `one` being the smaller.

    In the forward order `one` stood before `other`, in the backward one behind it.
    """
    return {
        (one, other): PairVotes(vote(forward, one, other, first=True), vote(backward, one, other, first=False))
        for one, other in combinations(range(count), 2)
    }


def vote(ranking: Ranking | Failure, one: int, other: int, first: bool) -> Vote:
    """A ranking as a vote on two texts. first: whether `one` stood before `other`."""
    if isinstance(ranking, Failure):
        return Vote(ranking, first)
    wins = ranking.index(one) < ranking.index(other)
    letter = FIRST if wins == first else SECOND
    return Vote(Rating({entry: float(entry == letter) for entry in SCALE}), first)
