"""How right are a reward's spans, and what would a rule make of them? Measured on sampled texts,
without any training.

    panel = make_panel("outputs/credit/base2", level=2, pictures=48, completions=8, of_monte_carlo=2, rollouts=8)
    judged = judge_panel(panel, PoshReward(MatchJudge()))
    agreement_of_phrases(judged, truth, panel)["entity"]["r"]
    alignment({"scalar": ..., "withhold": ...}, panel, truth.scores)["withhold"]["difference"]

Credit is compared as training uses it: less the baseline of comparable phrases, on the tokens of
the first mention. The truth's is the referee's (truth_reward.py), on the same words. `alignment` is
the cosine between the advantages of a rule and the Monte Carlo advantages of rollouts.py, over
tokens: at equal size, and as far as the gradients of tokens are at right angles, what a step gains
is proportional to it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from experiments.scenes.parts import scenes_of, scenes_part
from experiments.scenes.referee import judge_description
from experiments.scenes.world import Scene
from experiments.span_credit.rollouts import Sampled, gradient_sizes, monte_carlo, sample
from spanreward.rewards.base.verdict import Sample, Verdict
from spanreward.rewards.files.outputs import write_whole
from spanreward.rewards.reward.reward import Reward
from spanreward.training.data.load import load_data
from spanreward.training.grpo.credit import (
    first_mentions,
    on_tokens,
    phrases_of,
    residual_credit,
    special_ids,
    token_offsets,
    tokens_of,
)
from spanreward.training.grpo.span_rules import STD_FLOOR, credit_moments, credit_std, scale_credit
from spanreward.training.policy import load_policy
from spanreward.training.recipe import FilePart

Array = NDArray[np.float64]
Rule = Callable[[Tensor, Tensor, Tensor, float], Tensor]
# by level: the longest full reference has 48, 71, 114 and 224
MAX_TOKENS = {1: 64, 2: 96, 3: 128, 4: 240}


@dataclass(frozen=True, slots=True)
class Written:
    """A completion with the characters of its tokens, and their Monte Carlo advantages where it has
    some.

    sizes: of each token, how much its advantage moves the policy (rollouts.gradient_sizes).
    """

    picture: int
    ids: tuple[int, ...]
    text: str
    offsets: tuple[tuple[int, int], ...]
    sizes: tuple[float, ...]
    monte_carlo: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class Panel:
    """Completions of one policy for pictures of one level, a picture's one after another."""

    base: str
    level: int
    pictures: int
    completions: int
    rollouts: int
    written: tuple[Written, ...]


@dataclass(frozen=True, slots=True)
class JudgedPhrase:
    """One phrase: its credit, the same less the baseline, and the tokens that wrote its first
    mention.
    """

    row: int
    kind: str
    credit: float
    residual: float
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class JudgedPanel:
    """verdicts, phrases: of all rows. credit, covered: (B, T), in standard deviations. scores:
    (B,), nan where none.
    """

    verdicts: tuple[Verdict, ...]
    phrases: tuple[JudgedPhrase, ...]
    credit: Tensor
    covered: Tensor
    scores: Array


def panel_data(level: int, pictures: int) -> FilePart:
    """Pictures that no training has seen, with one full reference each."""
    return scenes_part(
        **{"level": level, "split": "validation", "count": pictures, "references": 1, "seed": 1}
    )


