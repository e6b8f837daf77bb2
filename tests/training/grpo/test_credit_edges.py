"""What holds of span credit whatever its rule is: which tokens it reaches, and that it reaches no
others.

Credit is read off the trainer: a token's advantage less its row's.
"""

from collections.abc import Sequence
from typing import Any

import pytest
from datasets import Dataset

from experiments.scenes.parts import scenes_part
from spanreward.rewards import Span, Status, Verdict
from spanreward.training.data.load import load_data
from tests.support.tiny_trainer import Scripted, make_trainer

RED, PLAIN = "A red star.", "A blue star."
TOKENS = ["A", " red", " star", ".", "<eos>"]
EOS = 1
ATTRIBUTE = Span(2, 5, 0.0, -0.3, "attribute", "", 0)
ENTITY = Span(6, 10, 1.0, 0.1, "entity", "", 1)
Row = list[tuple[str, float]]  # tokens and their credit


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load_data(scenes_part(count=16))


@pytest.fixture(scope="module")
def trainers(tmp_path_factory: pytest.TempPathFactory, dataset: Dataset) -> dict[int, Any]:
    """By how many rewards they have, each given its verdicts by a test."""
    return {
        count: make_trainer(
            tmp_path_factory.mktemp("out"),
            dataset,
            [Scripted({}, name=f"reward{number}") for number in range(count)],
            span_coef=1.0,
            max_failed_fraction=1.0,
            max_completion_length=64,
        )
        for count in (1, 2)
    }


def ids_of(trainer: Any, text: str) -> list[int]:
    return [*trainer.processing_class.tokenizer(text)["input_ids"], EOS]


