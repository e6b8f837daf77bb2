"""Starts two real ranks on the CPU, as torchrun does, and waits for both."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.paths import ROOT

TORCHRUN = str(Path(sys.executable).with_name("torchrun"))
HANGS = 400  # seconds: far more than the ranks take


def on_two_ranks(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Returns how both ended. words: a script, or -m and a module. variables: of environment."""
    cpu = {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [TORCHRUN, "--standalone", "--nproc_per_node", "2", *words],
        cwd=ROOT,
        env={**os.environ, **cpu, **variables},
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
    )
