""".ci/release_check.py: what it looks for by itself (the whole is `make release-check`)."""

import importlib.util
import sys
import tomllib
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT


def load() -> Any:
    path = ROOT / ".ci" / "release_check.py"
    spec = importlib.util.spec_from_file_location("release_check", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


release_check = load()
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_this_version_is_in_the_changelog_and_nowhere_else() -> None:
    assert release_check.changelog_has(VERSION)
    assert not release_check.changelog_has("99.0")
    assert release_check.places_of(VERSION) == []


def test_a_second_place_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rewards").mkdir()
    (tmp_path / "rewards" / "__init__.py").write_text('__version__ = "1.2.3"\n')
    monkeypatch.setattr(release_check, "ROOT", tmp_path)
    assert release_check.places_of("1.2.3") == [str(tmp_path / "rewards" / "__init__.py")]
    assert release_check.places_of("1.2.4") == []


@pytest.mark.parametrize(
    ("licence", "found"),
    [
        ("a | GPL-3.0-or-later", True),
        ("a | License :: OSI Approved :: GNU General Public License v3 (GPLv3)", True),
        ("a | AGPL-3.0", True),
        ("a | License :: OSI Approved :: GNU Lesser General Public License v3 (LGPLv3)", False),
        ("a | LGPL-2.1", False),
        ("a | MIT", False),
        ("gplot | BSD-3-Clause", False),
    ],
)
def test_licences(licence: str, found: bool) -> None:
    assert bool(release_check.GPL.search(licence.partition("|")[2])) is found


def test_a_command_that_fails_ends_it_with_what_was_said() -> None:
    with pytest.raises(SystemExit, match="no such thing"):
        release_check.run(Path(sys.executable), "-c", "raise SystemExit('no such thing')")


def test_the_licences_are_listed_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    exec(release_check.LICENCES)  # as the new environment's Python is given it
    lines = dict(line.split(" | ", 1) for line in capsys.readouterr().out.splitlines())
    assert len(lines) == len({package.metadata["Name"] for package in distributions()})
    assert lines["httpx2"].startswith("BSD")
    assert release_check.GPL.search(lines["docutils"])  # which only the development tools bring
