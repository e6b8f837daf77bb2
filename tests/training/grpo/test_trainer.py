"""SpanGRPOTrainer on the real TRL trainer with the tiny policy: what spans change, and what they
must not.
"""

from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset

from experiments.scenes.parts import scenes_part
from spanreward.rewards import MatchJudge, PoshReward, Span, Status, Verdict
from spanreward.training.data.load import load_data
from spanreward.training.grpo.trainer import SpanGRPOConfig
from tests.support.tiny_trainer import Scripted, advantages_of, make_trainer


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load_data(scenes_part(count=16))


def test_without_span_credit_training_is_stock_grpo(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two optimizer steps on the same completions: the same losses, and the same weights after
    them.
    """
    texts = [
        *dataset[0]["reference"][:2],
        "A red star.",
        "There is a circle in the center. A large square.",
    ] * 2
    losses, weights = [], []
    for stock in (True, False):
        settings = {} if stock else {"span_coef": 0.0}
        trainer = make_trainer(
            tmp_path / str(stock), dataset, [PoshReward(MatchJudge())], stock, **settings
        )
        advantages_of(trainer, dataset, texts, monkeypatch)
        trainer.train()
        losses.append([line["loss"] for line in trainer.state.log_history if "loss" in line])
        weights.append([parameter.detach().clone() for parameter in trainer.model.parameters()])
    assert len(losses[0]) == 2
    assert max(map(abs, losses[0])) > 1e-3
    assert losses[1] == pytest.approx(losses[0], abs=1e-6)
    for expected, actual in zip(*weights, strict=True):
        torch.testing.assert_close(actual, expected, atol=1e-6, rtol=0)


def test_with_span_credit_training_differs_and_logs_every_part(
    tmp_path: Path, dataset: Dataset
) -> None:
    sentence = "There is a red circle in the top left corner."
    rewards = [PoshReward(MatchJudge())]
    trainer = make_trainer(tmp_path, dataset, rewards, span_coef=0.5, max_steps=1)
    with pytest.MonkeyPatch.context() as patch:
        output = advantages_of(
            trainer, dataset, [sentence, "A red star.", "A square.", "Two stars."] * 2, patch
        )
    assert output["advantages"].shape == output["completion_ids"].shape
    received = trainer.recorders[0].token_advantages
    assert sorted(received) == list(range(8))
    assert [value for *_, value in received[0]] == output["advantages"][0][
        output["completion_mask"][0].bool()
    ].tolist()
    assert received[0][0][:2] == (0, len("There"))
    metrics = trainer._metrics["train"]
    for part in ("f1", "precision", "recall", "precision_entity", "recall_relation"):
        assert f"posh/{part}" in metrics, sorted(metrics)
    assert 0 < metrics["spans/covered_fraction"][0] < 1


def test_token_advantages_are_the_scalar_plus_scaled_credit(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, plain = "A red star.", "A blue star."
    spans = (Span(2, 5, 0.0, -0.3, "attribute", "", 0), Span(6, 10, 1.0, 0.1, "entity", "", 1))
    verdicts = {text: Verdict(0.25, spans=spans), plain: Verdict(0.75)}
    trainer = make_trainer(tmp_path, dataset, [Scripted(verdicts)], span_coef=2.0)
    output = advantages_of(trainer, dataset, [text, plain, plain, plain] * 2, monkeypatch)
    # mean 0.625 and sample deviation 0.25 of (0.25, 0.75, 0.75, 0.75)
    scalar = (0.25 - 0.625) / (0.25 + 1e-4)
    # by hand in test_credit; the attribute's is below 0, the entity's as much above
    beyond = 0.3 - 0.0805714
    std = beyond + 1e-4  # of the covered tokens: mean 0
    tokens = ["A", " red", " star", ".", "<eos>"]
    expected = [scalar, scalar - 2 * beyond / std, scalar + 2 * beyond / std, scalar, scalar]
    ids = output["completion_ids"][0].tolist()
    assert [trainer.processing_class.tokenizer.decode([i]) for i in ids] == tokens
    assert output["advantages"][0].tolist() == pytest.approx(expected, rel=1e-5)
    assert output["advantages"][1].tolist() == pytest.approx([0.125 / (0.25 + 1e-4)] * 5, rel=1e-5)


def test_spans_on_emoji_reach_exactly_the_tokens_of_their_bytes(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "A \N{GRINNING FACE} cafe\N{COMBINING ACUTE ACCENT} star."
    start = text.index("\N{GRINNING FACE}")
    accent = text.index("\N{COMBINING ACUTE ACCENT}")
    spans = (
        Span(start, start + 1, 0.0, -1.0, "entity", "", 0),
        Span(accent, accent + 1, 1.0, 1.0, "attribute", "", 1),
    )
    verdicts = {text: Verdict(0.5, spans=spans), "A star.": Verdict(0.5)}
    trainer = make_trainer(tmp_path, dataset, [Scripted(verdicts)], span_coef=1.0)
    output = advantages_of(
        trainer, dataset, [text, "A star.", "A star.", "A star."] * 2, monkeypatch
    )
    tokenizer = trainer.processing_class.tokenizer
    row = list(
        zip(output["completion_ids"][0].tolist(), output["advantages"][0].tolist(), strict=True)
    )
    plain = row[-1][1]  # of the end token, which no span covers
    down = bytes_of(tokenizer, [token for token, advantage in row if advantage < plain - 1e-5])
    up = bytes_of(tokenizer, [token for token, advantage in row if advantage > plain + 1e-5])
    assert down.strip() == "\N{GRINNING FACE}".encode()
    assert up == "\N{COMBINING ACUTE ACCENT}".encode()


def bytes_of(tokenizer: Any, ids: list[int]) -> bytes:
    """The bytes that byte-level tokens stand for."""
    letters = {letter: byte for byte, letter in byte_letters().items()}
    return bytes(
        letters[letter] for token in tokenizer.convert_ids_to_tokens(ids) for letter in token
    )


def byte_letters() -> dict[int, str]:
    """GPT-2's printable letter for every byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(others)}


def test_a_failed_row_gets_advantage_zero_and_leaves_its_group(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["One star.", "A star.", "A square.", "A circle."]
    scores = {"One star.": None, "A star.": 0.2, "A square.": 0.4, "A circle.": 0.9}
    verdicts = {
        t: Verdict(s, Status.OK if s is not None else Status.TIMEOUT) for t, s in scores.items()
    }

    def length(completions: list[Any], **columns: Any) -> list[float]:
        return [1.0] * len(completions)

    trainer = make_trainer(tmp_path, dataset, [Scripted(verdicts), length], span_coef=0.0)
    output = advantages_of(trainer, dataset, texts * 2, monkeypatch)
    three = torch.tensor([1.2, 1.4, 1.9])
    expected = (three - three.mean()) / (three.std() + 1e-4)
    assert output["advantages"].tolist() == pytest.approx([0.0, *expected.tolist()] * 2, abs=1e-5)
    assert trainer._metrics["train"]["judge/failed_fraction"] == [0.25]


def test_too_many_failures_stop_the_run_in_one_sentence(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdicts = {"A star.": Verdict(None, Status.ERROR, note="the server is down")}
    trainer = make_trainer(tmp_path, dataset, [Scripted(verdicts)], max_failed_fraction=0.25)
    with pytest.raises(
        RuntimeError, match=r"100% .*max_failed_fraction is 25%.*the server is down"
    ):
        advantages_of(trainer, dataset, ["A star."] * 8, monkeypatch)


def test_completions_cut_by_the_length_limit_carry_no_span_credit(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "A red star."
    verdicts = {text: Verdict(0.5, spans=(Span(2, 10, 0.0, -1.0, "entity", "", 0),))}
    trainer = make_trainer(tmp_path, dataset, [Scripted(verdicts)], span_coef=1.0)
    output = advantages_of(trainer, dataset, [text] * 8, monkeypatch, end=False)
    assert output["advantages"].abs().max() == 0


def test_two_rewards_of_one_name_are_refused(tmp_path: Path, dataset: Dataset) -> None:
    with pytest.raises(ValueError, match=r"different names, got \['posh', 'posh'\]"):
        make_trainer(tmp_path, dataset, [PoshReward(MatchJudge()), PoshReward(MatchJudge())])


def test_span_credit_without_a_reward_that_gives_spans_is_refused(
    tmp_path: Path, dataset: Dataset
) -> None:
    def length(completions: list[Any], **columns: Any) -> list[float]:
        return [1.0] * len(completions)

    with pytest.raises(ValueError, match=r"span_coef=0.5 needs a reward"):
        make_trainer(tmp_path, dataset, [length], span_coef=0.5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"span_coef": -1.0}, "span_coef: Input should be greater than or equal to 0, got -1.0"),
        (
            {"max_failed_fraction": -0.1},
            "max_failed_fraction: Input should be greater than or equal to 0",
        ),
        (
            {"max_failed_fraction": 50},
            "max_failed_fraction: Input should be less than or equal to 1, got 50",
        ),
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(
    tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        SpanGRPOConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False, **settings)


def test_a_dataset_without_references_is_one_clear_error(tmp_path: Path, dataset: Dataset) -> None:
    with pytest.raises(ValueError, match=r"the dataset column 'reference'.*rename"):
        make_trainer(tmp_path, dataset.remove_columns("reference"), [PoshReward(MatchJudge())])
