"""A reward that compares the completions of a group, in TRL's own trainer and in ours."""

from pathlib import Path
from typing import Any

import pytest

from spanreward.rewards import PairwiseReward
from spanreward.training.grpo.config import SpanGRPOConfig
from spanreward.training.grpo.dynamic_sampling import DynamicSampling
from spanreward.training.grpo.preflight import check_parts
from spanreward.training.grpo.recorder import Recorder
from tests.support.pair_judges import PairJudge, better
from tests.support.tiny_trainer import COMMON, advantages_of, make_trainer, scenes

TEXTS = ["A red circle above a star.", "A circle is there.", "A red circle.", "Circle."]


@pytest.mark.parametrize("stock", [True, False])
def test_advantages_follow_the_comparisons_within_a_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stock: bool
) -> None:
    """Two groups of four, the second one's texts all longer: each is compared with its own siblings
    alone.
    """
    dataset = scenes()
    judge = PairJudge(better(len))
    trainer = make_trainer(tmp_path, dataset, [PairwiseReward(judge)], stock)
    texts = [*TEXTS, *(f"There it is. {text}" for text in TEXTS)]
    advantages = advantages_of(trainer, dataset, texts, monkeypatch)["advantages"].tolist()
    assert [len(call) for call in judge.asked] == [2 * 4 * 3]  # of each group twelve questions
    assert sorted(advantages[:4], reverse=True) == advantages[:4]  # the longer, the better
    # and not: everybody of the second group
    assert advantages[4:] == pytest.approx(advantages[:4], abs=0.3)


def test_a_judge_of_slots_teaches_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = scenes()
    trainer = make_trainer(tmp_path, dataset, [PairwiseReward(PairJudge(lambda probe: "A"))])
    texts = ["A red circle above a star."] * 2 + ["A blue circle below a star."] * 2
    advantages = advantages_of(trainer, dataset, texts * 2, monkeypatch)["advantages"]
    assert abs(advantages).max() < 1e-3
    (logged,) = trainer._metrics["train"]["pairwise/orders_disagree"]
    assert logged == pytest.approx(1.0)


CUT = "the 8 completions .* gets 4"


@pytest.mark.parametrize(
    ("settings", "ranks", "message"),
    [
        ({}, 2, rf"{CUT} \(per_device_train_batch_size x steps_per_generation\)"),
        ({}, 1, ""),
        ({"steps_per_generation": 2}, 2, ""),
        ({"eval": True, "steps_per_generation": 2}, 2, rf"{CUT} \(per_device_eval_batch_size\)"),
        ({"eval": True, "steps_per_generation": 2, "num_generations_eval": 2}, 2, ""),
    ],
)
def test_a_group_on_two_ranks_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, Any],
    ranks: int,
    message: str,
) -> None:
    """Each rank would rank its half by itself, and TRL would join the two scales: +1.23 for the
    fourth of eight in place of -.30.
    """
    monkeypatch.setattr(SpanGRPOConfig, "world_size", ranks)
    given = {"train_dataset": scenes()}
    if settings.pop("eval", False):
        given["eval_dataset"] = scenes(8)
    sizes = {
        "per_device_train_batch_size": 4,
        "per_device_eval_batch_size": 4,
        "num_generations": 8,
        "gradient_accumulation_steps": 2,
        "steps_per_generation": 1,
    }
    arguments = {**COMMON, **sizes, **settings}
    if ranks == 1:
        arguments["steps_per_generation"] = 2
    args = SpanGRPOConfig(str(tmp_path), **arguments)
    reward = PairwiseReward(PairJudge(better(len)))
    if message:
        with pytest.raises(ValueError, match=message):
            check_parts(args, [reward], [Recorder(reward)], given)
        against = PairwiseReward(PairJudge(better(len)), anchor="reference")
        check_parts(args, [against], [Recorder(against)], given)
    else:
        check_parts(args, [reward], [Recorder(reward)], given)


@pytest.mark.parametrize("recorded", [True, False])
def test_a_cut_group_is_refused_in_a_stock_trainer(
    monkeypatch: pytest.MonkeyPatch, recorded: bool
) -> None:
    """One process has six completions of one prompt and two of the next."""
    reward: Any = PairwiseReward(PairJudge(better(len)))
    if recorded:
        reward = Recorder(reward)
    dataset = scenes()
    rows = [dataset[row // 6] for row in range(8)]
    prompts = [row["prompt"] for row in rows]
    columns = {"image": [row["image"] for row in rows]}
    texts = [text * number for number in (1, 2) for text in TEXTS]
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match=r"pairwise compares .* 2 or 6 of one"):
        reward(prompts, texts, **columns)
    with pytest.raises(ValueError, match="has 1 of one"):
        reward(prompts[:1], texts[:1], image=columns["image"][:1])
    whole = [dataset[row // 4] for row in range(8)]
    images = [row["image"] for row in whole]
    scores = reward([row["prompt"] for row in whole], texts, image=images)
    assert None not in scores
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert None not in reward(prompts, texts, **columns)


def test_dynamic_sampling_drafts_whole_groups_for_it(tmp_path: Path) -> None:
    """Three groups of eight on two ranks would be twelve completions each."""
    args = SpanGRPOConfig(str(tmp_path), **{**COMMON, "num_generations": 8})
    for whole, rows in ((False, 12), (True, 16)):
        drafted: list[int] = []

        def draft(batch: list[Any], drafted: list[int] = drafted) -> list[list[Any]]:
            drafted.append(len(batch))
            return [[] for _ in range(2 * len(batch) // 8)]

        sampling = DynamicSampling(scenes(), args, whole_groups=whole)
        sampling.max_resamples = 1
        sampling.fill([{}] * 12, draft, 8, 0, 2)
        assert drafted == [12, rows]
