"""A soak of seconds: each client asks, honest rows keep their verdicts, and the server ends."""

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")
from experiments.attack import clients, command, soak


def test_the_figures_of_a_short_soak(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind in clients.CLIENTS:
        monkeypatch.setattr(kind, "pause", 1.0)
    monkeypatch.setattr(clients, "LARGE", 1_000_000)
    monkeypatch.setattr(soak, "SHARE", 9.0)
    monkeypatch.setattr(soak, "HONEST", 10)
    monkeypatch.setattr(soak, "AGAIN", 100)
    path = tmp_path / "soak.json"
    words = ["attack", "soak", "--minutes", "0.1", "--json", str(path)]
    monkeypatch.setattr(sys, "argv", words)
    command.main()
    content = json.loads(path.read_text())
    figures = content["figures"]
    assert figures["honest rows"] > 5
    assert figures["honest rows with another verdict than alone"] == 0
    assert figures["errors of the clients"] == 0, content["errors"]
    for name in ("honest rows", "poisoned rows", "/health"):
        assert figures[f"{name}: answered 200"] > 0
    assert figures["broken JSON: answered 422"] > 0
    assert figures["disconnects"] > 0
    assert figures["idle connections"] > 0
    assert figures["SIGTERM: status of the request in flight"] == 200
    assert figures["SIGTERM: its verdicts are those of alone"]
    assert figures["SIGTERM: exit status"] == 0
    assert figures["SIGTERM: processes left"] == 0
    assert [minute["minute"] for minute in content["minutes"]] == [0.0, 0.1]
    assert "| honest rows with another verdict than alone | 0 |" in capsys.readouterr().out


def test_a_wrong_verdict_is_counted() -> None:
    record = soak.Record()
    rows, alone = [{"completion": "A."}], [{"score": 0.5}]
    client = clients.Honest(None, rows, alone, record, None)  # type: ignore[arg-type]
    client.check([0, 0], [{"score": 0.5}, {"score": 0.4}])
    client.check([0], [])
    assert (record.checked, record.wrong) == (3, 2)
