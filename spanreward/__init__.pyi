# The public names, at one place: type checkers read this file, and __init__.py finds a name's
# module in it.
from spanreward.rewards.base.verdict import (
    Sample as Sample,
    Span as Span,
    Status as Status,
    Verdict as Verdict,
)
from spanreward.rewards.criteria import CriteriaReward as CriteriaReward
from spanreward.rewards.experimental.differences import DifferencesReward as DifferencesReward
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
    criteria as criteria,
    differences as differences,
    harmonic as harmonic,
    lave as lave,
    pairwise as pairwise,
    posh as posh,
)
from spanreward.rewards.reward.batching import BatchingReward as BatchingReward
from spanreward.rewards.reward.from_function import reward as reward
from spanreward.rewards.reward.judged_reward import JudgedReward as JudgedReward
from spanreward.rewards.reward.remote_reward import RemoteReward as RemoteReward
from spanreward.rewards.reward.reward import Reward as Reward
from spanreward.rewards.scoring import score as score
from spanreward.training.callbacks.json_lines import (
    MetricsFile as MetricsFile,
    VerdictFile as VerdictFile,
)
from spanreward.training.callbacks.reward_health import RewardHealthCallback as RewardHealthCallback
from spanreward.training.callbacks.span_table import SpanTableCallback as SpanTableCallback
from spanreward.training.callbacks.stop_on_signal import StopOnSignal as StopOnSignal
from spanreward.training.callbacks.win_rate import WinRateCallback as WinRateCallback
from spanreward.training.grpo.config import SpanGRPOConfig as SpanGRPOConfig
from spanreward.training.grpo.credit import token_credit as token_credit
from spanreward.training.grpo.recorder import Recorder as Recorder
from spanreward.training.grpo.trainer import SpanGRPOTrainer as SpanGRPOTrainer

__version__: str
MODULES: dict[str, str]
REPORTING_OFF: dict[str, str]
