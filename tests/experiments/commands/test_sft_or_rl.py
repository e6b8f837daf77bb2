"""The picture of SFT against RL: each comparison's runs as they are."""

import json
from pathlib import Path

from tests.support.experiment_numbers import measured


def comparison(folder: Path, **runs: list[float]) -> Path:
    folder.mkdir()
    models = {}
    for model, f1 in runs.items():
        truth = {"mean": sum(f1) / len(f1), "per_seed": f1, "low": 0.1, "high": 0.9}
        models[model] = {"truth_f1": truth, "words": {"mean": 7}}
    (folder / "results.json").write_text(json.dumps({"models": models}))
    return folder


def test_the_file_has_every_run_and_the_picture_is_drawn(tmp_path: Path) -> None:
    half = comparison(tmp_path / "half", base=[0.4, 0.6], dapo=[0.7, 0.9])
    few = comparison(tmp_path / "few", base=[0.4], sft=[0.55])
    words = f"sft-or-rl half={half} few={few} --picture {tmp_path}/a.svg"
    out, written = measured(tmp_path, *words.split())
    assert written["half"]["dapo"]["per_seed"] == [0.7, 0.9]
    expected = {"mean": 0.55, "per_seed": [0.55], "low": 0.1, "high": 0.9, "words": 7}
    assert written["few"]["sft"] == {**expected, "both_low": None, "both_high": None}
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
    assert "half {'base': 0.5, 'dapo': 0.8}" in out
