"""A soak of seconds: each client asks, honest rows keep their verdicts, and the server ends."""

from pathlib import Path

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")
from experiments.attack import clients, soak
from tests.support.experiment_numbers import measured


def test_the_figures_of_a_short_soak(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for kind in clients.CLIENTS:
        monkeypatch.setattr(kind, "pause", 1.0)
    monkeypatch.setattr(clients, "LARGE", 1_000_000)
    monkeypatch.setattr(soak, "SHARE", 9.0)
    monkeypatch.setattr(soak, "HONEST", 10)
    monkeypatch.setattr(soak, "AGAIN", 100)
    out, content = measured(tmp_path, "attack", "soak", "--minutes", "0.1")
    figures = content["figures"]
    assert figures["honest rows"] > 5
    assert figures["honest rows with another verdict than alone"] == 0
    assert figures["errors of the clients"] == 0, content["errors"]
    for name in ("honest rows", "poisoned rows", "/health"):
        assert figures[f"{name}: answered 200"] > 0
    for name in ("broken JSON: answered 422", "disconnects", "idle connections"):
        assert figures[name] > 0
    assert figures["SIGTERM: status of the request in flight"] == 200
    assert figures["SIGTERM: its verdicts are those of alone"]
    assert figures["SIGTERM: exit status"] == figures["SIGTERM: processes left"] == 0
    assert [minute["minute"] for minute in content["minutes"]] == [0.0, 0.1]
    assert "| honest rows with another verdict than alone | 0 |" in out


def test_a_wrong_verdict_is_counted() -> None:
    record = soak.Record()
    rows, alone = [{"completion": "A."}], [{"score": 0.5}]
    client = clients.Honest(None, rows, alone, record, None)  # type: ignore[arg-type]
    client.check([0, 0], [{"score": 0.5}, {"score": 0.4}])
    client.check([0], [])
    assert (record.checked, record.wrong) == (3, 2)
