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
    """What one model wrote for one prompt, and its scores.

    Attributes:
        text: the completion as it was written.
        verdict: the verdict of the reward `judge`, which a page shows.
        scores: by the name of the metric in tables, such as "posh_f1"; None where a judge failed.
        judge: the name of the reward whose verdict is shown.
        samples: all answers to a prompt that has several, else none. The scores are then of all
            of them (several.py), text and verdict of the first.
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

    length: of the completion in tokens, None where that is unknown. verdicts: one of each reward,
    in the rewards' order. max_tokens: the longest completion that the model could write. The
    verdict of the first reward that asks a judge is shown.
    """
    judged = list(zip(rewards, verdicts, strict=True))
    by_judge = []
    without_judge = []
    for reward, verdict in judged:
        # such as LAVE on a row without a question: the row has no score by this reward, not None
        if verdict.status is Status.NOT_APPLICABLE:
            continue
        if reward.judges:
            by_judge.append((reward, verdict))
        else:
            without_judge.append((reward, verdict))
    # the order of these steps is the order of the columns in tables
    scores = main_scores(without_judge)
    # of fewer answers no answer could reach 1 (`vqa_accuracy` raises)
    if len(sample.answers) > AGREEING_PEOPLE:
        question = sample.question or ""
        scores["vqa_accuracy"] = vqa_accuracy(
            sample.completion, sample.answers, question, sample.columns
        )
    scores |= main_scores(by_judge)
    scores |= looks_of(sample, length, max_tokens)
    # where no reward applies, the first one's verdict says why
    by_priority = [*by_judge, *without_judge, *judged]
    page_reward, page_verdict = by_priority[0]
    return JudgedAnswer(sample.completion, page_verdict, scores, judge=page_reward.__name__)


def main_scores(judged: Iterable[tuple[Reward, Verdict]]) -> Scores:
    """Returns the parts that tables show, or the score of a reward that names none; None where the
    judge failed. PoSh gives {"posh_f1": 0.6, ...}, a reward `length` without parts {"length_score":
    0.3}.
    """
    scores: Scores = {}
    for reward, verdict in judged:
        name = reward.__name__
        for part in reward.main_parts:
            # a judged text may lack a part; of a failed judgment every part is None
            if verdict.score is None or part in verdict.parts:
                scores[f"{name}_{part}"] = verdict.parts.get(part)
        if not reward.main_parts:
            scores[f"{name}_score"] = verdict.score
    return scores


def looks_of(sample: Sample, length: int | None, max_tokens: float) -> Scores:
    """Returns overlap (with the references or answers, by words), words, length (in tokens),
    truncated (1 where cut at max_tokens) and degenerate (1 where padded with words that say
    nothing).
    """
    # without markup, which would count as words
    text = read_text(sample.completion).plain
    scores: Scores = {}
    if sample.references:
        # descriptions: the content words alone
        references = [read_text(reference).plain for reference in sample.references]
        scores["overlap"] = bag_f1(text, references)
    elif sample.answers:
        # answers to questions are so short that all of their words count
        scores["overlap"] = answer_f1(text, sample.answers)
    scores["words"] = float(len(text.split()))
    if length is not None:
        scores["length"] = float(length)
        scores["truncated"] = float(length >= max_tokens)
    scores["degenerate"] = float(is_degenerate(sample))
    return scores