def credit_of(
    trainer: Any,
    dataset: Dataset,
    monkeypatch: pytest.MonkeyPatch,
    ids: Sequence[list[int]],
    *verdicts: dict[str, Verdict],
) -> list[Row]:
    """Of two groups of four completions, of which each reward has its verdicts by text."""
    for recorder, of_reward in zip(trainer.recorders, verdicts, strict=True):
        recorder.reward.verdicts = of_reward
    monkeypatch.setattr(trainer, "_generate_single_turn", lambda *_, **__: (list(ids), None))
    trainer.model.train()
    output = trainer._generate_and_score_completions(
        [dataset[i * 2 // len(ids)] for i in range(len(ids))]
    )
    assert output["advantages"].isfinite().all()
    decode = trainer.processing_class.tokenizer.decode
    return [
        [(decode([token]), value - scalar) for token, value in zip(row, values, strict=False)]
        for row, values, scalar in zip(
            ids, output["advantages"].tolist(), trainer.recorders[0].advantages, strict=True
        )
    ]


def reached(row: Row) -> list[str]:
    """The tokens whose advantage is another than that of the end token, which no span covers."""
    return [token for token, credit in row if abs(credit - row[-1][1]) > 1e-5]


def test_credit_reaches_the_words_of_the_spans_and_nothing_else(
    trainers: dict[int, Any], dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [ids_of(trainers[1], text) for text in [RED, PLAIN, PLAIN, PLAIN] * 2]
    verdicts = {RED: Verdict(0.25, spans=(ATTRIBUTE, ENTITY)), PLAIN: Verdict(0.75)}
    rows = credit_of(trainers[1], dataset, monkeypatch, ids, verdicts)
    assert [token for token, _ in rows[0]] == TOKENS
    assert set(reached(rows[0])) <= {" red", " star"}
    assert reached(rows[0])
    assert not any(map(reached, rows[1:4]))


def test_a_wrong_word_gets_less_than_a_right_one(
    trainers: dict[int, Any], dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [ids_of(trainers[1], text) for text in [RED, PLAIN, PLAIN, PLAIN] * 2]
    verdicts = {RED: Verdict(0.25, spans=(ATTRIBUTE, ENTITY)), PLAIN: Verdict(0.75)}
    credit = dict(credit_of(trainers[1], dataset, monkeypatch, ids, verdicts)[0])
    assert credit[" red"] < credit[" star"]


@pytest.mark.parametrize(
    "spans",
    [
        (Span(11, 20, 0.0, -0.5, "entity", "", 0), Span(500, 501, 1.0, 0.5, "entity", "", 1)),
        (),
        (Span(2, 5, 0.0, -0.5, "entity", "", 0),),  # one token: nothing to tell it apart from
    ],
    ids=["behind the text", "none", "a single token"],
)
def test_spans_that_reach_fewer_than_two_tokens_give_nothing(
    trainers: dict[int, Any], dataset: Dataset, monkeypatch: pytest.MonkeyPatch, spans: Any
) -> None:
    ids = [ids_of(trainers[1], text) for text in [RED, PLAIN, PLAIN, PLAIN] * 2]
    rows = credit_of(
        trainers[1],
        dataset,
        monkeypatch,
        ids,
        {RED: Verdict(0.25, spans=spans), PLAIN: Verdict(0.75)},
    )
    assert not any(map(reached, rows))


def test_the_whole_text_is_all_its_words_and_not_its_end(
    trainers: dict[int, Any], dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Span(0, len(RED), 0.0, -0.8, "answer", "", 0)
    good = Span(0, len(PLAIN), 1.0, 0.8, "answer", "", 0)
    ids = [ids_of(trainers[1], text) for text in [RED, PLAIN, PLAIN, PLAIN] * 2]
    verdicts = {RED: Verdict(0.25, spans=(whole,)), PLAIN: Verdict(0.75, spans=(good,))}
    rows = credit_of(trainers[1], dataset, monkeypatch, ids, verdicts)
    for row in rows:
        assert reached(row) in ([], [token for token, _ in row[:-1]])
    assert any(map(reached, rows))


def test_special_tokens_in_a_span_get_nothing(
    trainers: dict[int, Any], dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, red, star, dot, end = ids_of(trainers[1], RED)
    user = 3
    ids = [[a, user, red, user, star, dot, end], *[ids_of(trainers[1], PLAIN)] * 3] * 2
    spans = (Span(0, 5, 0.0, -0.4, "attribute", "", 0), Span(6, 11, 1.0, 0.3, "entity", "", 1))
    rows = credit_of(
        trainers[1],
        dataset,
        monkeypatch,
        ids,
        {RED: Verdict(0.25, spans=spans), PLAIN: Verdict(0.75)},
    )
    assert set(reached(rows[0])) <= {"A", " red", " star", "."}
    assert reached(rows[0])


def test_rows_that_are_cut_failed_or_another_text_count_for_nobody(
    trainers: dict[int, Any], dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their spans are left out, and the other rows' credit is what it is without them."""
    trainer = trainers[1]
    other = "A green star."
    wild = (Span(2, 5, 0.0, -50.0, "attribute", "", 0), Span(6, 10, 1.0, 70.0, "entity", "", 1))
    good = Verdict(0.25, spans=(ATTRIBUTE, ENTITY))
    ids = [ids_of(trainer, text) for text in [RED, RED, other, PLAIN] * 2]
    verdicts = {RED: good, PLAIN: Verdict(0.75)}
    plain = credit_of(trainer, dataset, monkeypatch, ids, {**verdicts, other: Verdict(0.5)})

    cut = [
        row[:-1] if trainer.processing_class.tokenizer.decode(row[1]) == " green" else row
        for row in ids
    ]
    rows = credit_of(
        trainer, dataset, monkeypatch, cut, {**verdicts, other: Verdict(0.5, spans=wild)}
    )
    assert rows[2] == [(token, 0.0) for token, _ in plain[2][:-1]]
    assert [credit for row in rows[:2] for _, credit in row] == pytest.approx(
        [credit for row in plain[:2] for _, credit in row], abs=1e-5
    )

    failed = Verdict(None, Status.TIMEOUT, spans=wild)
    rows = credit_of(trainer, dataset, monkeypatch, ids, {**verdicts, other: failed})
    assert not reached(rows[2])
    assert [reached(row) for row in rows[:2]] == [reached(row) for row in plain[:2]]

    monkeypatch.setattr(
        "spanreward.training.grpo.credit.token_offsets", lambda tokenizer, special, row, text: None
    )
    rows = credit_of(
        trainer, dataset, monkeypatch, ids, {**verdicts, other: Verdict(0.5, spans=wild)}
    )
    assert not any(map(reached, rows))
    assert trainer._metrics["train"]["spans/unaligned_fraction"][-1] == 1.0


def test_the_credit_of_several_rewards_adds_up_by_their_weights(
    trainers: dict[int, Any], dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal scores, so that the rows' own advantages are the same whatever the weights."""
    ids = [ids_of(trainers[1], text) for text in [RED, PLAIN, PLAIN, PLAIN] * 2]
    swapped = (Span(2, 5, 1.0, 0.2, "attribute", "", 0), Span(6, 10, 0.0, -0.7, "entity", "", 1))
    other = (Span(2, 6, 0.0, -0.2, "attribute", "", 0), Span(7, 11, 1.0, 0.1, "entity", "", 1))
    first = {RED: Verdict(0.25, spans=(ATTRIBUTE, ENTITY)), PLAIN: Verdict(0.75, spans=other)}
    second = {RED: Verdict(0.25, spans=swapped), PLAIN: Verdict(0.75)}
    alone = [
        [
            credit
            for row in credit_of(trainers[1], dataset, monkeypatch, ids, verdicts)
            for _, credit in row
        ]
        for verdicts in (first, second)
    ]
    for weights in ((1.0, 1.0), (0.5, 2.0), (1.0, 0.0), (0.0, 3.0)):
        monkeypatch.setattr(
            trainers[2], "reward_weights", trainers[2].reward_weights.new_tensor(weights)
        )
        rows = credit_of(trainers[2], dataset, monkeypatch, ids, first, second)
        together = [weights[0] * one + weights[1] * two for one, two in zip(*alone, strict=True)]
        assert [credit for row in rows for _, credit in row] == pytest.approx(together, abs=1e-4)


def test_the_coefficient_scales_credit(
    trainers: dict[int, Any], dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [ids_of(trainers[1], text) for text in [RED, PLAIN, PLAIN, PLAIN] * 2]
    verdicts = {RED: Verdict(0.25, spans=(ATTRIBUTE, ENTITY)), PLAIN: Verdict(0.75)}
    once = credit_of(trainers[1], dataset, monkeypatch, ids, verdicts)
    monkeypatch.setattr(trainers[1].args, "span_coef", 2.5)
    more = credit_of(trainers[1], dataset, monkeypatch, ids, verdicts)
    assert [credit for row in more for _, credit in row] == pytest.approx(
        [2.5 * credit for row in once for _, credit in row], abs=1e-5
    )


def test_credit_knows_no_order(
    trainers: dict[int, Any], dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same rows in another order within their groups have the same credit."""
    trainer = trainers[1]
    other = "A green star."
    spans = (Span(2, 7, 0.0, -0.2, "attribute", "", 0), Span(8, 12, 1.0, 0.4, "entity", "", 1))
    verdicts = {
        RED: Verdict(0.25, spans=(ATTRIBUTE, ENTITY)),
        other: Verdict(0.5, spans=spans),
        PLAIN: Verdict(0.75),
    }
    ids = [ids_of(trainer, text) for text in (RED, other, PLAIN, PLAIN, RED, RED, PLAIN, other)]
    rows = credit_of(trainer, dataset, monkeypatch, ids, verdicts)
    order = [3, 1, 0, 2, 6, 5, 7, 4]
    permuted = credit_of(trainer, dataset, monkeypatch, [ids[i] for i in order], verdicts)
    for place, i in enumerate(order):
        assert [credit for _, credit in permuted[place]] == pytest.approx(
            [credit for _, credit in rows[i]], abs=1e-5
        )
