"""What a comparison is asked to do (training/commands/compare.py reads it from the command
line).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from spanreward.rewards.reward.reward import Reward
from spanreward.training.evaluation.answers.prompts import Prompts
from spanreward.training.recipe import RewardPart


@dataclass(frozen=True, slots=True)
class Setup:
    """What is compared, and by whom.

    Attributes:
        sides: {name: runs}, the same number of each.
        seeds: the training seed of each run.
        prompts: what they are asked.
        parts: the rewards and held-out metrics as asked for; `rewards` are the same ones built, in
            this order.
        max_tokens: of an answer.
        learned: the rewards that models were trained on, where their folders do not say.
        readers: what reads the texts, by the reward's name.
        title: of the page.
        facts: what stands at the foot of the page, such as the command and the machine.
        reasoning_end: the tag that ends the reasoning of policies that think first; only the text
            after it is judged.
        fixed: whether the sides are fixed systems, such as models behind an API, and no samples of
            what training gives. Verdicts are over prompts alone then.
        columns: of the data, that the prompts are also sliced by.
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
    def drawn(self) -> list[int]:
        """The training seed that each run counts as in statistics: those of fixed systems are
        one.
        """
        return [0] * len(self.seeds) if self.fixed else self.seeds
