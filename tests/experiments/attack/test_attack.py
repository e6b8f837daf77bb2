"""The attack's command starts a server, and its figures are those of a server that holds."""

from pathlib import Path

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")
from experiments.attack import rows
from experiments.attack.pictures import blank
from tests.support.experiment_numbers import measured


def test_the_figures_stand_beside_those_of_before(tmp_path: Path) -> None:
    before = tmp_path / "before.json"
    before.write_text('{"no page: status": 500}')
    out, figures = measured(tmp_path, "attack", "ambiguous", "pages", "--before", before)
    assert figures == {
        "a key twice: status": 422,
        "/score/: status and where it leads": "404",
        "a page's POST, no-cors: status": 403,
        "a page's POST of JSON: status": 403,
        "a name that leads here: status": 403,
        "no page: status": 200,
    }
    table = out.splitlines()
    assert table[0] == "| attack | before | now |"
    assert table[-1] == "| no page: status | 500 | 200 |"


def test_honest_rows_beside_poisoned_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "HONEST", 20)
    assert set(rows.poisoned_rows().values()) == {"0 of 20"}


def test_a_blank_picture_is_small() -> None:
    assert len(blank("WEBP", 4000)) < 100_000
