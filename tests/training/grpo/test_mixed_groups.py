"""A step whose group has completions of two rows is refused, whoever rewards them."""

from collections.abc import Sequence
from pathlib import Path
from random import random
from typing import Any

import pytest

from spanreward.training.ranks.groups import MixedGroup
from tests.support.tiny_trainer import Scored, make_trainer, scenes


def constant(prompts: Sequence[Any], **columns: Any) -> list[float]:
    return [0.5] * len(prompts)


@pytest.mark.parametrize("reward", [Scored(lambda sample: 0.5), constant], ids=["ours", "own"])
def test_a_group_of_two_rows_is_refused(reward: Any, tmp_path: Path) -> None:
    data = scenes(8)
    trainer = make_trainer(tmp_path, data, [reward])
    trainer.model.train()
    trainer._generate_and_score_completions([data[row] for row in (0, 0, 0, 0, 1, 1, 1, 1)])
    with pytest.raises(MixedGroup) as error:
        trainer._generate_and_score_completions([data[row] for row in (0, 0, 0, 0, 1, 1, 2, 2)])
    message = str(error.value)
    assert message.startswith("group 2 of this")
    assert "What is in picture 1" in message
    assert "What is in picture 2" in message


def test_rows_of_one_prompt_and_two_references_are_two_rows(tmp_path: Path) -> None:
    data = scenes(8).remove_columns("image")
    trainer = make_trainer(tmp_path, data, [Scored(lambda sample: 0.5)])
    row, other = data[0], data[1]
    assert len(set(trainer._marks_of([row, {**other, "prompt": row["prompt"]}]))) == 2
    assert len(set(trainer._marks_of([row, data[0]]))) == 1


def test_what_a_transform_makes_by_chance_is_one_row_by_its_prompt(tmp_path: Path) -> None:
    def cropped(batch: dict[str, Any]) -> dict[str, Any]:
        return {**batch, "corner": [random() for _ in batch["prompt"]]}

    data = scenes(8).remove_columns("image").with_transform(cropped)
    trainer = make_trainer(tmp_path, data, [Scored(lambda sample: 0.5)])
    assert len(set(trainer._marks_of([data[0], data[0]]))) == 1
    assert len(set(trainer._marks_of([data[0], data[1]]))) == 2
