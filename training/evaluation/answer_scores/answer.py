"""Scores one completion by every reward of a comparison.

answer = judged_answer(sample, length=12, rewards=[posh, truth], verdicts=[verdict, other])
answer.scores
# {"truth_f1": 0.5, "posh_f1": 0.6, "overlap": 0.4, "words": 9.0, "length": 12.0, ...}
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spanreward.rewards.base.verdict import Sample, Status, Verdict
from spanreward.rewards.lave.vqa import AGREEING_PEOPLE, token_f1 as answer_f1, vqa_accuracy
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.text.bag_of_words import bag_f1
from spanreward.rewards.text.filler import is_degenerate
from spanreward.rewards.text.written import read_text

Scores = dict[str, float | None]


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """The completion that one model wrote for one prompt, with its scores.

    Attributes:
        text: the completion as the model wrote it.
        verdict: the verdict of the reward that `judge` names. A page shows this verdict.
        scores: the score by each metric, such as {"posh_f1": 0.6}. A score is None if a judge
            failed.
        judge: the name of the reward that gave `verdict`, such as "posh". It is not the name of a
            judge such as "match": completions.jsonl has the reward's name under the key "judge".
        samples: the single answers if the model wrote several to the prompt, else (). `scores` then
            holds means over the samples (several.py). `text` and `verdict` are those of the first
            sample.
    """

    text: str
    verdict: Verdict
    scores: Scores
    judge: str = "judge"
    samples: tuple["JudgedAnswer", ...] = ()


def judged_answer(
    sample: Sample,
    length: int | None,
    rewards: Sequence[Reward],
    verdicts: Sequence[Verdict],
    max_tokens: float = math.inf,
) -> JudgedAnswer:
    """Returns one completion with its scores by all metrics, and the verdict that a page shows.

    The scores come in the column order of tables: rewards without a judge, vqa_accuracy, rewards
    with a judge, and the metrics of `scores_without_reward`. A score is None if a judge failed. A
    metric has no entry if the row lacks what the metric needs, such as a question for LAVE.

    The page shows the verdict of the first reward that asks a judge. If no reward asks a judge, it
    shows the verdict of the first reward.

    Args:
        sample: the completion with its row.
        length: the tokens of the completion; None if the number is unknown.
        rewards: the rewards of the comparison.
        verdicts: one verdict per reward, in the order of `rewards`.
        max_tokens: the most tokens that the model could write.
    """
    # A reward that cannot apply, such as LAVE on a row without a question, gets no entry. An entry
    # of None would count as a failed judgment.
    by_judge = []
    without_judge = []
    for reward, verdict in zip(rewards, verdicts, strict=True):
        if verdict.status is Status.NOT_APPLICABLE:
            continue
        if reward.judges:
            by_judge.append((reward, verdict))
        else:
            without_judge.append((reward, verdict))
    # the order of these steps is the order of the columns in tables
    scores = main_scores(without_judge)
    scores |= people_scores(sample)
    scores |= main_scores(by_judge)
    scores |= scores_without_reward(sample, length, max_tokens)
    # if no reward applies, the page shows the first reward's verdict, whose note has the reason
    candidates = [*by_judge, *without_judge, (rewards[0], verdicts[0])]
    page_reward, page_verdict = candidates[0]
    return JudgedAnswer(sample.completion, page_verdict, scores, judge=page_reward.__name__)


def people_scores(sample: Sample) -> Scores:
    """Returns {"vqa_accuracy": score} if enough people have answered the row's question, else {}.

    `vqa_accuracy` raises ValueError for AGREEING_PEOPLE or fewer answers.
    """
    if len(sample.answers) <= AGREEING_PEOPLE:
        return {}
    question = sample.question or ""
    accuracy = vqa_accuracy(sample.completion, sample.answers, question, sample.columns)
    return {"vqa_accuracy": accuracy}


def main_scores(judged: Iterable[tuple[Reward, Verdict]]) -> Scores:
    """Returns the scores of the rewards for the tables, by the names of their columns.

    A reward with `main_parts` has one score per part: PoSh gives {"posh_f1": 0.6, ...}. A reward
    without `main_parts` has its verdict's score: a reward `length` gives {"length_score": 0.3}. A
    score is None if the judge failed. judged: pairs of a reward and its verdict.
    """
    scores: Scores = {}
    for reward, verdict in judged:
        name = reward.__name__
        for part in reward.main_parts:
            # A failed verdict has no parts, and gives None for every part. A verdict with a score
            # may lack a part that does not apply to the text, and then has no entry for the part.
            if verdict.score is None or part in verdict.parts:
                scores[f"{name}_{part}"] = verdict.parts.get(part)
        if not reward.main_parts:
            scores[f"{name}_score"] = verdict.score
    return scores


def scores_without_reward(sample: Sample, length: int | None, max_tokens: float) -> Scores:
    """Returns the metrics of a completion that need no reward.

    {"overlap": 0.4, "words": 9.0, "length": 12.0, "truncated": 0.0, "degenerate": 0.0}

    "overlap" is the F1 of the completion's words with the row's references, or with people's
    answers if the row has no references. "truncated" is 1 if the completion has `max_tokens`
    tokens, so that its end may be cut. "degenerate" is 1 if the completion is padded with filler,
    such as repeated phrases. length: the tokens of the completion. If this number is unknown
    (None), "length" and "truncated" are left out.
    """
    # without markup, because its signs would count as words
    text = read_text(sample.completion).plain
    scores: Scores = {}
    if sample.references:
        # in a description only content words count, and no words such as "the"
        references = [read_text(reference).plain for reference in sample.references]
        scores["overlap"] = bag_f1(text, references)
    elif sample.answers:
        # an answer such as "on the left" is so short that all of its words count
        scores["overlap"] = answer_f1(text, sample.answers)
    scores["words"] = float(len(text.split()))
    if length is not None:
        scores["length"] = float(length)
        scores["truncated"] = float(length >= max_tokens)
    scores["degenerate"] = float(is_degenerate(sample))
    return scores