def make_panel(
    base: str,
    level: int,
    pictures: int = 48,
    completions: int = 8,
    of_monte_carlo: int = 2,
    rollouts: int = 8,
    seed: int = 0,
) -> Panel:
    """Sample a policy. of_monte_carlo: how many of a picture's completions get Monte Carlo
    advantages, the first of those that ended of themselves. Completions that were cut, or whose
    tokens do not line up, are left out.
    """
    model, processor = load_policy(base)
    model.eval()
    max_tokens = MAX_TOKENS[level]
    data = panel_data(level, pictures)
    rows, scenes = list(load_data(data)), scenes_of(data)
    tokenizer = processor.tokenizer.backend_tokenizer  # type: ignore[attr-defined]
    special = special_ids(tokenizer)
    drawn = [
        one for one in sample(model, processor, rows, completions, max_tokens, seed) if one.finished
    ]
    offsets = [token_offsets(tokenizer, special, one.ids, one.text) for one in drawn]
    kept = [(one, of_one) for one, of_one in zip(drawn, offsets, strict=True) if of_one is not None]
    places: dict[int, list[int]] = {}
    for place, (one, _) in enumerate(kept):
        places.setdefault(one.row, []).append(place)
    chosen = [place for of_picture in places.values() for place in of_picture[:of_monte_carlo]]

    def worth(one: Sampled) -> float:
        return judge_description(one.text, scenes[one.row]).f1

    measured = [kept[place][0] for place in chosen]
    advantages = monte_carlo(model, processor, rows, measured, max_tokens, rollouts, worth, seed)
    found = dict(zip(chosen, advantages, strict=True))
    sizes = gradient_sizes(model, processor, rows, [one for one, _ in kept])
    written = tuple(
        Written(
            one.row,
            one.ids,
            one.text,
            tuple(of_one),
            tuple(size),
            tuple(found[place]) if place in found else None,
        )
        for place, ((one, of_one), size) in enumerate(zip(kept, sizes, strict=True))
    )
    return Panel(base, level, pictures, completions, rollouts, written)


def write_panel(panel: Panel, path: Path) -> None:
    write_whole(path, json.dumps(asdict(panel)) + "\n")


def read_panel(path: Path) -> Panel:
    content = json.loads(path.read_text("utf-8"))
    written = tuple(
        Written(
            entry["picture"],
            tuple(entry["ids"]),
            entry["text"],
            tuple((start, end) for start, end in entry["offsets"]),
            tuple(entry["sizes"]),
            None if entry["monte_carlo"] is None else tuple(entry["monte_carlo"]),
        )
        for entry in content.pop("written")
    )
    return Panel(**content, written=written)


def panel_scenes(panel: Panel) -> list[Scene]:
    return scenes_of(panel_data(panel.level, panel.pictures))


def judge_panel(panel: Panel, reward: Reward) -> JudgedPanel:
    """A reward's verdicts on the panel, as the trainer would use them, all in one batch."""
    rows = list(load_data(panel_data(panel.level, panel.pictures)))
    samples = [
        Sample(
            prompt=rows[one.picture]["prompt"][0]["content"],
            completion=one.text,
            images=(rows[one.picture]["image"],),
            references=tuple(rows[one.picture]["reference"]),
            id=rows[one.picture]["id"],
        )
        for one in panel.written
    ]
    return lay_out(panel, reward.assess(samples))


def lay_out(panel: Panel, verdicts: Sequence[Verdict]) -> JudgedPanel:
    """Each verdict's credit on the tokens of its completion, as SpanGRPOTrainer does it for a batch
    of this size.
    """
    mentions = [first_mentions(verdict.spans) for verdict in verdicts]
    tokens = [
        tokens_of(of_row, one.offsets) for of_row, one in zip(mentions, panel.written, strict=True)
    ]
    phrases = [
        phrase
        for of_row, one in zip(mentions, panel.written, strict=True)
        for phrase in phrases_of(of_row, one.text, one.picture)
    ]
    residuals = residual_credit(phrases)
    shape = len(panel.written), max(len(one.ids) for one in panel.written)
    credit, covered = map(torch.from_numpy, on_tokens(residuals, dict(enumerate(tokens)), shape))
    left = iter(residuals)
    judged = [
        JudgedPhrase(row, span.kind, span.credit, next(left), tuple(of_phrase))
        for row, (of_row, found) in enumerate(zip(mentions, tokens, strict=True))
        for span, of_phrase in zip(of_row, found, strict=True)
    ]
    std = credit_std(moment.item() for moment in credit_moments(credit, covered))
    scores = [np.nan if verdict.score is None else verdict.score for verdict in verdicts]
    return JudgedPanel(
        tuple(verdicts),
        tuple(judged),
        scale_credit(credit, covered, std),
        covered,
        np.array(scores),
    )


