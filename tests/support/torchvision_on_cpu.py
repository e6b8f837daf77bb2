"""Makes PyPI's torchvision, which is built for CUDA, importable beside a CPU's torch, in a folder
of its own.

    python -m tests.support.torchvision_on_cpu
    # after `pip install --target .venv/torchvision torchvision`

Its library does not load there, so the import ends at two operators of boxes that are not declared.
Here they are. What pictures need, resizing, is torch's own. vLLM serves pictures only where
torchvision is.

    PYTHONPATH=.venv/torchvision python ...
    # `with_torchvision()` has this environment for a test's process
"""

import os
import sys
from pathlib import Path

FOLDER = Path(sys.prefix) / "torchvision"
DECLARED = """import torch

_BOXES = torch.library.Library("torchvision", "FRAGMENT")
for _name in ("nms", "qnms"):
    _BOXES.define(_name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

"""


def declare(folder: Path) -> None:
    start = folder / "torchvision" / "__init__.py"
    code = start.read_text()
    if not code.startswith(DECLARED):
        start.write_text(DECLARED + code)


def with_torchvision() -> dict[str, str]:
    """The environment in which processes find it, if `make test-vllm` has put it there."""
    paths = [str(FOLDER), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


if __name__ == "__main__":
    declare(FOLDER)
