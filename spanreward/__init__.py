"""Published vision-language judges as rewards that teach: every public name at one place.

    from spanreward import MatchJudge, PoshReward, SpanGRPOConfig, SpanGRPOTrainer, load_judge

    spanreward.rewards     what a completion is worth, and which of its words made it so; knows no
                           trainer
    spanreward.training    a recipe in, a policy and a report out

A name is imported when it is first used, so `import spanreward` loads neither torch nor TRL. It
switches off what libraries report to their makers, unless the environment says otherwise: TRL of
every trainer, `datasets` of every load, vLLM of every engine. The hub's library reads its switch
when it is itself imported: import `spanreward` first, or set DO_NOT_TRACK=1. It also gives a vLLM
engine 1800 s to start, because a large model from a slow disk takes more than vLLM's 600 s. vLLM
reads that when it is itself imported, as TRL does.
"""

import ast
import os
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from spanreward.rewards.base.needs import lacking

REPORTING_OFF = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_UPDATE_DOWNLOAD_COUNTS": "0",
    "VLLM_NO_USAGE_STATS": "1",
}
for _name, _value in {**REPORTING_OFF, "VLLM_ENGINE_READY_TIMEOUT_S": "1800"}.items():
    os.environ.setdefault(_name, _value)

# the one list of names, as in SPEC 1
_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text("utf-8"))
_IMPORTS = [node for node in _STUB.body if isinstance(node, ast.ImportFrom)]
MODULES = {name.name: str(node.module) for node in _IMPORTS for name in node.names}
__all__ = list(MODULES)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version("spanreward")
    if name not in MODULES:
        raise AttributeError(f"module 'spanreward' has no attribute {name!r}")
    try:
        return getattr(import_module(MODULES[name]), name)
    except (ImportError, RuntimeError) as error:
        if message := lacking(name, error):
            raise ImportError(message) from error
        raise


def __dir__() -> list[str]:
    return [*globals(), *MODULES]
