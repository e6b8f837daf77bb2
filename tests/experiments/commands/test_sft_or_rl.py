"""The picture of SFT against RL: each comparison's runs as they are."""

import json
import sys
from pathlib import Path

import pytest

from experiments.commands.sft_or_rl import main


def comparison(folder: Path, **runs: list[float]) -> Path:
    folder.mkdir()
    models = {}
    for model, f1 in runs.items():
        truth = {"mean": sum(f1) / len(f1), "per_seed": f1, "low": 0.1, "high": 0.9}
        models[model] = {"truth_f1": truth, "words": {"mean": 7}}
    (folder / "results.json").write_text(json.dumps({"models": models}))
    return folder


def test_the_file_has_every_run_and_the_picture_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    half = comparison(tmp_path / "half", base=[0.4, 0.6], dapo=[0.7, 0.9])
    few = comparison(tmp_path / "few", base=[0.4], sft=[0.55])
    words = f"half={half} few={few} --picture {tmp_path}/a.svg --json {tmp_path}/a.json".split()
    monkeypatch.setattr(sys, "argv", ["experiments sft-or-rl", *words])
    main()
    written = json.loads((tmp_path / "a.json").read_text())
    assert written["half"]["dapo"]["per_seed"] == [0.7, 0.9]
    expected = {"mean": 0.55, "per_seed": [0.55], "low": 0.1, "high": 0.9, "words": 7}
    assert written["few"]["sft"] == {**expected, "both_low": None, "both_high": None}
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
    assert "half {'base': 0.5, 'dapo': 0.8}" in capsys.readouterr().out
