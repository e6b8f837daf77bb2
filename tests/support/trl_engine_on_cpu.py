"""Lets TRL's engine in this process (vllm_mode: colocate) run on a CPU, with real pushes, prompts
and samples.

    on_cpu()  # before the trainer is built
    python -m tests.support.trl_engine_on_cpu train RECIPE ...          # `spanreward` with it

vLLM's CPU build packs the weights of linear layers when they are loaded and drops them: what TRL
pushes has no place. Here these layers read their weights. A CPU's engine cannot sleep. Here
sleep(level=2) makes all weights NaN, as on a GPU it drops them: what the next push leaves out is
seen in the first token.
"""

import math
from typing import Any

import torch

from spanreward.training.commands.main import main


def on_cpu() -> None:
    from trl.generation import vllm_generation
    from vllm.model_executor.layers import utils

    module: Any = vllm_generation
    started = module.LLM

    def unpacked(layer: Any, remove_weight: bool) -> None:
        layer.cpu_linear = torch.nn.functional.linear

    def start(**options: Any) -> Any:
        changes = {"enable_sleep_mode": False, "enforce_eager": True, "dtype": "float32"}
        engine = started(**options | changes)
        model = engine.llm_engine.model_executor.driver_worker.model_runner.model

        @torch.no_grad()
        def sleep(level: int) -> None:
            for parameter in model.parameters() if level == 2 else ():
                parameter.fill_(math.nan)

        engine.sleep, engine.wake_up = sleep, lambda tags=None: None
        return engine

    utils.dispatch_cpu_unquantized_gemm = unpacked
    module.LLM = start


if __name__ == "__main__":
    on_cpu()
    main()
