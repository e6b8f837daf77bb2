"""The loss gets the token advantages that docs/credit.md says, computed here from it alone.

Every loss is trained in the way that has all others in it, and DAPO's in every way. test_drop_in.py
has the settings in which span_coef 0 is TRL bit for bit.
"""

import re
from collections.abc import Sequence
from functools import partial
from itertools import accumulate, chain
from statistics import fmean, pstdev, stdev
from typing import Any

import pytest

from spanreward.rewards import Sample, Verdict
from tests.support.given_ranks import judge
from tests.support.tiny_trainer import Scored

COEFFICIENT = 0.5
GROUP = 4
LOSSES: dict[str, dict[str, Any]] = {
    "grpo": {},
    "bnpo": {},
    "dr_grpo": {"scale_rewards": "none"},
    "dapo": {"epsilon_high": 0.28, "mask_truncated_completions": True},
    "luspo": {},
    "cispo": {"epsilon_high": 5.0},
    "sapo": {},
}
WAYS: dict[str, dict[str, Any]] = {
    "plain": {"per_device_train_batch_size": 16, "max_steps": 2},
    "accumulated": {"gradient_accumulation_steps": 4, "max_steps": 2},
    "four steps a batch": {"steps_per_generation": 4, "max_steps": 5},
    "three iterations": {"per_device_train_batch_size": 16, "num_iterations": 3, "max_steps": 4},
    "dynamic": {"per_device_train_batch_size": 16, "dynamic_sampling": True, "max_steps": 2},
    "all": {"steps_per_generation": 4, "gradient_accumulation_steps": 2, "num_iterations": 3}
    | {"dynamic_sampling": True, "max_steps": 7},
}
RUNS = [*((loss, "all") for loss in LOSSES), *(("dapo", way) for way in WAYS if way != "all")]