def agreement_of_phrases(
    judged: JudgedPanel, truth: JudgedPanel, panel: Panel
) -> dict[str, dict[str, float]]:
    """By kind and for "all": how many phrases, their share of all squared credit, the share that is
    blamed (credit below 0), and Pearson's r of their credit with the truth's on the same words (nan
    where either is constant).

    r: every phrase alike. weighted: each by the summed sizes of its tokens, as words that had to
    come teach nothing. monte_carlo: with the sum of the Monte Carlo advantages of its tokens,
    weighted likewise.
    """
    measured, advantages, sizes = monte_carlo_of(panel, judged.credit.shape[1])
    squared = sum(phrase.residual**2 for phrase in judged.phrases)
    kinds = sorted({phrase.kind for phrase in judged.phrases})
    found = {}
    for name in ["all", *kinds]:
        phrases = [
            phrase for phrase in judged.phrases if name in ("all", phrase.kind) and phrase.tokens
        ]
        ours = np.array([phrase.residual for phrase in phrases])
        theirs, weights, expected = (
            np.array([float(values[phrase.row, list(phrase.tokens)].sum()) for phrase in phrases])
            for values in (truth.credit, sizes, advantages)
        )
        known = np.array([bool(measured[phrase.row, 0]) for phrase in phrases], dtype=bool)
        found[name] = {
            "phrases": len(phrases),
            "share": float((ours**2).sum() / squared) if squared else 0.0,
            "blamed": float(np.mean([phrase.credit < 0 for phrase in phrases])),
            "r": correlation(ours, theirs),
            "weighted": correlation(ours, theirs, weights),
            "monte_carlo": correlation(ours[known], expected[known], weights[known]),
        }
    return found


def agreement_of_tokens(judged: JudgedPanel, truth: JudgedPanel, panel: Panel) -> dict[str, float]:
    """r over tokens, weighted by their sizes: with the truth's credit where either covers one, and
    with the Monte Carlo advantages.
    """
    either = judged.covered | truth.covered
    measured, advantages, sizes = monte_carlo_of(panel, judged.credit.shape[1])
    return {
        "truth": correlation(
            judged.credit[either].numpy(), truth.credit[either].numpy(), sizes[either].numpy()
        ),
        "monte_carlo": correlation(
            judged.credit[measured].numpy(), advantages[measured].numpy(), sizes[measured].numpy()
        ),
    }


def score_agreement(judged: JudgedPanel, truth: JudgedPanel, panel: Panel) -> dict[str, float]:
    """r of the scores with the truth F1, over all completions and within the groups of a
    picture.
    """
    both = np.isfinite(judged.scores) & np.isfinite(truth.scores)
    pictures = np.array([one.picture for one in panel.written])[both]
    ours, theirs = judged.scores[both], truth.scores[both]
    inner = [
        values - np.array([values[pictures == p].mean() for p in pictures])
        for values in (ours, theirs)
    ]
    return {"all": correlation(ours, theirs), "within": correlation(*inner)}


def monte_carlo_of(panel: Panel, width: int) -> tuple[Tensor, Tensor, Tensor]:
    """Which tokens have a Monte Carlo advantage, these, and the sizes of all tokens; each (B,
    T).
    """
    measured = torch.zeros(len(panel.written), width, dtype=torch.bool)
    advantages = torch.zeros(measured.shape, dtype=torch.float64)
    sizes = torch.zeros(measured.shape, dtype=torch.float64)
    for row, one in enumerate(panel.written):
        sizes[row, : len(one.sizes)] = torch.tensor(one.sizes, dtype=torch.float64)
        if one.monte_carlo is not None:
            measured[row, : len(one.monte_carlo)] = True
            advantages[row, : len(one.monte_carlo)] = torch.tensor(
                one.monte_carlo, dtype=torch.float64
            )
    return measured, advantages, sizes


