"""What the tests of `make test-gpu` share. They need one GPU, no network and no downloads: models are built from their
configurations, with random weights.

Without CUDA they are skipped. SPANREWARD_GPU_TESTS_ON_CPU=1 tries their bodies on a CPU with models of toy sizes, so
that a mistake in the test itself is not found on borrowed time; what only a GPU can show is not asserted there.
Every figure goes to gpu.json, for docs/status.md.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import torch


@dataclass(frozen=True)
class Machine:
    """Where the tests run. real: a GPU, and so the models' real sizes."""

    device: str
    real: bool


@pytest.fixture(scope="session")
def machine() -> Machine:
    if torch.cuda.is_available():
        return Machine("cuda", real=True)
    if os.environ.get("SPANREWARD_GPU_TESTS_ON_CPU"):
        return Machine("cpu", real=False)
    pytest.skip("needs a GPU (SPANREWARD_GPU_TESTS_ON_CPU=1 tries the bodies on a CPU)")


@pytest.fixture(scope="session")
def figures(machine: Machine) -> Iterator[dict[str, Any]]:
    """By name; written beside the tests' working folder, what was there of other tests kept."""
    found: dict[str, Any] = {}
    yield found
    path = Path("gpu.json") if machine.real else Path(os.environ.get("TMPDIR", "/tmp")) / "gpu-on-cpu.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    name = torch.cuda.get_device_name() if machine.real else "none, on a CPU"
    versions = {package: version(package) for package in ("torch", "transformers", "trl")}
    path.write_text(json.dumps({**known, "device": name, "versions": versions, **found}, indent=2) + "\n")
    print(f"\n{path}: {json.dumps(found)}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.gpu)
