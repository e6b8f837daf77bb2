"""`spanreward serve` under 64 clients, ended in the middle, with endless and slow bodies."""

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

from experiments.serving import LARGE, run

ROWS = 16  # of each client, together more than may wait


@pytest.mark.slow
def test_nothing_is_lost_and_memory_is_bounded() -> None:
    found = run(clients=64, rows=ROWS, queue=256, seconds=5.0)
    assert found["equal"] == 64 * ROWS, found  # none is lost, none is different
    assert 0 < found["judged by the second"] < 64 * ROWS  # SIGTERM came in the middle
    assert found["exit code after SIGTERM"] == found["and of the second"] == 0
    memory = found["peak MB"]
    assert max(memory["before SIGTERM"], memory["after"]) < memory["idle"] + 3 * LARGE / 1e6, memory
    late = "HTTP/1.1 408 Request Timeout"
    large = {"HTTP/1.1 413 Content Too Large", "HTTP/1.1 413 Request Entity Too Large"}
    refused = {*large, late, "connection closed"}
    assert set(found["to 100 MB and to no end"]) <= refused, found
    assert set(found["to the slow"]) <= {late, "connection closed"}, found
