# The public names: type checkers read this file, and __init__.py finds a name's module in it. Those
# of rewards/ that are no function of one line have their module in rewards/__init__.pyi.
from .rewards import (
    BatchingReward as BatchingReward,
    CriteriaReward as CriteriaReward,
    DifferencesReward as DifferencesReward,
    Failure as Failure,
    FunctionJudge as FunctionJudge,
    HarmonicReward as HarmonicReward,
    Judge as Judge,
    JudgedReward as JudgedReward,
    LaveReward as LaveReward,
    MatchJudge as MatchJudge,
    PairwiseReward as PairwiseReward,
    PoshReward as PoshReward,
    Question as Question,
    Rating as Rating,
    RemoteReward as RemoteReward,
    Reward as Reward,
    Sample as Sample,
    Span as Span,
    Status as Status,
    Verdict as Verdict,
    build_reward as build_reward,
    load_judge as load_judge,
    score as score,
)
from .rewards.ready import (
    criteria as criteria,
    differences as differences,
    harmonic as harmonic,
    lave as lave,
    pairwise as pairwise,
    posh as posh,
)
from .rewards.reward.from_function import reward as reward
from .training.callbacks.json_lines import (
    MetricsFile as MetricsFile,
    VerdictFile as VerdictFile,
)
from .training.callbacks.reward_health import RewardHealthCallback as RewardHealthCallback
from .training.callbacks.span_table import SpanTableCallback as SpanTableCallback
from .training.callbacks.stop_on_signal import StopOnSignal as StopOnSignal
from .training.callbacks.win_rate import WinRateCallback as WinRateCallback
from .training.grpo.config import SpanGRPOConfig as SpanGRPOConfig
from .training.grpo.credit import token_credit as token_credit
from .training.grpo.recorder import Recorder as Recorder
from .training.grpo.trainer import SpanGRPOTrainer as SpanGRPOTrainer

__version__: str
REPORTING_OFF: dict[str, str]
