"""The panel: Monte Carlo advantages that add up, figures by hand, and the command."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from experiments.scenes.parts import TINY
from experiments.scenes.referee import judge_description
from experiments.scenes.truth_reward import TruthReward
from experiments.span_credit import panel as panels
from experiments.span_credit.rollouts import Sampled, gradient_sizes, monte_carlo, sample
from spanreward.training.data.load import load_data
from spanreward.training.grpo.span_rules import add_centred
from spanreward.training.policy import load_policy
from tests.support.command import experiments


def written(
    picture: int, text: str, monte_carlo: tuple[float, ...] | None = None
) -> panels.Written:
    """A completion whose words are its tokens."""
    starts = [0] + [at + 1 for at, character in enumerate(text) if character == " "]
    ends = [*(start - 1 for start in starts[1:]), len(text)]
    count = len(starts)
    offsets = tuple(zip(starts, ends, strict=True))
    return panels.Written(picture, tuple(range(count)), text, offsets, (1.0,) * count, monte_carlo)


WRITTEN = (
    written(0, "A circle.", (0.2, 0.1)),
    written(0, "A red star.", (0.0, 0.3, -0.1)),
    written(1, "A star."),
    written(1, "A square.", (0.0, -0.4)),
)
PANEL = panels.Panel("base", 1, pictures=2, completions=2, rollouts=4, written=WRITTEN)


def tiny() -> tuple[Any, Any, list[Any]]:
    model, processor = load_policy(TINY, 0)
    return model.eval(), processor, list(load_data(panels.panel_data(1, 2)))


def test_advantages_add_up_to_the_worth_less_that_of_nothing_said() -> None:
    model, processor, rows = tiny()
    sampled = sample(model, processor, rows, 2, max_tokens=5, seed=0)
    drawn = [replace(one, finished=True) for one in sampled]
    assert [one.row for one in drawn] == [0, 0, 1, 1]

    def worth(one: Sampled) -> float:
        return len(one.ids) / 10

    found = monte_carlo(model, processor, rows, drawn, max_tokens=5, count=3, worth=worth, seed=1)
    again = monte_carlo(model, processor, rows, drawn, max_tokens=5, count=3, worth=worth, seed=1)
    assert found == again
    assert [len(of_one) for of_one in found] == [len(one.ids) for one in drawn]
    # V of the empty prefix
    start = {row: worth(drawn[2 * row]) - sum(found[2 * row]) for row in (0, 1)}
    for one, advantages in zip(drawn, found, strict=True):
        assert start[one.row] + sum(advantages) == pytest.approx(worth(one))
    with pytest.raises(ValueError, match="that end of themselves"):
        monte_carlo(model, processor, rows, [replace(drawn[0], finished=False)], 5, 1, worth, 0)


def test_sizes_are_those_of_the_gradient() -> None:
    """Against autograd, for rows of unlike lengths in one batch."""
    model, processor, rows = tiny()
    drawn = sample(model, processor, rows, 2, max_tokens=4, seed=0)
    drawn[0] = replace(drawn[0], ids=drawn[0].ids[:2])
    found = gradient_sizes(model, processor, rows, drawn)
    for one, sizes in zip(drawn, found, strict=True):
        (alone,) = gradient_sizes(model, processor, rows, [one])
        assert sizes == pytest.approx(alone, abs=1e-5)
        assert len(sizes) == len(one.ids)
    logits = torch.randn(5, requires_grad=True)
    logits.log_softmax(0)[3].backward()
    assert logits.grad is not None
    p = logits.softmax(0).detach()
    size = float(1 - 2 * p[3] + p.square().sum())
    assert float(logits.grad.square().sum()) == pytest.approx(size)


def test_a_panel_is_what_it_was_written_as(tmp_path: Path) -> None:
    panels.write_panel(PANEL, tmp_path / "panel.json")
    assert panels.read_panel(tmp_path / "panel.json") == PANEL


def test_scalar_advantages_leave_out_what_was_not_judged() -> None:
    scores = np.array([0.2, 0.4, np.nan, 0.9, 0.5])
    advantages, deviations = panels.scalar_advantages(scores, [0, 0, 0, 1, 2])
    spread = np.std([0.2, 0.4], ddof=1) + 1e-4
    assert advantages == pytest.approx([-0.1 / spread, 0.1 / spread, 0, 0, 0])
    assert deviations == pytest.approx([spread, spread, 1, 1, 1])


def judged(credit: list[list[float]]) -> panels.JudgedPanel:
    values = torch.tensor(credit, dtype=torch.float64)
    phrases = []
    for row, at in values.nonzero().tolist():
        value = credit[row][at]
        kind = "entity" if value > 0 else "attribute"
        phrases.append(panels.JudgedPhrase(row, kind, value, value, (at,)))
    return panels.JudgedPanel(
        (), tuple(phrases), values, values != 0, np.array([0.2, 0.4, 0.1, 0.3])
    )


def test_alignment_by_hand() -> None:
    truth_scores = np.array([0.2, 0.4, 0.1, 0.3])
    unit = np.std([0.2, 0.4], ddof=1) + 1e-4  # both groups have it
    measured = [[0.2, 0.1, 0.0], [0.0, 0.3, -0.1], [0, 0, 0], [0.0, -0.4, 0.0]]
    expected = torch.tensor(measured, dtype=torch.float64) / unit
    # row 3: not measured
    other = torch.tensor([[1.0, 0, 0], [0, 0, 0], [9.0, 9, 9], [0, 0, 0]], dtype=torch.float64)
    found = panels.alignment({"itself": expected, "other": other}, PANEL, truth_scores, draws=20)
    assert found["itself"]["cosine"] == pytest.approx(1)
    cosine = 0.2 / (0.04 + 0.01 + 0.09 + 0.01 + 0.16) ** 0.5
    assert found["other"]["cosine"] == pytest.approx(cosine)
    assert found["other"]["difference"] == pytest.approx(found["other"]["cosine"] - 1)
    assert found["other"]["low"] <= found["other"]["difference"] <= found["other"]["high"]


def test_phrases_agree_with_themselves_and_not_with_their_opposite() -> None:
    truth = judged([[0.0, 1.0, 0.0], [0.0, -2.0, 1.0], [0.5, 0.0, 0.0], [0.0, 3.0, 0.0]])
    figures = panels.agreement_of_phrases(truth, truth, PANEL)
    assert figures["all"]["r"] == figures["all"]["weighted"] == pytest.approx(1)
    assert (figures["all"]["phrases"], figures["attribute"]["phrases"]) == (5, 1)
    assert figures["all"]["blamed"] == pytest.approx(1 / 5)
    assert figures["attribute"]["share"] == pytest.approx(4 / (1 + 4 + 1 + 0.25 + 9))
    opposite = panels.agreement_of_phrases(judged((-truth.credit).tolist()), truth, PANEL)
    assert opposite["all"]["r"] == pytest.approx(-1)
    # the third row has no Monte Carlo advantages
    known = [(1.0, 0.1), (-2.0, 0.3), (1.0, -0.1), (3.0, -0.4)]
    credits, labels = np.array(known).T
    assert figures["all"]["monte_carlo"] == pytest.approx(panels.correlation(credits, labels))


def test_weighted_correlation_counts_a_pair_as_often() -> None:
    a, b = np.array([1.0, 2.0, 4.0]), np.array([2.0, 1.0, 3.0])
    often = panels.correlation(np.repeat(a, [1, 2, 3]), np.repeat(b, [1, 2, 3]))
    assert panels.correlation(a, b, np.array([1, 2, 3])) == pytest.approx(often)
    assert np.isnan(panels.correlation(a, np.ones(3)))
    assert np.isnan(panels.correlation(np.array([]), np.array([])))


def test_the_truth_on_a_panel() -> None:
    scenes = panels.panel_scenes(PANEL)
    rows = load_data(panels.panel_data(PANEL.level, PANEL.pictures))
    truth = panels.judge_panel(PANEL, TruthReward(dict(zip(rows["id"], scenes, strict=True))))
    f1 = [judge_description(one.text, scenes[one.picture]).f1 for one in PANEL.written]
    assert truth.scores == pytest.approx(f1)
    scalar, _ = panels.scalar_advantages(truth.scores, [0, 0, 1, 1])
    found = panels.token_advantages(truth, PANEL, add_centred, 0.0)
    assert found.tolist() == [[pytest.approx(value)] * found.shape[1] for value in scalar]


def test_the_command(tmp_path: Path) -> None:
    model, processor = load_policy(TINY, 0)
    base = tmp_path / "base"
    model.save_pretrained(base)
    processor.save_pretrained(base)
    path = tmp_path / f"panel-level1-{base.name}-texts.json"
    # as if sampled before: an untrained policy's texts never end
    panels.write_panel(replace(PANEL, base=str(base)), path)
    call = f"credit --output {tmp_path} panel --base {base} --level 1 --flipped 0.1".split()
    done = experiments(*call)
    assert done.code == 0, done.err
    assert "posh:match" in done.out
    assert "withhold 0.25" in done.out
    figures = json.loads((tmp_path / "panel-level1-base.json").read_text())
    expected = {"truth", "truth, 10% flipped", "truth, permuted", "posh:match"}
    assert set(figures["sources"]) == expected
    assert figures["rules"]["truth"]["scalar"]["difference"] == 0
    assert figures["sources"]["truth"]["scores"]["all"] == pytest.approx(1)
