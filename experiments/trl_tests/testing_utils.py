"""Stands beside TRL's test file as its testing_utils: a folder for each case, and which cases this
machine can run.

It is copied there, and imports nothing of this repository.
"""

from importlib.util import find_spec
from pathlib import Path

import pytest
import torch


class TrlTestCase:
    tmp_dir: str

    @pytest.fixture(autouse=True)
    def set_tmp_dir(self, tmp_path: Path) -> None:
        self.tmp_dir = str(tmp_path)


def needs(present: bool, what: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not present, reason=f"needs {what}")


def package(name: str) -> pytest.MarkDecorator:
    return needs(find_spec(name) is not None, name)


def is_ampere_or_newer() -> bool:
    return torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 0)


require_bitsandbytes = package("bitsandbytes")
require_kernels = package("kernels")
require_liger_kernel = package("liger_kernel")
require_peft = package("peft")
require_response_parsing = needs(True, "nothing: transformers reads tool calls itself since 5.13")
require_torch_accelerator = needs(torch.cuda.is_available(), "a GPU")
require_vision = package("torchvision")
require_vllm = package("vllm")
xfail_data_parallel = needs(True, "nothing, on one device")
