"""What checkpoints take on the disk: by hand, and beside what is free."""

import re
from collections import namedtuple
from typing import Any

import pytest

from spanreward.training.plan.disk import disk_here, kept_at_once
from spanreward.training.plan.needs import plan_of, read_launch, settings_of
from spanreward.training.recipe import load_recipe
from tests.support.paths import ROOT

Usage = namedtuple("Usage", "total used free")
LARGE = "qwen2.5-vl-7b/docent-posh-dapo.yaml", "zero3"
ADAPTER = "qwen2.5-vl-3b-lora/docent-posh-dapo.yaml", "one_gpu"


def found(monkeypatch: pytest.MonkeyPatch, which: tuple[str, str], free: float, *words: str) -> Any:
    monkeypatch.setattr(
        "spanreward.training.plan.disk.shutil.disk_usage", lambda path: Usage(0, 0, free)
    )
    recipe = load_recipe(ROOT / "recipes" / which[0], [*words, "output=/somewhere/not/there"])
    plan = plan_of(recipe, read_launch(str(ROOT / f"accelerate_configs/{which[1]}.yaml")))
    assert plan is not None
    return disk_here(recipe, plan, 500)


def test_all_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """8.29 billion parameters: 2 bytes of weights and 12 of optimizer, twice, and the policy."""
    large = found(monkeypatch, LARGE, 300e9)
    assert large.ok is True
    assert re.findall(r"\S+ GB", large.found) == ["116.1 GB", "248.8 GB", "300 GB"]
    assert "2 at once" in large.found
    little = found(monkeypatch, LARGE, 200e9)
    assert little.ok is False
    assert "trainer.save_only_model=true leaves 16.6 GB" in little.advice


def test_weights_alone_and_an_adapter_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = found(monkeypatch, LARGE, 200e9, "trainer.save_only_model=true")
    assert alone.found.startswith("16.6 GB a checkpoint (weights)")
    assert found(monkeypatch, LARGE, 200e9, "trainer.save_strategy='no'") is None
    assert float(found(monkeypatch, ADAPTER, 200e9).found.partition(" GB")[0]) < 1


@pytest.mark.parametrize(
    ("words", "steps", "kept"),
    [
        (["trainer.save_total_limit=3"], 500, 4),
        (["trainer.load_best_model_at_end=true"], 500, 3),  # the best and the last
        (["trainer.save_total_limit=null"], 500, 5),
        (["trainer.save_total_limit=null", "trainer.save_steps=0.1"], 500, 10),
        (["trainer.save_total_limit=null", "trainer.save_strategy=epoch"], 500, 1),
    ],
)
def test_how_many_lie_there_at_once(words: list[str], steps: int, kept: int) -> None:
    recipe = load_recipe(ROOT / "recipes" / LARGE[0], words)
    assert kept_at_once(settings_of(recipe), steps) == kept
