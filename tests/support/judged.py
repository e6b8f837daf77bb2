"""PoSh's verdict on one completion, and what its judge was asked."""

from typing import Any

from spanreward import MatchJudge, PoshReward, Sample
from tests.support.fakes import FakeJudge


def sample(completion: str, *references: str) -> Sample:
    return Sample("Describe.", completion, references=references)


def judged(completion: str, *references: str, judge: Any = None, **settings: Any) -> Any:
    """Returns the verdict, by the match judge unless another is given."""
    reward = PoshReward(judge or MatchJudge(), **settings)
    (verdict,) = reward.assess([sample(completion, *references)])
    return verdict


def prompts_of(judge: FakeJudge) -> list[str]:
    """Returns the prompts of all calls for ratings."""
    return [prompt for call in judge.rated for prompt in call]
