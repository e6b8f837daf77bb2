"""No number that is not finite reaches the weights; a step without a score is no step."""

import logging
import math
import re
from collections.abc import Callable
from random import random
from typing import Any

import pytest
from datasets import Dataset

from spanreward import PoshReward, RewardHealthCallback, Span, Verdict, reward
from spanreward.rewards.base.verdict import Sample, Status
from spanreward.rewards.reward.reward import summarise
from spanreward.training.grpo.recorder import Recorder
from spanreward.training.grpo.trainer import JudgeFailure, NothingScored
from spanreward.training.ranks.groups import MixedGroup
from tests.support.batches import batch_of, ids_of, score_ids, weights_of
from tests.support.tiny_trainer import Scored, scenes

INF = math.inf
TEXTS = ["A red circle.", "A blue star.", "A green square.", "A large hexagon."] * 2


def by_text(sample: Sample) -> float:
    return TEXTS.index(sample.completion) / 10 if sample.completion in TEXTS else 0.5


def huge(place: int, value: float = math.inf) -> Callable[..., list[float]]:
    """A reward function of a user's own that returns a huge number for one completion."""
    return lambda completions, **columns: [
        value if n == place else 0.1 * n for n in range(len(completions))
    ]


@pytest.mark.parametrize("span_coef", [0.0, 0.5])
def test_a_row_that_is_not_finite_is_dropped_and_counted(make: Any, span_coef: float) -> None:
    spans = (Span(0, 1, 0.5, 0.3, "entity", "", 0), Span(2, 5, 0.5, -0.3, "entity", "", 1))
    reward = Scored(lambda sample: Verdict(by_text(sample), spans=spans))
    trainer = make(reward, huge(1), span_coef=span_coef, max_failed_fraction=0.5)
    advantages = batch_of(trainer, TEXTS)["advantages"]
    assert advantages.isfinite().all()
    assert advantages.reshape(8, -1).any(dim=1).tolist() == [True, False, *[True] * 6]
    assert trainer._metrics["train"]["advantages/unusable_fraction"] == [1 / 8]
    trainer = make(reward, huge(1), span_coef=span_coef, max_failed_fraction=0.1)
    with pytest.raises(JudgeFailure, match=r"12% of .* not finite .* is 10%\)"):
        batch_of(trainer, TEXTS)


def test_a_step_whose_every_reward_is_huge_says_so(make: Any) -> None:
    everything = lambda completions, **_: [math.inf] * len(completions)  # noqa: E731
    with pytest.raises(JudgeFailure, match=r"100% of .* a reward or an advantage"):
        batch_of(make(Scored(by_text), everything), TEXTS)


@pytest.mark.parametrize(
    ("value", "scale"),
    [
        (INF, "none"),
        (-INF, "none"),
        (1e300, "none"),
        (1e38, "none"),
        (INF, "group"),
        (1e38, "batch"),
    ],
)
def test_the_weights_stay_where_they_belong(make: Any, value: float, scale: str) -> None:
    settings = {"max_failed_fraction": 1.0, "scale_rewards": scale, "max_grad_norm": 0.0}
    trainer = make(Scored(by_text), huge(1, value), **settings)
    before = weights_of(trainer)
    trainer.train()
    changes = (weights_of(trainer) - before).abs()
    assert 0 < changes.max() < 0.01  # two steps of Adam at 1e-3
    assert all(line["grad_norm"] < 10 for line in trainer.state.log_history if "grad_norm" in line)


def unreferenced(empty: list[str]) -> Dataset:
    return scenes().remove_columns("reference").add_column("reference", [empty] * 16)


@pytest.mark.parametrize(("empty", "dynamic"), [([], False), ([""], True), ([" \n"], False)])
def test_a_step_in_which_nothing_is_scored_stops(
    make: Any, empty: list[str], dynamic: bool
) -> None:
    data = unreferenced(empty)
    trainer = make(PoshReward("match"), data=data, span_coef=0.5, dynamic_sampling=dynamic)
    said = r"step's 8 completions .*: posh, .* 'reference', says 'no reference .*fill the column"
    with pytest.raises(NothingScored, match=said):
        trainer.train()
    assert trainer.state.global_step == 0