class Phrase:
    """A component's first mention in a completion: its tokens, and what docs/credit.md compares."""

    def __init__(self, row: int, tokens: list[int], sample: Sample, span: Any) -> None:
        self.row = row
        self.tokens = tokens
        self.credit = span.credit
        ends = [match.end() for match in re.finditer(r"[.!?\n]+", sample.completion)]
        place = sum(end <= span.start for end in ends)
        self.cells = {"kind": span.kind, "place": place, "group": row // GROUP}


def phrases_of(row: int, sample: Sample, verdict: Verdict, tokens: Sequence[str]) -> list[Phrase]:
    """Of a completion with at least two tokens of them, else none."""
    assert "".join(tokens) == sample.completion
    first: dict[int, Any] = {}
    for span in sorted(verdict.spans, key=lambda span: span.start):
        if span.asked:
            first.setdefault(span.component, span)
    ends = list(accumulate(map(len, tokens)))
    phrases = []
    for span in first.values():
        places = []
        for number, end in enumerate(ends):
            if end - len(tokens[number]) < span.end and end > span.start:
                places.append(number)
        phrases.append(Phrase(row, places, sample, span))
    covered = {token for phrase in phrases for token in phrase.tokens}
    return phrases if len(covered) >= 2 else []


def residuals_of(phrases: Sequence[Phrase]) -> list[float]:
    residuals = [phrase.credit - fmean(other.credit for other in phrases) for phrase in phrases]
    for cell in ("kind", "place", "group"):
        before = list(residuals)
        for number, phrase in enumerate(phrases):
            others = []
            for place, other in enumerate(phrases):
                if place != number and other.cells[cell] == phrase.cells[cell]:
                    others.append(before[place])
            residuals[number] -= sum(others) / (len(others) + 4)
    return residuals


def scalars_of(rewards: Sequence[float], scaled: bool) -> list[float]:
    scalars: list[float] = []
    for first in range(0, len(rewards), GROUP):
        group = rewards[first : first + GROUP]
        unit = stdev(group) + 1e-4 if scaled else 1.0
        scalars += [(reward - fmean(group)) / unit for reward in group]
    return scalars


def by_the_docs(
    samples: Sequence[Sample], verdicts: Sequence[Verdict], tokens: Sequence[Any], scaled: bool
) -> list[list[float]]:
    """Returns the advantage of each sampled token."""
    phrases: list[Phrase] = []
    for row, sample in enumerate(samples):
        phrases += phrases_of(row, sample, verdicts[row], tokens[row])
    credit = [[0.0] * len(of_row) for of_row in tokens]
    covered: set[tuple[int, int]] = set()
    for phrase, residual in zip(phrases, residuals_of(phrases), strict=True):
        for token in phrase.tokens:
            credit[phrase.row][token] += residual / len(phrase.tokens)
            covered.add((phrase.row, token))
    unit = pstdev(credit[row][token] for row, token in covered) + 1e-4
    advantages = []
    scores = [verdict.score or 0.0 for verdict in verdicts]
    for scalar, of_row in zip(scalars_of(scores, scaled), credit, strict=True):
        z = [value / unit for value in of_row]
        advantages.append([scalar + COEFFICIENT * (value - fmean(z)) for value in z])
    return advantages


def rows_of(batch: dict[str, Any]) -> list[tuple[list[int], list[float]]]:
    """The sampled ids and their advantages, by completion."""
    rows = []
    for row, mask in enumerate(batch["completion_mask"].bool()):
        ids = batch["completion_ids"][row][mask].tolist()
        rows.append((ids, batch["advantages"][row][mask].tolist()))
    return rows


class Watched:
    """What a trainer made of each batch of completions, and what its loss got."""

    def __init__(self, trainer: Any) -> None:
        self.batches: list[tuple[list[Sample], list[Verdict], Any]] = []
        self.passes: list[Any] = []
        self.trainer = trainer
        self.score = trainer._generate_and_score_completions
        self.loss = trainer._compute_loss
        trainer._generate_and_score_completions = self.watch_batch
        trainer._compute_loss = self.watch_loss

    def watch_batch(self, inputs: Any) -> Any:
        output = self.score(inputs)
        (recorder,) = self.trainer.recorders
        self.batches.append((recorder.samples, recorder.verdicts, rows_of(output)))
        return output

    def watch_loss(self, model: Any, inputs: Any) -> Any:
        self.passes.append(rows_of(inputs))
        return self.loss(model, inputs)


@pytest.mark.parametrize(("loss", "way"), RUNS)
@pytest.mark.usefixtures("given_completions")
def test_the_loss_gets_the_advantages_of_the_docs(make: Any, loss: str, way: str) -> None:
    sizes = {"per_device_train_batch_size": 4, "num_generations": GROUP}
    settings = {**sizes, **LOSSES[loss], **WAYS[way], "loss_type": loss, "learning_rate": 1e-4}
    trainer = make(Scored(judge), span_coef=COEFFICIENT, **settings)
    watched = Watched(trainer)
    trainer.train()
    args = trainer.args
    for samples, verdicts, rows in watched.batches:
        decode = partial(trainer._tokenizer.decode, skip_special_tokens=True)
        tokens = [[decode([token]) for token in ids] for ids, _ in rows]
        expected = by_the_docs(samples, verdicts, tokens, args.scale_rewards == "group")
        spread = [max(advantages) - min(advantages) for advantages in expected]
        assert max(spread) > 0.1
        for (_, advantages), of_docs in zip(rows, expected, strict=True):
            assert advantages == pytest.approx(of_docs, abs=5e-6)
    # each batch's rows come in every iteration, in another order
    of_iteration = args.steps_per_generation
    for number in range(len(watched.passes) // of_iteration):
        passes = watched.passes[number * of_iteration : (number + 1) * of_iteration]
        _, _, batch = watched.batches[number // args.num_iterations]
        assert sorted(chain(*passes)) == sorted(batch)
    assert len(watched.batches) == -(-len(watched.passes) // args.passes_per_batch)
    assert len(watched.batches) >= 2
