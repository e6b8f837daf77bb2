# The rooms, and the public names that lie in them. `posh` and `reward` are rooms here; functions of
# these names are in spanreward/__init__.pyi alone.
from . import (
    base as base,
    comparison as comparison,
    criteria as criteria,
    experimental as experimental,
    files as files,
    harmonic as harmonic,
    judges as judges,
    language as language,
    lave as lave,
    metric_names as metric_names,
    metrics as metrics,
    pairwise as pairwise,
    posh as posh,
    ready as ready,
    reward as reward,
    rows as rows,
    scoring as scoring,
    text as text,
)
from .base.verdict import (
    Sample as Sample,
    Span as Span,
    Status as Status,
    Verdict as Verdict,
)
from .criteria import CriteriaReward as CriteriaReward
from .experimental.differences import DifferencesReward as DifferencesReward
from .harmonic import HarmonicReward as HarmonicReward
from .judges.by_name import load_judge as load_judge
from .judges.function_judge import FunctionJudge as FunctionJudge
from .judges.judge import Failure as Failure, Judge as Judge, Rating as Rating
from .judges.match.match_judge import MatchJudge as MatchJudge
from .judges.question import Question as Question
from .lave import LaveReward as LaveReward
from .metrics import build_reward as build_reward
from .pairwise import PairwiseReward as PairwiseReward
from .posh import PoshReward as PoshReward
from .reward.batching import BatchingReward as BatchingReward
from .reward.judged_reward import JudgedReward as JudgedReward
from .reward.remote_reward import RemoteReward as RemoteReward
from .reward.reward import Reward as Reward
from .scoring import score as score
