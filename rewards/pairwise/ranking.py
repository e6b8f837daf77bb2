"""Batch ranking (MLLM-as-a-Judge, section 2): one question shows all texts of a group, and the
answer is their order.

    written = judge.write(ask_rankings(prompts, [(evidence, texts)]), RANKING_TOKENS)
    forward, backward = read_rankings(written, [len(texts)])[0]
    # [2, 0, 1]: places in `texts`, best first
    votes_of((forward, backward), 0, 2).outcome  # -1: the third text is better than the first

The judge writes the ranking, as in the paper. Every group is shown twice, the second time in
reverse, and a ranking is a vote on each pair. So a judge that repeats the order of the texts
decides nothing.
"""

import re
from collections.abc import Sequence

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.files.templates import fill, places
from spanreward.rewards.judges.judge import Failure, Question, Rating
from spanreward.rewards.judges.probe import RankingProbe
from spanreward.rewards.pairwise.questions import Shown, Texts, head
from spanreward.rewards.pairwise.votes import FIRST, SECOND, VOTE_SCALE, PairVotes
from spanreward.rewards.text.quoting import marks_in, mask

RANKING_TOKENS = 96  # of an answer, at most; a group of 16 takes about 40
WRITTEN_NUMBER = re.compile(r"[0-9]+")
MOST_DIGITS = 9  # digits of a number; Python refuses to read thousands of digits

Ranking = list[int]  # places in the group, best first
Rankings = tuple[Ranking | Failure, Ranking | Failure]  # of the texts in order, and in reverse


def ask_ranking(prompts: Texts, evidence: Shown, texts: Sequence[str]) -> Question:
    """Returns the question for a ranking of at least one text, as numbers from 1, best first.

    The end of the longest text may be cut.
    """
    content = head(prompts["batch"], prompts, evidence)
    marks = marks_in(*prompts.values())
    template = prompts["numbered"]
    lengths = [len(text) for text in texts]
    longest = lengths.index(max(lengths))  # the first of equals
    description = (0, 0)
    for number, text in enumerate(texts):
        values = {"number": str(number + 1), "text": mask(text, marks)}
        if number == longest:
            start, end = places(template, **values)["text"]
            description = (len(content) + start, len(content) + end)
        content += fill(template, **values) + "\n\n"
    content += prompts["ranking"]
    return Question(
        [{"role": "user", "content": content}],
        images=evidence.images,
        probe=RankingProbe(evidence.request, tuple(texts), evidence.context),
        description=description,
    )


def read_ranking(answer: str, count: int) -> Ranking | None:
    """Returns the places from 0, best first, in the last line with numbers, or None if that is no
    ranking of `count`.

    read_ranking("2, 3, 1", 3)          # [1, 2, 0]
    read_ranking("Text 2 is best", 3)   # None
    """
    # a judge that explains itself first ends with the ranking
    last: list[str] = []
    for line in answer.splitlines():
        numbers = WRITTEN_NUMBER.findall(line)
        if numbers:
            last = numbers
    if any(len(number) > MOST_DIGITS for number in last):
        return None
    order = [int(number) - 1 for number in last]
    # a ranking has every text once: one that leaves out a text or repeats one is not guessed at
    if sorted(order) != list(range(count)):
        return None
    return order


def ask_rankings(prompts: Texts, groups: Sequence[tuple[Shown, Sequence[str]]]) -> list[Question]:
    """Returns two questions per group of at least two texts, which are shown in order and in
    reverse.
    """
    questions = []
    for evidence, texts in groups:
        questions.append(ask_ranking(prompts, evidence, texts))
        questions.append(ask_ranking(prompts, evidence, texts[::-1]))
    return questions


def read_rankings(written: Sequence[str | Failure], counts: Sequence[int]) -> list[Rankings]:
    """Returns the rankings in the answers to `ask_rankings`; an answer that is none is a Failure
    (UNPARSED).

    counts: of each group's texts.
    """
    rankings: list[Rankings] = []
    answers_in_order = written[::2]
    answers_in_reverse = written[1::2]
    groups = zip(counts, answers_in_order, answers_in_reverse, strict=True)
    for count, answer_in_order, answer_in_reverse in groups:
        forward = _ranking_of(answer_in_order, count)
        backward = _ranking_of(answer_in_reverse, count)
        if not isinstance(backward, Failure):
            # the last text was shown first: both rankings name the group's own places
            backward = [count - 1 - place for place in backward]
        rankings.append((forward, backward))
    return rankings


def _ranking_of(answer: str | Failure, count: int) -> Ranking | Failure:
    """Returns the ranking in an answer, or why there is none."""
    if isinstance(answer, Failure):
        return answer
    ranking = read_ranking(answer, count)
    if not ranking:
        return Failure(Status.UNPARSED, f"no ranking of {count} texts: {answer[:80]!r}")
    return ranking


def votes_of(rankings: Rankings, first: int, second: int) -> PairVotes:
    """Returns the votes of a group's two rankings on the texts at two of its places.

    rankings: of the group in order and in reverse. first, second: places from 0.
    """
    in_order, in_reverse = rankings
    # `PairVotes` wants the vote first in which the pair's own first text was shown first
    if first < second:
        shown_first, shown_second = in_order, in_reverse
    else:
        shown_first, shown_second = in_reverse, in_order
    return PairVotes(
        _vote_of_ranking(shown_first, first, second), _vote_of_ranking(shown_second, second, first)
    )


def _vote_of_ranking(ranking: Ranking | Failure, first: int, second: int) -> Rating | Failure:
    """Returns a ranking's answer on two texts, in the order in which they were shown."""
    if isinstance(ranking, Failure):
        return ranking
    better = SECOND
    if ranking.index(first) < ranking.index(second):
        better = FIRST
    # all probability lies on one letter, because a ranking says nothing about its certainty
    return Rating({letter: float(letter == better) for letter in VOTE_SCALE})
