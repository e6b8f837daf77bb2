"""What the tests of `make test-gpu` share. They need one GPU, no network and no downloads: models
are built from their configurations, with random weights. Packages that the machine lacks may lie in
build/, see tests/gpu/pack.py.

Without CUDA they are skipped. SPANREWARD_GPU_TESTS_ON_CPU=1 tries their bodies on a CPU with models
of toy sizes, so that a mistake in the test itself is not found on borrowed time; what only a GPU
can show is not asserted there. Every figure goes to gpu.json the moment it is found, for
docs/status.md, as do each test's seconds. The tests of most value run first.
"""

import json
import os
import sys
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.paths import ROOT

PACKED = ROOT / "build" / f"gpu_packages-{sys.version_info.major}.{sys.version_info.minor}"
if PACKED.is_dir():
    sys.path.insert(0, str(PACKED))

FIRST = (  # of most value first; the others follow in their files' order
    "test_the_cpus_ratings",
    "test_with_spans_it_trains_and_the_credit_is_the_cpus",
    "test_without_spans_the_weights_are_stock_trls",
    "test_a_real_step_takes_the_memory_that_was_computed_and_little_time_for_spans",
    "test_judging_a_batch_of_64_descriptions",
)


@dataclass(frozen=True)
class Machine:
    """Where the tests run. real: a GPU, and so the models' real sizes."""

    device: str
    real: bool


class Figures(dict[str, Any]):
    """By name.

    Each is printed and written when it is set; what the file has of other runs is kept.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(json.loads(path.read_text()) if path.exists() else {})
        self.path = path

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        print(f"\n{name}: {json.dumps(value)}", flush=True)
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(self, indent=2) + "\n")
        part.replace(self.path)


@pytest.fixture(scope="session")
def machine() -> Machine:
    if torch.cuda.is_available():
        return Machine("cuda", real=True)
    if os.environ.get("SPANREWARD_GPU_TESTS_ON_CPU"):
        return Machine("cpu", real=False)
    pytest.skip("needs a GPU (SPANREWARD_GPU_TESTS_ON_CPU=1 tries the bodies on a CPU)")


@pytest.fixture(scope="session", autouse=True)
def figures(machine: Machine) -> Figures:
    found = Figures(
        Path("gpu.json")
        if machine.real
        else Path(os.environ.get("TMPDIR", "/tmp")) / "gpu-on-cpu.json"
    )
    found["device"] = torch.cuda.get_device_name() if machine.real else "none, on a CPU"
    found["versions"] = {package: version(package) for package in ("torch", "transformers", "trl")}
    return found


@pytest.fixture(scope="session", autouse=True)
def python_path() -> Iterator[None]:
    """What subprocesses import: this checkout, the packed packages, and what was there."""
    paths = [str(ROOT), str(PACKED), *filter(None, [os.environ.get("PYTHONPATH")])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(paths))
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call" and not report.skipped:
        item.funcargs["figures"][f"seconds: {item.name}"] = round(report.duration, 1)
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = [item for item in items if Path(__file__).parent in item.path.parents]
    for item in ours:
        item.add_marker(pytest.mark.gpu)
    rank = {name: number for number, name in enumerate(FIRST)}
    ours.sort(key=lambda item: rank.get(item.name.split("[")[0], len(FIRST)))
    items[:] = [*(item for item in items if item not in ours), *ours]
