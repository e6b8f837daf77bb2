"""One answer with its scores, and what a page shows of its judgment.

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
    """What one model wrote and its scores (None: failed).

    `verdict` is that of the reward `judge`. samples: where a prompt has several answers, all of
    them; the scores are then of all (several.py), text and verdict of the first.
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
    """Returns one completion with its scores, in the order of tables: main parts of rewards without
    a judge, vqa_accuracy, main parts of the other rewards, and what needs no reward. A score is
    None where a judge failed, and absent where the row cannot have it.

    length: in tokens, None where unknown. verdicts: the rewards' own. Shown is the first reward
    that asks a judge.
    """
    every = list(zip(rewards, verdicts, strict=True))
    applying = [pair for pair in every if pair[1].status is not Status.NOT_APPLICABLE]
    asking = [pair for pair in applying if pair[0].judges]
    judgeless = [pair for pair in applying if not pair[0].judges]
    scores = main_scores(judgeless)
    if len(sample.answers) > AGREEING_PEOPLE:
        scores["vqa_accuracy"] = vqa_accuracy(
            sample.completion, sample.answers, sample.question or "", sample.columns
        )
    scores |= main_scores(asking) | looks_of(sample, length, max_tokens)
    shown, verdict = [*asking, *judgeless, *every][0]
    return JudgedAnswer(sample.completion, verdict, scores, judge=shown.__name__)


def main_scores(judged: Iterable[tuple[Reward, Verdict]]) -> Scores:
    """Returns the parts that tables show, or the score of a reward that names none; None where the
    judge failed.
    """
    scores: Scores = {}
    for reward, verdict in judged:
        name = reward.__name__
        given = [
            part for part in reward.main_parts if verdict.score is None or part in verdict.parts
        ]
        scores |= {f"{name}_{part}": verdict.parts.get(part) for part in given}
        if not reward.main_parts:
            scores[f"{name}_score"] = verdict.score
    return scores


def looks_of(sample: Sample, length: int | None, max_tokens: float) -> Scores:
    """Returns overlap (with the references or answers, by words), words, length (in tokens),
    truncated (1 where cut at max_tokens) and degenerate (1 where padded with words that say
    nothing).
    """
    text = read_text(sample.completion).plain
    scores: Scores = {}
    if sample.references:
        scores["overlap"] = bag_f1(
            text, [read_text(reference).plain for reference in sample.references]
        )
    elif sample.answers:
        scores["overlap"] = answer_f1(text, sample.answers)
    scores["words"] = float(len(text.split()))
    if length is not None:
        scores |= {"length": float(length), "truncated": float(length >= max_tokens)}
    return {**scores, "degenerate": float(is_degenerate(sample))}