NOTHING = Scored(lambda sample: Verdict(None, Status.NOT_APPLICABLE, note="no column"))


def test_a_step_with_a_score_goes_on(make: Any) -> None:
    """One scored row is enough; a judge that failed everywhere, or an evaluation, needs none."""
    only_one = lambda completions, **_: [0.5] + [None] * (len(completions) - 1)  # noqa: E731
    batch_of(make(NOTHING, only_one), TEXTS)
    failing = Scored(lambda sample: Verdict(None, Status.ERROR, note="gone"))
    batch_of(make(failing, max_failed_fraction=1.0), TEXTS)
    trainer = make(NOTHING)
    ids = ids_of(trainer, TEXTS)
    trainer._generate_single_turn = lambda *args, **kwargs: (ids, None)
    trainer.model.eval()
    trainer._generate_and_score_completions([trainer.train_dataset[0]] * 8)


def test_a_punishment_of_lengths_is_no_score(make: Any) -> None:
    with pytest.raises(NothingScored, match=r"scored, .*, says 'no column'"):
        batch_of(make(NOTHING, soft_overlong_cache=8), TEXTS)


def test_with_stock_trl_the_health_callback_stops(make: Any) -> None:
    reward = Recorder(PoshReward("match"))
    health = RewardHealthCallback([reward])
    trainer = make(reward, data=unreferenced([]), stock=True, callbacks=[health])
    trainer.train()
    assert trainer.state.global_step == 1
    assert "no completion of the batch" in health.stopped
    assert "posh, which reads 'reference'" in health.stopped


def test_the_causes_are_shares() -> None:
    unscored = [status for status in Status if status not in (Status.OK, Status.EMPTY)]
    verdicts: list[Any] = [Verdict(0.5), Verdict(0.0, Status.EMPTY)]
    verdicts += [Verdict(None, status) for status in (*unscored, *[Status.TIMEOUT] * 2)]
    assert summarise(verdicts) == {
        "failed_fraction": 5 / 8,
        "empty_fraction": 1 / 8,
        "unscored_fraction/not_applicable": 1 / 8,
        "unscored_fraction/unparsed": 1 / 8,
        "unscored_fraction/timeout": 3 / 8,
        "unscored_fraction/error": 1 / 8,
    }


@pytest.mark.parametrize("recorded", [False, True])
def test_a_typo_in_a_reward_is_named_in_trls_own_trainer(
    make: Any, caplog: pytest.LogCaptureFixture, recorded: bool
) -> None:
    @reward(name="boom")
    def boom(sample: Sample) -> float:
        return len(sample.completions)  # type: ignore[attr-defined]

    def lengths(completions: list[object], **_: object) -> list[float]:
        return [float(number) for number in range(len(completions))]

    asked = Recorder(boom) if recorded else boom
    trainer = make(asked, lengths, stock=True, max_steps=2)
    caplog.set_level(logging.WARNING)
    trainer.train()
    ours = [record.getMessage() for record in caplog.records if "boom" in record.getMessage()]
    assert len(ours) == 2
    assert "AttributeError: 'Sample'" in ours[0]
    assert re.match("boom .* 8 of 8 completions", ours[1])


@pytest.mark.parametrize("reward", [Scored(lambda sample: 0.5), huge(8)], ids=["ours", "own"])
def test_a_group_of_two_rows_is_refused(reward: Any, make: Any) -> None:
    trainer = make(reward)
    ids = ids_of(trainer, ["A star."] * 8)
    score_ids(trainer, ids, [0, 0, 0, 0, 1, 1, 1, 1])
    with pytest.raises(MixedGroup, match=r"^group 2 .* picture 1.* picture 2"):
        score_ids(trainer, ids, [0, 0, 0, 0, 1, 1, 2, 2])


def test_what_a_transform_makes_by_chance_is_one_row_by_its_prompt(make: Any) -> None:
    def cropped(batch: dict[str, Any]) -> dict[str, Any]:
        return {**batch, "corner": [random() for _ in batch["prompt"]]}

    data = scenes(8).remove_columns("image").with_transform(cropped)
    trainer = make(Scored(lambda sample: 0.5), data=data)
    assert len(set(trainer._marks_of([data[0], data[0]]))) == 1
    assert len(set(trainer._marks_of([data[0], data[1]]))) == 2
