"""A reward that compares the completions of a group, in TRL's own trainer and in ours."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from spanreward.rewards import PairwiseReward
from spanreward.training.grpo.config import SpanGRPOConfig
from spanreward.training.grpo.dynamic_sampling import DynamicSampling
from spanreward.training.grpo.preflight import check_parts
from spanreward.training.grpo.recorder import Recorder
from tests.support.batches import batch_of, config_of
from tests.support.pair_judges import PairJudge, better
from tests.support.tiny_trainer import scenes

TEXTS = ["A red circle above a star.", "A circle is there.", "A red circle.", "Circle."]


@pytest.mark.parametrize("stock", [True, False])
def test_advantages_follow_the_comparisons_within_a_group(make: Any, stock: bool) -> None:
    """The second group's texts are all longer: each is compared with its siblings alone."""
    judge = PairJudge(better(len))
    trainer = make(PairwiseReward(judge), stock=stock)
    texts = [*TEXTS, *(f"There it is. {text}" for text in TEXTS)]
    advantages = batch_of(trainer, texts)["advantages"].tolist()
    assert [len(call) for call in judge.asked] == [2 * 4 * 3]  # of each group twelve questions
    assert sorted(advantages[:4], reverse=True) == advantages[:4]  # the longer, the better
    # and not: everybody of the second group
    assert advantages[4:] == pytest.approx(advantages[:4], abs=0.3)


CUT = "the 8 completions .* gets 4"
WHOLE = {"steps_per_generation": 2}


@pytest.mark.parametrize(
    ("settings", "ranks", "message"),
    [
        ({}, 2, rf"{CUT} \(per_device_train_batch_size x steps_per_generation\)"),
        (WHOLE, 1, ""),
        (WHOLE, 2, ""),
        ({"eval": True, **WHOLE}, 2, rf"{CUT} \(per_device_eval_batch_size\)"),
        ({"eval": True, **WHOLE, "num_generations_eval": 2}, 2, ""),
    ],
)
def test_a_group_on_two_ranks_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any, ranks: int, message: str
) -> None:
    """Each rank would rank its half: +1.23 for the fourth of eight in place of -.30."""
    monkeypatch.setattr(SpanGRPOConfig, "world_size", ranks)
    given = {"train_dataset": scenes()}
    if settings.pop("eval", False):
        given["eval_dataset"] = scenes(8)
    sizes = {"per_device_train_batch_size": 4, "per_device_eval_batch_size": 4}
    sizes |= {"num_generations": 8, "gradient_accumulation_steps": 2, "steps_per_generation": 1}
    args = config_of(tmp_path, **{**sizes, **settings})
    reward = PairwiseReward(PairJudge(better(len)))
    with pytest.raises(ValueError, match=message) if message else nullcontext():
        check_parts(args, [reward], [Recorder(reward)], given)
    against = PairwiseReward(PairJudge(better(len)), anchor="reference")
    check_parts(args, [against], [Recorder(against)], given)


@pytest.mark.parametrize("recorded", [True, False])
def test_a_cut_group_in_a_stock_trainer(monkeypatch: pytest.MonkeyPatch, recorded: bool) -> None:
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
    args = config_of(tmp_path, num_generations=8)
    for whole, rows in ((False, 12), (True, 16)):
        drafted: list[int] = []

        def draft(batch: list[Any], drafted: list[int] = drafted) -> list[list[Any]]:
            drafted.append(len(batch))
            return [[] for _ in range(2 * len(batch) // 8)]

        sampling = DynamicSampling(scenes(), args, whole_groups=whole)
        sampling.max_resamples = 1
        sampling.fill([{}] * 12, draft, 8, 0, 2)
        assert drafted == [12, rows]
