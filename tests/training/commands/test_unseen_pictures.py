"""A metric that needs to see, with a judge that cannot: every command refuses before it starts."""

import signal
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.support.command import Done, spanreward
from tests.support.files import write_lines
from tests.support.tiny_models import save_llama, save_llava
from tests.training.commands.test_train import train

BLIND = "the judge match reads text only, and the metric shows it pictures"
HARMONIC, POSH = f"harmonic: {BLIND}", f"posh: {BLIND}"
PICTURED = {"image": "a.png", "reference": "A dog."}
DESCRIBED = {"context": "A dog."}
COMMON = {"completion": "A dog.", "prompt": "What is it?", "mistakes": []}
FILES = {"seen": (PICTURED, PICTURED), "mixed": (DESCRIBED, PICTURED), "described": (DESCRIBED,)}
SCORE = "score {} --judge match --output out --input"
DATA = {"source": "jsonl", "path": "seen.jsonl"}
WORDS = {"metric": "posh", "judge": "match"}
LOOKING = {"metric": "posh", "judge": "match", "options": {"evidence": "both"}}
WATCHING = {"metric": "pairwise", "judge": "match", "options": {"anchor": "anchor"}}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Image.new("RGB", (8, 8), "red").save("a.png")
    for name, rows in FILES.items():
        lines = [{"id": f"row {n}", **COMMON, **row} for n, row in enumerate(rows)]
        write_lines(f"{name}.jsonl", lines)


def refused(done: Done, told: str) -> None:
    """In one sentence at the end, which names who sees nothing, and before anything is written."""
    assert done.code == 1
    assert told in done.err.strip().splitlines()[-1]
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (f"{SCORE.format('harmonic')} mixed.jsonl", f"spanreward score: {HARMONIC}"),
        # no words take a picture's place
        (f"{SCORE.format('posh')} seen.jsonl --set evidence=picture", POSH),
        ("labels spans seen.jsonl --set evidence=both", POSH),
        (
            "compare a=seen.jsonl b=seen.jsonl --data seen.jsonl --metric harmonic --output out",
            f"spanreward compare: {HARMONIC}",
        ),
        ("criteria write seen.jsonl --judge match --output out", "criteria: the judge match"),
    ],
)
def test_a_command_refuses(words: str, told: str) -> None:
    done = spanreward(*words.split())
    refused(done, told)
    assert ("evidence='context'" in done.err) == (POSH not in done.err)


@pytest.mark.parametrize(
    "words",
    [
        f"{SCORE.format('harmonic')} mixed.jsonl --set evidence=context",
        f"{SCORE.format('harmonic')} described.jsonl",  # without a picture there is nothing to see
        f"{SCORE.format('posh')} seen.jsonl",  # by default nothing is shown
    ],
)
def test_who_shows_no_picture_is_not_refused(words: str) -> None:
    assert BLIND not in spanreward(*words.split()).err
    assert Path("out").exists()


def test_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows come later: only who can do nothing without pictures is refused."""
    uvicorn = pytest.importorskip("uvicorn")
    pytest.importorskip("starlette")
    monkeypatch.setattr(uvicorn.Server, "run", lambda *_, **__: None)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    serve = ("serve", "harmonic", "--judge", "match", "--port", "0")
    done = spanreward(*serve, "--set", "task=reg")
    refused(done, f"spanreward serve: {HARMONIC}")
    assert "evidence" not in done.err  # a context names no object
    warned = spanreward(*serve)
    assert warned.code == 0
    assert warned.err.startswith("spanreward serve: rows with pictures")
    assert len(warned.err.splitlines()) == 1
    assert spanreward(*serve, "--set", "evidence=context").err == ""


def trained(*options: str, **changes: Any) -> Done:
    asked = {"data": DATA, "rewards": [{"metric": "harmonic", "judge": "match"}]}
    return train(Path(), *options, **{**asked, **changes})


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, f"the data row 1: {HARMONIC}"),
        ({"rewards": [LOOKING]}, f"the data row 1: {POSH}"),
        ({"rewards": [WORDS], "win_rate": WATCHING}, "pairwise: the judge match"),
    ],
)
def test_train(changes: Any, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("start_judges", "load_policy"):
        monkeypatch.setattr(f"spanreward.training.run.{name}", lambda *_: pytest.fail("started"))
    refused(trained(**changes), told)
    assert not Path("run").exists()


@pytest.mark.parametrize(("save", "code"), [(save_llama, 1), (save_llava, 0)])
def test_a_dry_run_asks_a_local_model_by_its_files(save: Any, code: int) -> None:
    save(Path("model"))
    asked = {"metric": "harmonic", "judge": f"transformers:{Path('model').resolve()}"}
    done = trained("--dry-run", rewards=[asked])
    assert done.code == code, done.err
    assert ("reads text only" in done.err) == bool(code)


def test_a_dry_run_says_what_only_reading_the_rows_tells() -> None:
    done = trained("--dry-run", data={"source": "hub", "id": "somebody/pictures"})
    assert done.code == 0, done.err
    assert f"refuses: {HARMONIC}" in " ".join(done.out.split())
