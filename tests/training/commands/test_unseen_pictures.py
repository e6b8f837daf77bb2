"""A metric that needs to see, with a judge that cannot: every command refuses before it starts."""

import signal
from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

from tests.support.command import Done, spanreward
from tests.support.comparing import write_lines
from tests.support.tiny_models import save_llama, save_llava

TOLD = "harmonic: the judge match reads text only, and the metric shows it pictures"
TRAINER = {"use_cpu": True, "bf16": False, "per_device_train_batch_size": 2, "num_generations": 2}
PICTURED = {"image": "a.png", "reference": "A dog.", "prompt": "What is it?"}
DESCRIBED = {"context": "A dog.", "prompt": "What is it?"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Image.new("RGB", (8, 8), "red").save(tmp_path / "a.png")
    return tmp_path


def write(path: Path, *rows: dict[str, Any]) -> Path:
    common = {"completion": "A dog."}
    return write_lines(path, [{"id": f"row {n}", **common, **row} for n, row in enumerate(rows)])


def refused(done: Done, told: str, output: Path | None = None) -> None:
    """In one sentence at the end, which names who sees nothing, and before anything is written."""
    assert done.code == 1
    assert told in done.err.strip().splitlines()[-1]
    assert output is None or not output.exists()


def test_score(folder: Path) -> None:
    rows = write(folder / "rows.jsonl", DESCRIBED, PICTURED)
    words = ("score", "harmonic", "--judge", "match", "--input", rows)
    done = spanreward(*words, "--output", folder / "out.jsonl")
    refused(done, f"spanreward score: {TOLD}", folder / "out.jsonl")
    assert "evidence='context'" in done.err
    seen = spanreward(*words, "--output", folder / "b.jsonl", "--set", "evidence=context")
    assert TOLD not in seen.err
    assert (folder / "b.jsonl").exists()
    write(rows, DESCRIBED)  # without a picture there is nothing to see
    assert TOLD not in spanreward(*words, "--output", folder / "c.jsonl").err


def test_posh_that_looks_at_pictures(folder: Path) -> None:
    """No words take a picture's place, so a row without one is no way out."""
    rows = write(folder / "rows.jsonl", PICTURED, PICTURED)
    looking = {"metric": "posh", "judge": "match", "options": {"evidence": "both"}}
    told = TOLD.replace("harmonic", "posh")
    words = ("score", "posh", "--judge", "match", "--input", rows, "--output", folder / "a.jsonl")
    refused(spanreward(*words, "--set", "evidence=picture"), told)
    assert spanreward(*words).code == 0  # by default nothing is shown
    path = recipe(folder, rows, rewards=[looking])
    for dry in (["--dry-run"], []):
        refused(spanreward("train", path, *dry), f"the data row 1: {told}")
    labels = write(folder / "labels.jsonl", {**PICTURED, "mistakes": []})
    refused(spanreward("labels", "spans", labels, "--set", "evidence=both"), told)


def test_compare(folder: Path) -> None:
    rows = write(folder / "rows.jsonl", PICTURED, PICTURED)
    sides = [write(folder / f"{name}.jsonl", {}, {}) for name in ("one", "two")]
    words = ("compare", *(f"{side.stem}={side}" for side in sides), "--data", rows)
    done = spanreward(*words, "--metric", "harmonic", "--output", folder / "out")
    refused(done, f"spanreward compare: {TOLD}", folder / "out" / "results.json")


def test_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows come later: only who can do nothing without pictures is refused."""
    uvicorn = pytest.importorskip("uvicorn")
    pytest.importorskip("starlette")
    monkeypatch.setattr(uvicorn.Server, "run", lambda *_, **__: None)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    serve = ("serve", "harmonic", "--judge", "match", "--port", "0")
    done = spanreward(*serve, "--set", "task=reg")
    refused(done, f"spanreward serve: {TOLD}")
    assert "evidence" not in done.err  # a context names no object
    warned = spanreward(*serve)
    assert warned.code == 0
    assert warned.err.startswith("spanreward serve: rows with pictures")
    assert len(warned.err.splitlines()) == 1
    assert spanreward(*serve, "--set", "evidence=context").err == ""


def recipe(folder: Path, rows: Path, **changes: Any) -> Path:
    save_llava(folder / "policy")
    asked = {
        "algorithm": "dapo",
        "output": str(folder / "out"),
        "policy": {"model": str(folder / "policy")},
        "data": {"source": "jsonl", "path": str(rows)},
        "rewards": [{"metric": "harmonic", "judge": "match"}],
        "trainer": {**TRAINER, "max_steps": 1},
    }
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump({**asked, **changes}))
    return path


POSH = [{"metric": "posh", "judge": "match"}]
WATCHING = {"metric": "pairwise", "judge": "match", "options": {"anchor": "anchor"}}


@pytest.mark.parametrize("dry", [["--dry-run"], []])
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, f"the data row 1: {TOLD}"),
        ({"rewards": POSH, "win_rate": WATCHING}, "pairwise: the judge match"),
    ],
)
def test_train(
    changes: Any, told: str, dry: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("start_judges", "load_policy"):
        monkeypatch.setattr(f"spanreward.training.run.{name}", lambda *_: pytest.fail("started"))
    path = recipe(folder, write(folder / "rows.jsonl", PICTURED, PICTURED), **changes)
    refused(spanreward("train", path, *dry), told, folder / "out")


def test_a_dry_run_asks_a_local_model_by_its_files(folder: Path) -> None:
    rows = write(folder / "rows.jsonl", PICTURED, PICTURED)
    save_llama(folder / "text")
    for model, code in (("text", 1), ("policy", 0)):
        judge = f"transformers:{folder / model}"
        path = recipe(folder, rows, rewards=[{"metric": "harmonic", "judge": judge}])
        done = spanreward("train", path, "--dry-run")
        assert done.code == code, done.err
        assert ("reads text only" in done.err) == bool(code)


def test_a_dry_run_says_what_only_reading_the_rows_tells(folder: Path) -> None:
    path = recipe(folder, folder / "none", data={"source": "hub", "id": "somebody/pictures"})
    done = spanreward("train", path, "--dry-run")
    assert done.code == 0, done.err
    assert f"refuses: {TOLD}" in " ".join(done.out.split())


def test_criteria_write(folder: Path) -> None:
    rows = write(folder / "rows.jsonl", PICTURED)
    words = ("criteria", "write", rows, "--judge", "match", "--output", folder / "out.jsonl")
    refused(spanreward(*words), "criteria: the judge match", folder / "out.jsonl")
