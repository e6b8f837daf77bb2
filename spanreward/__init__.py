"""Published vision-language judges as rewards that teach: every public name at one place.

    from spanreward import MatchJudge, PoshReward, SpanGRPOConfig, SpanGRPOTrainer, load_judge

    spanreward.rewards     what a completion is worth, and which of its words made it so; knows no trainer
    spanreward.training    a recipe in, a policy and a report out

A name is imported when it is first used, so `import spanreward` loads neither torch nor TRL. It switches off what
libraries report to their makers, unless the environment says otherwise: TRL of every trainer, `datasets` of every load,
vLLM of every engine. The hub's library reads its switch when it is itself imported: import `spanreward` first, or set
DO_NOT_TRACK=1. It also gives a vLLM engine 1800 s to start, because a large model from a slow disk takes more than
vLLM's 600 s. vLLM reads that when it is itself imported, as TRL does.
"""

import os
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from spanreward.training.needs import lacking

if TYPE_CHECKING:  # `as`: names that type checkers take for public
    from spanreward.rewards.base.verdict import Sample as Sample, Span as Span, Status as Status, Verdict as Verdict
    from spanreward.rewards.caprl import CaprlReward as CaprlReward
    from spanreward.rewards.criteria import CriteriaReward as CriteriaReward
    from spanreward.rewards.harmonic import HarmonicReward as HarmonicReward
    from spanreward.rewards.judges.by_name import load_judge as load_judge
    from spanreward.rewards.judges.function_judge import FunctionJudge as FunctionJudge
    from spanreward.rewards.judges.judge import (
        Failure as Failure,
        Judge as Judge,
        Question as Question,
        Rating as Rating,
    )
    from spanreward.rewards.judges.match.match_judge import MatchJudge as MatchJudge
    from spanreward.rewards.lave import LaveReward as LaveReward
    from spanreward.rewards.metrics import build_reward as build_reward
    from spanreward.rewards.pairwise import PairwiseReward as PairwiseReward
    from spanreward.rewards.posh import PoshReward as PoshReward
    from spanreward.rewards.ready import (
        caprl as caprl,
        criteria as criteria,
        harmonic as harmonic,
        lave as lave,
        pairwise as pairwise,
        posh as posh,
    )
    from spanreward.rewards.reward.batching import BatchingReward as BatchingReward
    from spanreward.rewards.reward.from_function import reward as reward
    from spanreward.rewards.reward.reward import Reward as Reward
    from spanreward.training.callbacks.metrics_file import MetricsFile as MetricsFile
    from spanreward.training.callbacks.reward_health import RewardHealthCallback as RewardHealthCallback
    from spanreward.training.callbacks.span_table import SpanTableCallback as SpanTableCallback
    from spanreward.training.callbacks.stop_on_signal import StopOnSignal as StopOnSignal
    from spanreward.training.callbacks.verdict_file import VerdictFile as VerdictFile
    from spanreward.training.grpo.config import SpanGRPOConfig as SpanGRPOConfig
    from spanreward.training.grpo.credit import token_credit as token_credit
    from spanreward.training.grpo.recorder import Recorder as Recorder
    from spanreward.training.grpo.trainer import SpanGRPOTrainer as SpanGRPOTrainer

REPORTING_OFF = {"HF_HUB_DISABLE_TELEMETRY": "1", "HF_UPDATE_DOWNLOAD_COUNTS": "0", "VLLM_NO_USAGE_STATS": "1"}
for _name, _value in {**REPORTING_OFF, "VLLM_ENGINE_READY_TIMEOUT_S": "1800"}.items():
    os.environ.setdefault(_name, _value)

PUBLIC = {  # each module's public names
    "rewards.reward.batching": "BatchingReward",
    "rewards.caprl": "CaprlReward",
    "rewards.criteria": "CriteriaReward",
    "rewards.reward.from_function": "reward",
    "rewards.harmonic": "HarmonicReward",
    "rewards.judges.by_name": "load_judge",
    "rewards.judges.function_judge": "FunctionJudge",
    "rewards.judges.judge": "Failure Judge Question Rating",
    "rewards.judges.match.match_judge": "MatchJudge",
    "rewards.lave": "LaveReward",
    "rewards.metrics": "build_reward",
    "rewards.pairwise": "PairwiseReward",
    "rewards.posh": "PoshReward",
    "rewards.ready": "caprl criteria harmonic lave pairwise posh",
    "rewards.reward.reward": "Reward",
    "rewards.base.verdict": "Sample Span Status Verdict",
    "training.callbacks.metrics_file": "MetricsFile",
    "training.callbacks.reward_health": "RewardHealthCallback",
    "training.callbacks.span_table": "SpanTableCallback",
    "training.callbacks.stop_on_signal": "StopOnSignal",
    "training.callbacks.verdict_file": "VerdictFile",
    "training.grpo.config": "SpanGRPOConfig",
    "training.grpo.credit": "token_credit",
    "training.grpo.recorder": "Recorder",
    "training.grpo.trainer": "SpanGRPOTrainer",
}
MODULES = {name: module for module, names in PUBLIC.items() for name in names.split()}
__all__ = list(MODULES)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version("spanreward")
    if name not in MODULES:
        raise AttributeError(f"module 'spanreward' has no attribute {name!r}")
    try:
        return getattr(import_module(f"spanreward.{MODULES[name]}"), name)
    except (ImportError, RuntimeError) as error:
        if told := lacking(name, error):
            raise ImportError(told) from error
        raise


def __dir__() -> list[str]:
    return [*globals(), *MODULES]
