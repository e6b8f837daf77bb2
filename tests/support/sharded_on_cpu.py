"""scripts/train.py where DeepSpeed and FSDP take CPUs: one rank, started by accelerate in
test_accelerate_configs.py.

    accelerate launch --config_file accelerate_configs/zero3.yaml sharded_on_cpu.py FOLDER RECIPE key=value ...

accelerate reads an FSDP configuration on GPUs only, so the one answer that decides is given here as
on a GPU; PyTorch's FSDP2 does work on CPUs. DeepSpeed would compile a shared-memory operator for
CPUs first, which takes a minute. All else is theirs. Each rank leaves FOLDER/RANK.json, what it
trained with.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import spanreward.training.run
from spanreward.training.commands.train import main

FOLDER = Path(sys.argv[1])


def asked_for(library: str) -> bool:
    return os.environ.get(f"ACCELERATE_USE_{library}") == "true"


def let_through() -> None:
    if asked_for("FSDP"):
        from accelerate import PartialState
        from accelerate.utils import DistributedType

        PartialState._prepare_backend = lambda self, *_: ("gloo", DistributedType.MULTI_GPU)
    if asked_for("DEEPSPEED"):
        import deepspeed.ops

        deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False


def train(trainer: Any, *rest: Any) -> Any:
    result = run_train(trainer, *rest)
    wrapped = trainer.model_wrapped
    kind = str(trainer.accelerator.distributed_type)
    found: dict[str, Any] = {"type": kind, "model": type(wrapped).__name__, "stage": None}
    if asked_for("DEEPSPEED"):
        found["stage"] = wrapped.zero_optimization_stage()
    sizes = [size_here(parameter) for parameter in wrapped.parameters()]
    found["here"], found["whole"] = (sum(column) for column in zip(*sizes, strict=True))
    (FOLDER / f"{os.environ['RANK']}.json").write_text(json.dumps(found))
    return result


def size_here(parameter: Any) -> tuple[int, int]:
    """A parameter's numbers on this rank, and all of them."""
    if hasattr(parameter, "ds_id"):  # ZeRO-3's
        return parameter.ds_tensor.numel(), parameter.ds_numel
    here = parameter.to_local() if asked_for("FSDP") else parameter
    return here.numel(), parameter.numel()


if __name__ == "__main__":
    let_through()
    run_train = spanreward.training.run.train_and_write
    spanreward.training.run.train_and_write = train  # type: ignore[assignment]
    sys.argv = ["train.py", *sys.argv[2:]]
    main()
