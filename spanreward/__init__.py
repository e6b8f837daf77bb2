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

import os
from importlib.metadata import version
from typing import Any

from lazy_loader import attach_stub

from spanreward.rewards.base.needs import missing_package_sentence

REPORTING_OFF = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_UPDATE_DOWNLOAD_COUNTS": "0",
    "VLLM_NO_USAGE_STATS": "1",
}
for _name, _value in {**REPORTING_OFF, "VLLM_ENGINE_READY_TIMEOUT_S": "1800"}.items():
    os.environ.setdefault(_name, _value)

READY_REWARDS = "spanreward.rewards.ready"  # makes a reward as the environment says
# SPEC 1 of scientific Python: __init__.pyi is the one list of names
_import_name, __dir__, __all__ = attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version("spanreward")
    try:
        value = _import_name(name)
    except (ImportError, RuntimeError) as error:
        message = missing_package_sentence(name, error)
        if message:
            raise ImportError(message) from error
        raise
    if value.__module__ == READY_REWARDS:
        # lazy_loader keeps what it imported, and the environment may say otherwise at the next use
        del globals()[name]
    return value
