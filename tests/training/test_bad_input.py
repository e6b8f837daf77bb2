"""What a user gets wrong, told in one sentence before anything is loaded; the rest of issue 6's
table is tested beside what refuses it.
"""

from pathlib import Path

import pytest

from spanreward.training.recipe import RecipeError, load_recipe
from spanreward.training.run import build_trainer

DAPO = "recipes/quickstart/scenes-dapo.yaml"


@pytest.mark.parametrize("size", [3, 7, 1000])
def test_a_group_size_that_does_not_divide_the_batch(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "spanreward.training.run.load_policy", lambda *_: pytest.fail("the policy was loaded")
    )
    batch = [
        "trainer.per_device_train_batch_size=8",
        "trainer.steps_per_generation=1",
        "trainer.num_iterations=1",
    ]
    recipe = load_recipe(DAPO, [f"output={tmp_path}", f"trainer.num_generations={size}", *batch])
    with pytest.raises(
        RecipeError,
        match=rf"generation_batch_size \(8\) must be divisible by num_generations \({size}\)",
    ) as error:
        build_trainer(recipe, [])
    assert "\n" not in str(error.value)