def scalar_advantages(scores: Array, pictures: Sequence[int]) -> tuple[Array, Array]:
    """GRPO's advantage of each completion in its picture's group, 0 where it was not judged; the
    groups' deviations.
    """
    advantages, deviations = np.zeros(len(scores)), np.ones(len(scores))
    for picture in set(pictures):
        group = np.array([p == picture for p in pictures]) & np.isfinite(scores)
        if group.sum() > 1:
            deviations[group] = scores[group].std(ddof=1) + STD_FLOOR
            advantages[group] = (scores[group] - scores[group].mean()) / deviations[group]
    return advantages, deviations


def token_advantages(judged: JudgedPanel, panel: Panel, rule: Rule, coefficient: float) -> Tensor:
    """The rule's advantages (B, T), as the trainer would have them."""
    scalar, _ = scalar_advantages(judged.scores, [one.picture for one in panel.written])
    return rule(
        torch.tensor(scalar),
        judged.credit,
        sampled_tokens(panel, judged.credit.shape[1]),
        coefficient,
    )


def sampled_tokens(panel: Panel, width: int) -> Tensor:
    lengths = torch.tensor([len(one.ids) for one in panel.written])
    return torch.arange(width).unsqueeze(0) < lengths.unsqueeze(1)


def alignment(
    advantages: Mapping[str, Tensor], panel: Panel, truth_scores: Array, draws: int = 500
) -> dict[str, Any]:
    """Cosine of each rule's advantages (B, T) with the Monte Carlo advantages, tokens weighted by
    their sizes. With the difference of each to the first one, and the 95 % interval of that over
    `draws` of pictures.

    The Monte Carlo advantages are in the unit of the scalar, a group's standard deviation of the
    truth.
    """
    measured, expected, sizes = monte_carlo_of(panel, next(iter(advantages.values())).shape[1])
    pictures = [one.picture for one in panel.written]
    _, deviations = scalar_advantages(truth_scores, pictures)
    expected = expected / torch.tensor(deviations).unsqueeze(1)
    names = sorted(
        {picture for picture, of_row in zip(pictures, measured.any(dim=1), strict=True) if of_row}
    )
    rows = {picture: [row for row, p in enumerate(pictures) if p == picture] for picture in names}

    def products(a: Tensor, b: Tensor) -> Array:
        both = torch.where(measured, a * b * sizes, torch.zeros_like(a)).sum(dim=1)
        return np.array([float(both[rows[picture]].sum()) for picture in names])

    parts = {name: (products(a, expected), products(a, a)) for name, a in advantages.items()}
    theirs = products(expected, expected)

    def cosines(drawn: NDArray[np.int64]) -> dict[str, float]:
        norm = theirs[drawn].sum()
        return {
            name: ratio(both[drawn].sum(), np.sqrt(own[drawn].sum() * norm))
            for name, (both, own) in parts.items()
        }

    generator = np.random.default_rng(0)
    found = cosines(np.arange(len(names)))
    drawn = [cosines(generator.integers(0, len(names), len(names))) for _ in range(draws)]
    first = next(iter(advantages))
    result = {}
    for name in advantages:
        differences = [one[name] - one[first] for one in drawn]
        low, high = np.nanpercentile(differences, [2.5, 97.5])
        result[name] = {
            "cosine": float(found[name]),
            "difference": float(found[name] - found[first]),
            "low": float(low),
            "high": float(high),
        }
    return result


def correlation(a: Array, b: Array, weights: Array | None = None) -> float:
    """Pearson's r, nan where one of them is constant. weights: what each pair counts, 1 where there
    are none.
    """
    covariance = np.cov(a, b, aweights=weights, ddof=0) if len(a) else np.zeros((2, 2))
    return ratio(float(covariance[0, 1]), float(np.sqrt(covariance[0, 0] * covariance[1, 1])))


def ratio(part: float, whole: float) -> float:
    """nan where `whole` is 0."""
    return part / whole if whole > 0 else float("nan")
