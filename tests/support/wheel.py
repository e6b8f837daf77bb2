"""The wheel of what is here, as a package index would have it: from an sdist, without the checkout's links."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.paths import ROOT

HANGS = 600  # seconds


def build_wheel(folder: Path) -> Path:
    """The path of the wheel, which is built in `folder`."""
    source = folder / "source"
    left_out = shutil.ignore_patterns("__pycache__", "*.pyc")
    for part in ("rewards", "training", "recipes", "accelerate_configs"):
        shutil.copytree(ROOT / part, source / part, ignore=left_out)
    shutil.copytree(ROOT / "spanreward", source / "spanreward", symlinks=True, ignore=left_out)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    build = f"from setuptools import build_meta; build_meta.build_sdist({str(folder)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=source, check=True, capture_output=True, timeout=HANGS)
    (sdist,) = folder.glob("*.tar.gz")
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "-w", str(folder), str(sdist)], check=True, capture_output=True, timeout=HANGS)
    (found,) = folder.glob("*.whl")
    return found
