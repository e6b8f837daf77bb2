"""Batch ranking (MLLM-as-a-Judge, section 2): one question shows all texts of a group, and the
judge writes their order.

    written = judge.write(ask_rankings(prompts, [(evidence, texts)]), RANKING_TOKENS)
    forward, backward = read_rankings(written, [len(texts)])[0]
    # [2, 0, 1]: places in `texts`, best first
    votes_of((forward, backward), 0, 2).outcome  # -1: the third text is better than the first

The judge sees every group twice, the second time in reverse order. Each ranking gives a vote on
each pair of texts. If a judge only repeats the order of the texts, its two votes on each pair
disagree, and the judge decides nothing.
"""

import re
from collections.abc import Sequence

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.files.templates import fill_template, filled_places
from spanreward.rewards.judges.judge import Failure, Question, Rating
from spanreward.rewards.judges.probe import RankingProbe
from spanreward.rewards.pairwise.questions import PromptPieces, Shown, beginning_of_prompt
from spanreward.rewards.pairwise.votes import (
    LETTER_OF_FIRST,
    LETTER_OF_SECOND,
    VOTE_SCALE,
    PairVotes,
)
from spanreward.rewards.text.quoting import marks_in, mask_marks

RANKING_TOKENS = 96  # the most tokens of an answer; a ranking of 16 texts takes about 40
WRITTEN_NUMBER = re.compile(r"[0-9]+")
MOST_DIGITS = 9  # the most digits of a number: `int` raises for thousands of digits

Ranking = list[int]  # places in the group, best first
Rankings = tuple[Ranking | Failure, Ranking | Failure]  # shown in order, and shown in reverse


def ask_ranking(prompts: PromptPieces, evidence: Shown, texts: Sequence[str]) -> Question:
    """Returns the question for a ranking of the texts, as numbers from 1, best first.

    Only the end of the longest text may be cut.

    Args:
        prompts: the pieces of prompts.
        evidence: from `shown_evidence`.
        texts: at least one text, in the order in which the judge sees them.
    """
    content = beginning_of_prompt(prompts["batch"], prompts, evidence)
    marks = marks_in(*prompts.values())
    template = prompts["numbered"]
    lengths = [len(text) for text in texts]
    longest = lengths.index(max(lengths))  # the first of equally long texts
    # the range of the prompt's characters whose end may be cut, set below to the longest text
    description = (0, 0)
    for number, text in enumerate(texts):
        values = {"number": str(number + 1), "text": mask_marks(text, marks)}
        if number == longest:
            start, end = filled_places(template, **values)["text"]
            description = (len(content) + start, len(content) + end)
        content += fill_template(template, **values) + "\n\n"
    content += prompts["ranking"]
    return Question(
        [{"role": "user", "content": content}],
        images=evidence.images,
        probe=RankingProbe(evidence.request, tuple(texts), evidence.context),
        description=description,
    )


def read_ranking(answer: str, count: int) -> Ranking | None:
    """Returns the ranking in a written answer as places from 0, best first.

    read_ranking("2, 3, 1", 3)          # [1, 2, 0]
    read_ranking("Text 2 is best", 3)   # None

    The ranking is the last line with numbers. Returns None if this line is not a ranking of all
    texts.

    Args:
        answer: the judge's text.
        count: the number of texts.
    """
    # a judge may write an explanation before its ranking, so read the last line with numbers
    last: list[str] = []
    for line in answer.splitlines():
        numbers = WRITTEN_NUMBER.findall(line)
        if numbers:
            last = numbers
    if any(len(number) > MOST_DIGITS for number in last):
        return None
    order = [int(number) - 1 for number in last]
    # reject a ranking that lacks a text or repeats a text
    if sorted(order) != list(range(count)):
        return None
    return order


def ask_rankings(
    prompts: PromptPieces, groups: Sequence[tuple[Shown, Sequence[str]]]
) -> list[Question]:
    """Returns two questions per group: one shows the texts in order, the other in reverse.

    groups: for each group the evidence from `shown_evidence`, and at least two texts.
    """
    questions = []
    for evidence, texts in groups:
        questions.append(ask_ranking(prompts, evidence, texts))
        questions.append(ask_ranking(prompts, evidence, texts[::-1]))
    return questions


def read_rankings(written: Sequence[str | Failure], counts: Sequence[int]) -> list[Rankings]:
    """Returns the two rankings of each group from the answers to `ask_rankings`.

    An answer that is not a ranking becomes a Failure with status UNPARSED. Both rankings of a group
    name places in the group's own order.

    Args:
        written: two answers for each group.
        counts: the number of texts of each group.
    """
    rankings: list[Rankings] = []
    answers_in_order = written[::2]
    answers_in_reverse = written[1::2]
    groups = zip(counts, answers_in_order, answers_in_reverse, strict=True)
    for count, answer_in_order, answer_in_reverse in groups:
        forward = _ranking_of(answer_in_order, count)
        backward = _ranking_of(answer_in_reverse, count)
        if not isinstance(backward, Failure):
            # The last text was shown first. Convert the places to the group's own order.
            backward = [count - 1 - place for place in backward]
        rankings.append((forward, backward))
    return rankings


def _ranking_of(answer: str | Failure, count: int) -> Ranking | Failure:
    """Returns the ranking in an answer, or a Failure."""
    if isinstance(answer, Failure):
        return answer
    ranking = read_ranking(answer, count)
    if not ranking:
        return Failure(Status.UNPARSED, f"no ranking of {count} texts: {answer[:80]!r}")
    return ranking


def votes_of(rankings: Rankings, first: int, second: int) -> PairVotes:
    """Returns the votes of a group's two rankings on a pair of its texts.

    Args:
        rankings: the rankings of the group shown in order and in reverse.
        first, second: the places in the group, from 0, of the pair's first and second text. The
            first text may stand behind the second.
    """
    in_order, in_reverse = rankings
    # Which ranking saw the pair's first text above its second text, and which saw it below?
    if first < second:
        saw_first_above, saw_second_above = in_order, in_reverse
    else:
        saw_first_above, saw_second_above = in_reverse, in_order
    return PairVotes(
        one=_vote_of_ranking(saw_first_above, above=first, below=second),
        two=_vote_of_ranking(saw_second_above, above=second, below=first),
    )


def _vote_of_ranking(ranking: Ranking | Failure, above: int, below: int) -> Rating | Failure:
    """Returns the answer that a ranking gives on two texts: A if the text that the judge saw first
    is better, B if the other text is better.

    above: the place in the group of the text that the judge saw first. below: the place of the
    other text.
    """
    if isinstance(ranking, Failure):
        return ranking
    better = LETTER_OF_SECOND
    if ranking.index(above) < ranking.index(below):
        better = LETTER_OF_FIRST
    # a ranking has no probabilities, so one letter gets the probability 1
    return Rating({letter: float(letter == better) for letter in VOTE_SCALE})
