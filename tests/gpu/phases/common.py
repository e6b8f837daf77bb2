"""What the scripts of phases/ share: their arguments, the machine, and engines without compilation."""

import argparse
from functools import partial
from pathlib import Path

from tests.gpu.conftest import Machine

SIZES = {"real": Machine("cuda", real=True), "toy": Machine("cpu", real=False)}


def arguments(description: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="real", help="toy: the same lines on a CPU")
    parser.add_argument("--models", type=Path, default=Path("/dev/shm/spanreward"), help="where make.py put them")
    parser.add_argument("--json", type=Path, default=Path("build/gpu/whole.json"), help="the figures")
    parser.add_argument("--compiled", action="store_true", help="the policy's engine compiles and captures graphs")
    return parser.parse_args()


def eager() -> None:
    """Lets TRL start its engine without compilation, for which it has no setting. A vllm: judge does so anyway."""
    from trl.generation import vllm_generation

    vllm_generation.LLM = partial(vllm_generation.LLM, enforce_eager=True)
