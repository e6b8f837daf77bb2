"""A launch and a recipe that compute in different precisions are one sentence, before any work."""

import logging
from typing import Any

import pytest

from spanreward.training.before_loading import faults_of
from spanreward.training.precision import DEEPSPEED_VARIABLE, PRECISION_VARIABLE, check_precision
from spanreward.training.recipe import RecipeError, load_recipe
from tests.support.paths import ROOT

DAPO = ROOT / "recipes/quickstart/scenes-dapo.yaml"


def check(monkeypatch: pytest.MonkeyPatch, launched: str, deepspeed: bool, *words: str) -> None:
    monkeypatch.setenv(PRECISION_VARIABLE, launched)
    monkeypatch.setenv(DEEPSPEED_VARIABLE, str(deepspeed).lower())
    check_precision(load_recipe(DAPO, words))


@pytest.mark.parametrize(
    ("launched", "word"),
    [
        ("bf16", "trainer.bf16=true"),
        ("bf16", "trainer.bf16=null"),  # TRL's default
        ("fp16", "trainer.fp16=true"),
        ("no", "trainer.bf16=false"),
        ("no", "trainer.bf16=true"),
    ],
)
@pytest.mark.parametrize("deepspeed", [True, False])
def test_what_fits_passes(
    launched: str, word: str, deepspeed: bool, monkeypatch: Any, caplog: Any
) -> None:
    check(monkeypatch, launched, deepspeed, word)
    assert not caplog.records


def test_deepspeed_takes_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RecipeError, match=r"fp16 .* bf16, .* --mixed_precision fp16, "):
        check(monkeypatch, "bf16", True, "trainer.fp16=true", "trainer.bf16=false")
    with pytest.raises(RecipeError, match=r"float32 .* bf16, .* --mixed_precision no, "):
        check(monkeypatch, "bf16", True, "trainer.bf16=false")
    (fault,) = faults_of(load_recipe(DAPO, ["trainer.bf16=false"]), 1)
    assert fault[0] == "trainer"
    assert "--mixed_precision no" in fault[1]


def test_others_take_the_launchs_and_say_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        check(monkeypatch, "bf16", False, "trainer.bf16=false")
    assert caplog.text.count("mixed_precision bf16 is used") == 1
