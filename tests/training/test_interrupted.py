"""A run that is interrupted twice while the judge judges leaves no process of the judge's."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from spanreward.training.callbacks.stop_on_signal import SAME_SIGNAL_SECONDS
from tests.support.dapo_run import RECIPE, SHRUNK
from tests.support.paths import ROOT, SUPPORT

HANGS = 240  # seconds: far more than it takes


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_no_process_is_left(tmp_path: Path, sent: Any) -> None:
    script = [sys.executable, str(SUPPORT / "interrupted.py"), str(tmp_path)]
    overrides = [f"output={tmp_path / 'out'}", *SHRUNK, "trainer.max_steps=1"]
    overrides += ["trainer.use_cpu=true", "trainer.bf16=false"]
    run = subprocess.Popen(
        [*script, RECIPE, *overrides],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until = time.monotonic() + HANGS
        while not (tmp_path / "asked").exists() and run.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        run.send_signal(sent)
        time.sleep(SAME_SIGNAL_SECONDS + 1)
        assert run.poll() is None  # the first waits for the end of the step, which does not come
        run.send_signal(sent)
        _, said = run.communicate(timeout=HANGS)
    finally:
        run.kill()
    assert run.returncode == 128 + sent, said
    assert "Traceback" not in said
    assert ("train.py: interrupted" in said) == (sent == signal.SIGINT)
    assert (tmp_path / "closed").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "asked").read_text()), 0)
