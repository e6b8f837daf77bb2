"""Wheels as other people build them: from an sdist, or from a forge's archive."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.paths import ROOT

HANGS = 600  # seconds


def build_wheel(folder: Path) -> Path:
    """Returns the path of the wheel, built in `folder` from an sdist, as a package index has it."""
    source = unpack_archive(folder / "source", "zip")
    build = f"from setuptools import build_meta; build_meta.build_sdist({str(folder)!r})"
    command = [sys.executable, "-c", build]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=HANGS)
    (sdist,) = folder.glob("*.tar.gz")
    return wheel_of(sdist, folder)


def wheel_of(source: Path, folder: Path) -> Path:
    """Returns the wheel that pip builds in `folder` from a project's folder or an sdist."""
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    command = [*pip, "-w", str(folder), str(source)]
    subprocess.run(command, check=True, capture_output=True, timeout=HANGS)
    (wheel,) = folder.glob("*.whl")
    return wheel


def unpack_archive(folder: Path, kind: str) -> Path:
    """Unpacks the repository's archive, of kind "zip" or "tar.gz", into the folder, and returns the
    folder.

    The archive has the changes of tracked files that are not committed yet, so that a test sees
    what is here. Python's zipfile makes a plain file of a symbolic link, as Windows does.
    """
    folder.mkdir(parents=True)
    archive = folder / f"archive.{kind}"
    commit = _git("-c", "user.name=tests", "-c", "user.email=tests", "stash", "create") or "HEAD"
    _git("archive", f"--format={kind}", f"--output={archive}", commit)
    shutil.unpack_archive(archive, folder)
    archive.unlink()
    return folder


def tracked_files(*folders: str) -> list[str]:
    """Returns the files below these folders that git knows, relative to the repository."""
    paths = _git("ls-files", "--", *folders).splitlines()
    return [path for path in paths if (ROOT / path).exists()]


def _git(*words: str) -> str:
    command = ["git", "-C", str(ROOT), *words]
    return subprocess.check_output(command, text=True, timeout=HANGS).strip()
