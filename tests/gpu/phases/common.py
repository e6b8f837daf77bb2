"""What the scripts of phases/ share: their arguments, the machine, and the policy's engine."""

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from tests.gpu.conftest import Machine
from tests.support.trl_engine_on_cpu import on_cpu

SIZES = {"real": Machine("cuda", real=True), "toy": Machine("cpu", real=False)}


def arguments(description: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--size", choices=SIZES, default="real", help="toy: the same lines on a CPU"
    )
    parser.add_argument(
        "--models", type=Path, default=Path("/dev/shm/spanreward"), help="where make.py put them"
    )
    parser.add_argument(
        "--json", type=Path, default=Path("build/gpu/whole.json"), help="the figures"
    )
    add_engine(parser)
    return parser.parse_args()


def add_engine(parser: argparse.ArgumentParser) -> None:
    what = (
        "the policy's: eager (default), graphs (of decoding, without torch.compile), or "
        "compiled, as TRL starts it"
    )
    parser.add_argument(
        "--engine", choices=("eager", "graphs", "compiled"), default="eager", help=what
    )


def judge_options(size: str) -> dict[str, Any]:
    """Of the judge in make.py's folder: 4 GB of KV cache, as in docs/one_gpu.md.

    Its ratings are noise.
    """
    return {"memory": 4e9 if size == "real" else 1e8, "min_mass": 0.0, "max_model_len": 4096}


def prepare_engine(size: str, engine: str) -> None:
    """Lets TRL start its engine on a CPU, or without compilation, for which it has no setting. A
    vllm: judge is eager anyway.
    """
    from trl.generation import vllm_generation

    if size == "toy":
        on_cpu()
    elif engine == "eager":
        module: Any = vllm_generation
        module.LLM = partial(module.LLM, enforce_eager=True)
