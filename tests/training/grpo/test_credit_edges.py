"""Which tokens span credit reaches, read off the trainer: a token's advantage less its row's."""

from collections.abc import Sequence
from typing import Any

import pytest

from spanreward.rewards import MatchJudge, PoshReward, Span, Status, Verdict
from tests.support.batches import batch_of, ids_of, score_ids
from tests.support.tiny_trainer import Scripted, make_trainer, scenes

RED, PLAIN, GREEN = "A red star.", "A blue star.", "A green star."
ATTRIBUTE = Span(2, 5, 0.0, -0.3, "attribute", "", 0)
ENTITY = Span(6, 10, 1.0, 0.1, "entity", "", 1)
Row = list[tuple[str, float]]  # tokens and their credit


@pytest.fixture(scope="module")
def trainers(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Any]:
    """By how many rewards they have, each given its verdicts by a test."""
    settings = {"span_coef": 1.0, "max_failed_fraction": 1.0, "max_completion_length": 64}
    made = {}
    for count in (1, 2):
        rewards = [Scripted({}, name=f"reward{number}") for number in range(count)]
        made[count] = make_trainer(tmp_path_factory.mktemp("out"), scenes(), rewards, **settings)
    return made


@pytest.fixture
def trainer(trainers: dict[int, Any]) -> Any:
    return trainers[1]


def row(trainer: Any, text: str) -> list[int]:
    return ids_of(trainer, [text])[0]


def credit_of(trainer: Any, ids: Sequence[Any], *verdicts: dict[str, Verdict]) -> list[Row]:
    """Of two groups of four completions, ids or texts; each reward has its verdicts by text."""
    for recorder, of_reward in zip(trainer.recorders, verdicts, strict=True):
        recorder.reward.verdicts = of_reward
    ids = [row(trainer, each) if isinstance(each, str) else each for each in ids]
    advantages = score_ids(trainer, ids)["advantages"]
    assert advantages.isfinite().all()
    decode = trainer.processing_class.tokenizer.decode
    rows = []
    scalars = trainer.recorders[0].advantages
    for tokens, values, scalar in zip(ids, advantages.tolist(), scalars, strict=True):
        pairs = zip(tokens, values, strict=False)
        rows.append([(decode([token]), value - scalar) for token, value in pairs])
    return rows


def reached(row: Row) -> list[str]:
    """The tokens whose advantage is another than that of the end token, which no span covers."""
    return [token for token, credit in row if abs(credit - row[-1][1]) > 1e-5]


def numbers(rows: Sequence[Row]) -> Any:
    return pytest.approx([credit for row in rows for _, credit in row], abs=1e-5)


ONE_RED = [RED, PLAIN, PLAIN, PLAIN] * 2
GOOD = Verdict(0.25, spans=(ATTRIBUTE, ENTITY))
VERDICTS = {RED: GOOD, PLAIN: Verdict(0.75)}


def test_token_advantages_are_the_scalar_plus_scaled_credit(trainer: Any) -> None:
    rows = credit_of(trainer, ONE_RED, VERDICTS)
    # mean 0.625 and sample deviation 0.25 of (0.25, 0.75, 0.75, 0.75)
    scalars = [value / (0.25 + 1e-4) for value in (-0.375, 0.125)]
    assert trainer.recorders[0].advantages[:2] == pytest.approx(scalars, rel=1e-5)
    # by hand in test_credit; the attribute's is below 0, the entity's as much above
    beyond = 0.3 - 0.0805714
    std = beyond + 1e-4  # of the covered tokens: mean 0
    assert [token for token, _ in rows[0]] == ["A", " red", " star", ".", "<eos>"]
    expected = [0.0, -beyond / std, beyond / std, 0.0, 0.0, *[0.0] * 15]
    assert [credit for each in rows[:4] for _, credit in each] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    "spans",
    [
        (Span(11, 20, 0.0, -0.5, "entity", "", 0), Span(500, 501, 1.0, 0.5, "entity", "", 1)),
        (),
        (Span(2, 5, 0.0, -0.5, "entity", "", 0),),  # one token: nothing to tell it apart from
    ],
    ids=["behind the text", "none", "a single token"],
)
def test_spans_that_reach_fewer_than_two_tokens_give_nothing(trainer: Any, spans: Any) -> None:
    rows = credit_of(trainer, ONE_RED, {**VERDICTS, RED: Verdict(0.25, spans=spans)})
    assert not any(map(reached, rows))


def test_cut_failed_and_other_rows_count_not(trainer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their spans are left out, and the other rows' credit is what it is without them."""
    wild = (Span(2, 5, 0.0, -50.0, "attribute", "", 0), Span(6, 10, 1.0, 70.0, "entity", "", 1))
    texts = [RED, RED, GREEN, PLAIN] * 2
    plain = credit_of(trainer, texts, {**VERDICTS, GREEN: Verdict(0.5)})

    cut = [RED, RED, row(trainer, GREEN)[:-1], PLAIN] * 2
    verdicts = {**VERDICTS, GREEN: Verdict(0.5, spans=wild)}
    rows = credit_of(trainer, cut, verdicts)
    assert rows[2] == [(token, 0.0) for token, _ in plain[2][:-1]]
    assert [credit for each in rows[:2] for _, credit in each] == numbers(plain[:2])

    failed = Verdict(None, Status.TIMEOUT, spans=wild)
    rows = credit_of(trainer, texts, {**VERDICTS, GREEN: failed})
    assert not reached(rows[2])
    assert [reached(each) for each in rows[:2]] == [reached(each) for each in plain[:2]]

    offsets = "spanreward.training.grpo.credit.token_offsets"
    monkeypatch.setattr(offsets, lambda tokenizer, special, ids, text: None)
    assert not any(map(reached, credit_of(trainer, texts, verdicts)))
    assert trainer._metrics["train"]["spans/unaligned_fraction"][-1] == 1.0


def test_credit_adds_up_by_weights(trainers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal scores, so that the rows' own advantages are the same whatever the weights."""
    swapped = (Span(2, 5, 1.0, 0.2, "attribute", "", 0), Span(6, 10, 0.0, -0.7, "entity", "", 1))
    other = (Span(2, 6, 0.0, -0.2, "attribute", "", 0), Span(7, 11, 1.0, 0.1, "entity", "", 1))
    first = {RED: GOOD, PLAIN: Verdict(0.75, spans=other)}
    second = {**VERDICTS, RED: Verdict(0.25, spans=swapped)}
    alone = []
    for verdicts in (first, second):
        rows = credit_of(trainers[1], ONE_RED, verdicts)
        alone.append([credit for each in rows for _, credit in each])
    both = trainers[2]
    for weights in ((1.0, 1.0), (0.5, 2.0), (1.0, 0.0), (0.0, 3.0)):
        monkeypatch.setattr(both, "reward_weights", both.reward_weights.new_tensor(weights))
        rows = credit_of(both, ONE_RED, first, second)
        together = [weights[0] * one + weights[1] * two for one, two in zip(*alone, strict=True)]
        assert [credit for each in rows for _, credit in each] == pytest.approx(together, abs=1e-4)


def test_the_coefficient_scales_credit(trainer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    once = credit_of(trainer, ONE_RED, VERDICTS)
    monkeypatch.setattr(trainer.args, "span_coef", 2.5)
    more = credit_of(trainer, ONE_RED, VERDICTS)
    scaled = [[(token, 2.5 * credit) for token, credit in each] for each in once]
    assert [credit for each in more for _, credit in each] == numbers(scaled)


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
