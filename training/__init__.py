"""Training with judges as rewards: what a script of your own imports.

    from training import Recorder, SpanGRPOConfig, SpanGRPOTrainer, SpanTableCallback

    run.py                    a recipe's parts put together; recipe.py says what a recipe may hold
    grpo/                     SpanGRPOTrainer, a step from sampling to the loss
    callbacks/                what is watched and written while a trainer works, stock TRL trainers too
    data/                     a recipe's data as a dataset that TRL takes
    evaluation/               checkpoints compared, with error bars and a report
    plan/                     what a recipe would run and whether it fits, before anything is loaded
    scenes/                   drawn pictures of which everything is known, for the quickstart and the tests
    judging/                  a small language model that learns to judge Scenes, and how right it is
    span_credit_experiment/   what `spanreward credit` runs

Nothing heavy is imported before a name is used. Importing it switches off what libraries would tell their makers, where
the environment does not say otherwise: TRL of every trainer, `datasets` of every load, vLLM of every engine. The hub's
library reads that when it is imported itself: import `training` before it, or set DO_NOT_TRACK=1.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from training.callbacks.judge_lifecycle import JudgeLifecycleCallback
    from training.callbacks.metrics_file import MetricsFile
    from training.callbacks.reward_health import RewardHealthCallback
    from training.callbacks.sft_prompts import EvaluationPrompts
    from training.callbacks.span_table import SpanTableCallback
    from training.callbacks.stop_on_signal import StopOnSignal
    from training.callbacks.verdict_file import VerdictFile
    from training.grpo.config import SpanGRPOConfig
    from training.grpo.recorder import Recorder
    from training.grpo.trainer import SpanGRPOTrainer

TOLD_TO_NOBODY = {"HF_HUB_DISABLE_TELEMETRY": "1", "HF_UPDATE_DOWNLOAD_COUNTS": "0", "VLLM_NO_USAGE_STATS": "1"}
for _name, _value in TOLD_TO_NOBODY.items():
    os.environ.setdefault(_name, _value)

__all__ = [
    "EvaluationPrompts",
    "JudgeLifecycleCallback",
    "MetricsFile",
    "Recorder",
    "RewardHealthCallback",
    "SpanGRPOConfig",
    "SpanGRPOTrainer",
    "SpanTableCallback",
    "StopOnSignal",
    "VerdictFile",
]

MODULES = {
    "EvaluationPrompts": "callbacks.sft_prompts",
    "JudgeLifecycleCallback": "callbacks.judge_lifecycle",
    "MetricsFile": "callbacks.metrics_file",
    "Recorder": "grpo.recorder",
    "RewardHealthCallback": "callbacks.reward_health",
    "SpanGRPOConfig": "grpo.config",
    "SpanGRPOTrainer": "grpo.trainer",
    "SpanTableCallback": "callbacks.span_table",
    "StopOnSignal": "callbacks.stop_on_signal",
    "VerdictFile": "callbacks.verdict_file",
}


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module 'training' has no attribute {name!r}")
    return getattr(import_module(f"training.{MODULES[name]}"), name)
