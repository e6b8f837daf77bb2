"""Every DAPO recipe makes several updates with one batch of completions, so that its clipping acts."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from spanreward import Reward, Sample, Verdict
from spanreward.training.recipe import load_recipe
from spanreward.training.run import build_trainer
from tests.support.shrunk_recipes import RECIPES, shrunk, updates_of

DAPO = [path for path in RECIPES if "algorithm: dapo" in path.read_text()]


class OfText(Reward):
    """A score that differs from text to text: a random policy writes none that a metric likes."""

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        digests = [hashlib.sha256(sample.completion.encode()).digest() for sample in samples]
        return [Verdict(digest[0] / 255) for digest in digests]


@pytest.mark.parametrize("path", DAPO, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_clipping_acts(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    overrides = shrunk(path, folder)
    overrides.append("trainer.mask_truncated_completions=false")  # a random policy finds no end
    overrides += ["trainer.learning_rate=0.05", "trainer.warmup_steps=0"]
    recipe = load_recipe(path, overrides)
    updates = updates_of(recipe)
    assert updates > 1
    assert recipe.trainer["logging_steps"] == updates  # a line a batch, which has all keys
    for name in ("save_steps", "eval_steps"):
        assert recipe.trainer.get(name, updates) % updates == 0
    rewards = [OfText(f"of_text_{number}") for number in range(len(recipe.rewards))]
    trainer = build_trainer(recipe, rewards)
    trainer.train()
    lines = [line for line in trainer.state.log_history if "clip_ratio/region_mean" in line]
    assert len(lines) == 2
    assert any(line["clip_ratio/region_mean"] > 0 for line in lines)
