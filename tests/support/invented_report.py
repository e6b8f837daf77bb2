"""A report page of invented results: every part of the page, without a training."""

from functools import cache
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from experiments.scenes.parts import SCENES, TRUTH
from experiments.scenes.truth import Truth
from spanreward.rewards import MatchJudge, PoshReward
from spanreward.rewards.base.verdict import Span, Status, Verdict
from spanreward.training.evaluation.answer_scores.answer import JudgedAnswer
from spanreward.training.evaluation.answer_scores.evaluate import Evaluation
from spanreward.training.evaluation.answers.prompts import Prompts
from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.evaluation.page.report import write_report
from spanreward.training.evaluation.page.shown import ShownPrompt
from spanreward.training.evaluation.statistics.comparison import summarise_comparison
from spanreward.training.recipe import RewardPart

COLOURS = {"red": "#d62728", "blue": "#1f77b4", "green": "#2ca02c", "yellow": "#e7c820"}
PROMPTS = 120
SHAPES = ["circle", "square", "triangle"]


@cache
def invented_scores() -> Any:
    """Of each model: dapo pleases PoSh, and the truth less; two judgments of sft failed."""
    rng = np.random.default_rng(0)
    hard = rng.uniform(-0.2, 0.2, size=(1, PROMPTS))
    centres = {
        "base": (0.70, 0.74, 0.67, 0.64, 0.70, 0.60, 0.55, 14),
        "sft": (0.73, 0.75, 0.72, 0.68, 0.71, 0.66, 0.60, 19),
        "dapo": (0.765, 0.77, 0.76, 0.71, 0.705, 0.72, 0.61, 21),
    }
    metrics = [
        "truth_f1", "truth_precision", "truth_recall", "posh_f1", "posh_precision", "posh_recall",
        "overlap",
    ]  # fmt: skip
    scores: Any = {}
    for model, means in centres.items():
        scores[model] = {}
        for metric, mean in zip(metrics, means[:-1], strict=True):
            noise = rng.normal(0, 0.1, (3, PROMPTS)) + rng.normal(0, 0.01, (3, 1))
            scores[model][metric] = np.clip(mean + hard + noise, 0, 1)
        scores[model]["words"] = np.round(means[-1] + rng.normal(0, 4, (3, PROMPTS)))
    for metric in metrics[3:6]:
        scores["sft"][metric][1, :2] = np.nan
    return scores


@cache
def invented_comparison() -> Any:
    scores = invented_scores()
    judge = PoshReward(MatchJudge())
    sides = {model: [f"{model}{seed}" for seed in range(3)] for model in scores}
    slices = {"objects": [(str(1 + number % 3),) for number in range(PROMPTS)]}
    part = RewardPart(metric="posh")
    setup = Setup(
        sides=sides,
        seeds=[0, 1, 2],
        prompts=Prompts([{}] * PROMPTS, slices, {"source": SCENES}),
        parts=[part, RewardPart(metric=TRUTH)],
        rewards=[judge, Truth()],
        max_tokens=96,
        learned=[part],
        title="Scenes: what DAPO with span credit changed",
        facts=FACTS,
    )
    failed = {}
    for model, of in scores.items():
        failed[model] = {metric: np.isnan(array) for metric, array in of.items()}
    answers = {}
    for model, runs in sides.items():
        run = [JudgedAnswer(f"A scene {number}.", Verdict(0.5), {}) for number in range(PROMPTS)]
        answers[model] = [run] * len(runs)
    return summarise_comparison(setup, Evaluation(scores, failed, answers))


def span(text: str, phrase: str, score: float, note: str = "") -> Any:
    start = text.index(phrase)
    return Span(start, start + len(phrase), score, 0.0, "entity", note, 0)


def invented_examples() -> Any:
    rng = np.random.default_rng(2)
    examples = []
    for number in range(6):
        one, two = rng.choice(list(COLOURS), 2, replace=False)
        left, right = rng.choice(SHAPES, 2)
        other = next(colour for colour in COLOURS if colour not in (one, two))
        image = Image.new("RGB", (96, 96), "#f4f4f0")
        draw = ImageDraw.Draw(image)
        draw_shape(draw, left, COLOURS[one], 12, 34)
        draw_shape(draw, right, COLOURS[two], 54, 34 - 22 * (number % 2))
        reference = f"A {one} {left} stands to the left of a {two} {right}."
        base = f"There is a {other} {left}."
        sft = f"A {one} {left} and a {other} {right} 👩‍🎨, both on a wooden table."
        dapo = f"A {one} {left} is to the left of a {two} {right}."
        judged = Verdict(
            score=0.61,
            parts={"precision": 0.5, "recall": 0.7, "f1": 0.61},
            spans=(
                span(sft, f"{one} {left}", 1.0, "rated 5 of 5: “Is there a circle?”"),
                span(sft, f"{other} {right}", 0.5, "rated 3 of 5: the shape is there"),
                span(sft, f"{other}", 0.0, f"rated 1 of 5: the {right} is not {other}"),
                span(sft, "both on", 0.25, "rated 2 of 5"),
                span(sft, "wooden table", 0.0, "rated 1 of 5: there is no table"),
            ),
            missed=(
                span(reference, "to the left of", 0.0, "nowhere said"),
                span(reference, two, 0.25, "not said"),
            ),
        )
        of_base = (span(base, f"{other} {left}", 0.25, "rated 2 of 5"),)
        of_dapo = (span(dapo, f"{one} {left}", 1.0), span(dapo, f"a {two} {right}", 0.75))
        poor = Verdict(0.2, spans=of_base, missed=judged.missed)
        answers = {
            "base": JudgedAnswer(base, poor, {"truth_f1": 0.25, "words": 5.0}),
            "sft": JudgedAnswer(sft, judged, {"truth_f1": 0.55, "words": 13.0}),
            "dapo": JudgedAnswer(
                dapo, Verdict(0.97, spans=of_dapo), {"truth_f1": 1.0, "words": 11.0}
            ),
        }
        if number == 3:
            late = Verdict(None, Status.TIMEOUT, note="no answer in 30 s")
            answers["dapo"] = JudgedAnswer(dapo, late, {"truth_f1": 1.0})
        if number == 4:
            answers["base"] = JudgedAnswer(" ", Verdict(0.0, Status.EMPTY), {"truth_f1": 0.0})
        outcome, margin, length = (
            ("lost", -0.6, "longer") if number < 3 else ("won", 0.2, "shorter")
        )
        kept = {"by": "truth_f1", "slices": {"objects": (str(1 + number % 3),)}}
        kept |= {"outcome": outcome, "margin": margin, "length": length}
        shown = (image, "Describe the picture.", (reference,), answers, str(number))
        examples.append(ShownPrompt(*shown, **kept, disagree=number % 2 == 0))
    return examples


def draw_shape(draw: Any, shape: Any, colour: Any, x: Any, y: Any) -> None:
    if shape == "circle":
        draw.ellipse((x, y, x + 30, y + 30), fill=colour)
    elif shape == "square":
        draw.rectangle((x, y, x + 30, y + 30), fill=colour)
    else:
        draw.polygon([(x, y + 30), (x + 15, y), (x + 30, y + 30)], fill=colour)


FACTS = {"command": "python scripts/compare.py recipes/quickstart", "commit": "c808c07"}
FACTS |= {"seeds": "0 1 2", "trl": "1.16.0"}


def write_invented(path: Any) -> Any:
    write_report(path, invented_comparison(), invented_examples())
    return path
