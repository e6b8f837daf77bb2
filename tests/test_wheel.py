"""The wheel has every file of the package, whichever archive of the repository it is built from."""

import re
import subprocess
from collections.abc import Iterator
from email import message_from_string
from pathlib import Path
from zipfile import ZipFile

import pytest

from spanreward.training.commands import recipes
from tests.support.paths import ROOT
from tests.support.wheel import build_wheel, tracked_files, unpack_archive, wheel_of
from tests.training.commands.test_recipes import OF_A_CHECKOUT

pytestmark = pytest.mark.skipif(
    not (ROOT / ".git").exists(), reason="no git repository to make archives of"
)
PACKAGED = (".py", ".pyi", ".yaml", ".jinja", "py.typed")


def names_in(wheel: Path) -> set[str]:
    """Returns the names of all files in a wheel but its metadata, which is in folders beside."""
    with ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def expected_names() -> Iterator[str]:
    """Yields the name in the wheel of each file of the package in this repository."""
    for path in tracked_files("spanreward", "rewards", "training"):
        if path.endswith(PACKAGED):
            yield f"spanreward/{path.removeprefix('spanreward/')}"
    for path in recipes.packaged_files():
        if not path.startswith(OF_A_CHECKOUT):
            yield f"spanreward/{path}"


@pytest.mark.parametrize("kind", ["zip", "tar.gz", "sdist"])
def test_an_archive_of_the_repository_makes_the_whole_wheel(kind: str, tmp_path: Path) -> None:
    if kind == "sdist":
        wheel = build_wheel(tmp_path)
    else:
        wheel = wheel_of(unpack_archive(tmp_path / "source", kind), tmp_path)
    assert sorted(names_in(wheel)) == sorted(expected_names())


def test_a_wheel_of_githubs_runner_has_links_that_lead_somewhere_on_pypi(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_REPOSITORY", "owner/name")
    wheel = wheel_of(unpack_archive(tmp_path / "source", "zip"), tmp_path)
    with ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = message_from_string(archive.read(name).decode())
    page = str(metadata.get_payload())
    targets = re.findall(r"\]\(([^)\s]+)\)", page)
    assert len(targets) > 20
    assert [target for target in targets if not target.startswith("https://")] == []
    version = metadata["Version"]
    assert f"https://github.com/owner/name/blob/v{version}/docs/metrics.md#posh" in targets
    raw = f"https://raw.githubusercontent.com/owner/name/v{version}/docs/spans.svg"
    assert raw in targets
    assert "Source, https://github.com/owner/name" in metadata.get_all("Project-URL")


def test_the_repository_has_no_links() -> None:
    listed = subprocess.check_output(["git", "-C", str(ROOT), "ls-files", "-s"], text=True)
    assert [line for line in listed.splitlines() if line.startswith("120000")] == []
