"""SpanGRPOTrainer on the real TRL trainer with the tiny policy: what spans change, and what they
must not.
"""

from typing import Any

import pytest
import torch

from spanreward.rewards import MatchJudge, PoshReward, Span, Verdict
from tests.support.batches import batch_of, lines_of, weights_of
from tests.support.tiny_trainer import Scripted, scenes


def test_without_span_credit_training_is_stock_grpo(make: Any) -> None:
    """Two optimizer steps on the same completions: the same losses, and the same weights."""
    texts = [*scenes()[0]["reference"][:2], "A red star.", "A circle in the center. A square."]
    losses, weights = [], []
    for settings in ({"stock": True}, {"span_coef": 0.0}):
        trainer = make(PoshReward(MatchJudge()), **settings)
        batch_of(trainer, texts * 2)
        trainer.train()
        losses.append([line["loss"] for line in lines_of(trainer)])
        weights.append(weights_of(trainer))
    assert len(losses[0]) == 2
    assert max(map(abs, losses[0])) > 1e-3
    assert losses[1] == pytest.approx(losses[0], abs=1e-6)
    torch.testing.assert_close(*weights, atol=1e-6, rtol=0)


def test_with_span_credit_training_differs_and_logs_every_part(make: Any) -> None:
    sentence = "There is a red circle in the top left corner."
    trainer = make(PoshReward(MatchJudge()), span_coef=0.5, max_steps=1)
    output = batch_of(trainer, [sentence, "A red star.", "A square.", "Two stars."] * 2)
    assert output["advantages"].shape == output["completion_ids"].shape
    received = trainer.recorders[0].token_advantages
    assert sorted(received) == list(range(8))
    mask = output["completion_mask"][0].bool()
    assert [value for *_, value in received[0]] == output["advantages"][0][mask].tolist()
    assert received[0][0][:2] == (0, len("There"))
    metrics = trainer._metrics["train"]
    parts = ("f1", "precision", "recall", "precision_entity", "recall_relation")
    assert {f"posh/{part}" for part in parts} <= metrics.keys()
    assert 0 < metrics["spans/covered_fraction"][0] < 1


def test_token_advantages_are_the_scalar_plus_scaled_credit(make: Any) -> None:
    text, plain = "A red star.", "A blue star."
    spans = (Span(2, 5, 0.0, -0.3, "attribute", "", 0), Span(6, 10, 1.0, 0.1, "entity", "", 1))
    verdicts = {text: Verdict(0.25, spans=spans), plain: Verdict(0.75)}
    trainer = make(Scripted(verdicts), span_coef=2.0)
    output = batch_of(trainer, [text, plain, plain, plain] * 2)
    # mean 0.625 and sample deviation 0.25 of (0.25, 0.75, 0.75, 0.75)
    scalar = (0.25 - 0.625) / (0.25 + 1e-4)
    # by hand in test_credit; the attribute's is below 0, the entity's as much above
    beyond = 0.3 - 0.0805714
    std = beyond + 1e-4  # of the covered tokens: mean 0
    expected = [scalar, scalar - 2 * beyond / std, scalar + 2 * beyond / std, scalar, scalar]
    ids = output["completion_ids"][0].tolist()
    tokens = [trainer.processing_class.tokenizer.decode([i]) for i in ids]
    assert tokens == ["A", " red", " star", ".", "<eos>"]
    assert output["advantages"][0].tolist() == pytest.approx(expected, rel=1e-5)
    assert output["advantages"][1].tolist() == pytest.approx([0.125 / (0.25 + 1e-4)] * 5, rel=1e-5)


def test_spans_on_emoji_reach_exactly_the_tokens_of_their_bytes(make: Any) -> None:
    text = "A 😀 cafe\u0301 star."
    start, accent = text.index("😀"), text.index("\u0301")
    down = Span(start, start + 1, 0.0, -1.0, "entity", "", 0)
    up = Span(accent, accent + 1, 1.0, 1.0, "attribute", "", 1)
    trainer = make(
        Scripted({text: Verdict(0.5, spans=(down, up)), "A star.": Verdict(0.5)}), span_coef=1.0
    )
    output = batch_of(trainer, [text, "A star.", "A star.", "A star."] * 2)
    ids, advantages = output["completion_ids"][0], output["advantages"][0]
    plain = advantages[-1]  # of the end token, which no span covers
    tokenizer = trainer.processing_class.tokenizer
    assert bytes_of(tokenizer, ids[advantages < plain - 1e-5]).strip() == "😀".encode()
    assert bytes_of(tokenizer, ids[advantages > plain + 1e-5]) == "\u0301".encode()


def bytes_of(tokenizer: Any, ids: Any) -> bytes:
    """The bytes that byte-level tokens stand for, by GPT-2's printable letter for every byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {chr(byte): byte for byte in printable}
    letters |= {chr(256 + number): byte for number, byte in enumerate(others)}
    return bytes(map(letters.__getitem__, "".join(tokenizer.convert_ids_to_tokens(ids.tolist()))))


def test_completions_cut_by_the_length_limit_carry_no_span_credit(make: Any) -> None:
    spans = (Span(2, 10, 0.0, -1.0, "entity", "", 0),)
    trainer = make(Scripted({"A red star.": Verdict(0.5, spans=spans)}), span_coef=1.0)
    assert batch_of(trainer, ["A red star."] * 8, end=False)["advantages"].abs().max() == 0
