"""What a comparison is asked to do (comparison.py does it)."""

from collections.abc import Sequence
from dataclasses import dataclass

from spanreward.rewards.reward.reward import Reward
from spanreward.training.evaluation.prompts import Prompts
from spanreward.training.recipe import RewardPart


@dataclass(frozen=True, slots=True)
class Setup:
    """What is compared, and by whom.

    Attributes:
        sides: {name: runs}, the same number of each.
        seeds: the training seed of each run.
        prompts: what they are asked.
        parts: the rewards and referees as asked for; `rewards` are the same ones built, in this order.
        learned: the rewards that models were trained on, where their folders do not say.
        readers: what reads the texts, by the reward's name.
        max_tokens: of an answer.
        explain: the number of prompts for which the judge gives its reasons.
        title, facts: of the page, and for its foot.
        reasoning_end: the tag that ends the reasoning of policies that think first; only the text after it is judged.
        within: two models are equivalent if they differ by less, in the metrics' unit. None: no such test.
        columns: of the data, that the prompts are also sliced by.
        fixed: the sides are fixed systems; verdicts are over prompts alone.
    """

    sides: dict[str, list[str]]
    seeds: list[int]
    prompts: Prompts
    parts: Sequence[RewardPart]
    rewards: Sequence[Reward]
    learned: Sequence[RewardPart]
    readers: dict[str, str]
    max_tokens: int
    explain: int
    title: str
    facts: dict[str, str]
    reasoning_end: str | None = None
    fixed: bool = False
    within: float | None = None
    columns: Sequence[str] = ()
