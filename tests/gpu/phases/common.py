"""What the scripts of phases/ share: their arguments, the machine, and engines without compilation."""

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from tests.gpu.conftest import Machine

SIZES = {"real": Machine("cuda", real=True), "toy": Machine("cpu", real=False)}


def arguments(description: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="real", help="toy: the same lines on a CPU")
    parser.add_argument("--models", type=Path, default=Path("/dev/shm/spanreward"), help="where make.py put them")
    parser.add_argument("--json", type=Path, default=Path("build/gpu/whole.json"), help="the figures")
    add_engine(parser)
    return parser.parse_args()


def add_engine(parser: argparse.ArgumentParser) -> None:
    what = "the policy's: eager (default), graphs (of decoding, without torch.compile), or compiled, as TRL starts it"
    parser.add_argument("--engine", choices=("eager", "graphs", "compiled"), default="eager", help=what)


def judge_options(size: str) -> dict[str, Any]:
    """Of the judge in make.py's folder: 4 GB of KV cache, as in docs/one_gpu.md. Its ratings are noise."""
    return {"memory": 4e9 if size == "real" else 1e8, "min_mass": 0.0, "max_model_len": 4096}


def eager() -> None:
    """Lets TRL start its engine without compilation, for which it has no setting. A vllm: judge does so anyway."""
    from trl.generation import vllm_generation

    vllm_generation.LLM = partial(vllm_generation.LLM, enforce_eager=True)
