"""What cutting at the first wrong span gains, by the truth of Scenes: against one sample, and against
the best of n samples for as many questions to the judge.

    figures = compare_revising("outputs/quickstart/seed0/sft", errors=0.2, pictures=128, seed=0)
    figures["revised"]            # {"truth_f1": ..., "precision": ..., "recall": ..., "questions": ...}
    figures["best of 4"]

All texts are sampled at temperature 1. The judge sees the pictures and errs about a share of what
it is asked (picture_judge.py). Questions are the mean number for a picture. Only those about
pictures are counted: the others look an answer up in itself.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import torch

from experiments.scenes.held_out import truth_of
from experiments.scenes.language import PROMPT
from experiments.scenes.parts import scenes_of, scenes_part
from experiments.scenes.picture_judge import PictureJudge
from experiments.scenes.revise import revise
from experiments.scenes.world import Scene, draw
from experiments.span_credit.rollouts import sample
from spanreward import PoshReward, Sample
from spanreward.rewards.judges.judge import Failure, Question, Rating
from spanreward.rewards.judges.probe import PictureProbe
from spanreward.training.data.load import load_data
from spanreward.training.policy import load_policy

MOST_SAMPLES = 8  # of a picture; the best of them is taken
ROUNDS = 4
MAX_TOKENS = 96


class CountedJudge(PictureJudge):
    """Counts the questions about pictures."""

    asked = 0

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        self.asked += sum(isinstance(question.probe, PictureProbe) for question in questions)
        return super().rate_each(questions, scale)


def compare_revising(policy: str, errors: float, pictures: int, seed: int) -> dict[str, Any]:
    """Returns the figures by what was done."""
    data = scenes_part(split="test", level=1, count=pictures)
    rows, scenes = list(load_data(data)), scenes_of(data)
    model, processor = load_policy(policy)
    model.eval()
    drawn = [draw(scene) for scene in scenes]
    judge = CountedJudge(errors)
    reward = PoshReward(judge, evidence="picture")
    sampled = sample(model, processor, rows, MOST_SAMPLES, MAX_TOKENS, seed)
    found: dict[str, Any] = {}
    best = ["" for _ in scenes]
    best_scores = [-1.0 for _ in scenes]
    for number in range(MOST_SAMPLES):
        texts = [one.text for one in sampled[number::MOST_SAMPLES]]
        scores = scores_of(reward, texts, drawn)
        for place, (text, score) in enumerate(zip(texts, scores, strict=True)):
            if score > best_scores[place]:
                best[place], best_scores[place] = text, score
        name = "one sample" if number == 0 else f"best of {number + 1}"
        found[name] = figures_of(best, scenes, judge)
    judge = CountedJudge(errors)
    reward = PoshReward(judge, evidence="picture")  # remembers no answer of the samples
    torch.manual_seed(seed)
    revised = [
        revise(model, processor, image, PROMPT, reward, ROUNDS, MAX_TOKENS) for image in drawn
    ]
    found["revised"] = figures_of(revised, scenes, judge)
    return found


def scores_of(reward: PoshReward, texts: Sequence[str], drawn: Sequence[Any]) -> list[float]:
    """Each is judged in a call of its own, as `revise` does it: without decoys."""
    scores = []
    for text, image in zip(texts, drawn, strict=True):
        verdict = reward.assess([Sample(PROMPT, text, images=(image,), references=(text,))])[0]
        scores.append(verdict.score or 0.0)
    return scores


def figures_of(
    texts: Sequence[str], scenes: Sequence[Scene], judge: CountedJudge
) -> dict[str, float]:
    words = fmean(len(text.split()) for text in texts)
    return truth_of(texts, scenes) | {"questions": judge.asked / len(scenes), "words": words}
