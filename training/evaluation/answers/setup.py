"""Holds the settings of a comparison, which training/commands/compare.py reads from the command
line.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from spanreward.rewards.reward.reward import Reward
from spanreward.training.evaluation.answers.prompts import Prompts
from spanreward.training.recipe import RewardPart


@dataclass(frozen=True, slots=True)
class Setup:
    """The settings of a comparison.

    Attributes:
        sides: {name: runs}, such as {"sft": ["outputs/sft0", "outputs/sft1"]}. All sides have
            equally many runs.
        seeds: the training seed of each run, in the order of the runs of a side.
        prompts: the rows that all runs answer.
        parts: the recipe's entries of the rewards and the held-out metrics.
        rewards: the rewards and metrics that were built from `parts`, in the same order.
        max_tokens: the most tokens of an answer.
        learned: the rewards that models were trained on, for sides whose folders hold no recipe.
        readers: by a reward's name, the parser that reads its texts.
        title: the title of the page.
        facts: the lines at the foot of the page, such as the command and the machine.
        reasoning_end: the tag that ends the reasoning of policies that think before they answer,
            such as "</think>". Only the text after the tag is judged.
        fixed: whether the sides are fixed systems, such as models behind an API. A fixed system has
            no training seeds, so verdicts are over prompts alone.
        columns: columns of the data by which the prompts are also sliced.
    """

    sides: dict[str, list[str]]
    seeds: list[int]
    prompts: Prompts
    parts: Sequence[RewardPart]
    rewards: Sequence[Reward]
    max_tokens: int
    learned: Sequence[RewardPart] = ()
    readers: dict[str, str] = field(default_factory=dict)
    title: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    reasoning_end: str | None = None
    fixed: bool = False
    columns: Sequence[str] = ()

    @property
    def seeds_that_count(self) -> list[int]:
        """The training seed of each run, as the statistics count seeds: [0, 1, 2] for three
        trained runs. Runs of fixed systems have no seeds, and count as one seed: [0, 0, 0].
        """
        return [0] * len(self.seeds) if self.fixed else self.seeds
