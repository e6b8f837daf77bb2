"""A step whose group has completions of two rows is refused, whoever rewards them."""

from collections.abc import Sequence
from random import random
from typing import Any

import pytest

from spanreward.training.ranks.groups import MixedGroup
from tests.support.batches import ids_of, score_ids
from tests.support.tiny_trainer import Scored, scenes


def constant(prompts: Sequence[Any], **columns: Any) -> list[float]:
    return [0.5] * len(prompts)


@pytest.mark.parametrize("reward", [Scored(lambda sample: 0.5), constant], ids=["ours", "own"])
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
