"""What a reward pays for texts that ask for it and not for its reason.

    cases = description_cases(100)
    payoffs = measure_payoffs(PoshReward(MatchJudge()), cases, DESCRIPTIONS)
    payoffs[0].family, payoffs[0].gain, payoffs[0].beats
    # "one word over and over", (-.09, -.33, -.6), 0.0

A payoff is what the hacked text gets beyond its honest text, less what it is truly better: nothing,
where its family declares so, and else its gain of truth F1 (saying a wrong thing more may be right
where much was left out). A failed judgment is left out and counted.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from experiments.hacking.families import Case, Family, honest_description
from experiments.scenes.language import PROMPT
from experiments.scenes.parts import scenes_of, scenes_part
from experiments.scenes.questions import ask, several
from experiments.scenes.referee import judge_description
from experiments.scenes.referee_judge import RefereeJudge
from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.reward.reward import Reward
from spanreward.training.data.load import load_data
from spanreward.training.recipe import FilePart

QUESTIONS = 4  # about a picture

Families = Mapping[str, Family]


@dataclass(frozen=True, slots=True)
class HackingCase:
    """An honest text with all that a reward may look at.

    described: whether the truth of a description applies. terse: whether it leaves out about half.
    """

    case: Case
    sample: Sample
    described: bool
    terse: bool = False


@dataclass(frozen=True, slots=True)
class Payoff:
    """Of one family, by amount: gain, the mean score above the honest text's; pays, the same less
    the truth's gain.

    terse: `pays` of the terse texts alone. beats: the share of all texts of the family that score
    above their honest text. failed: judgments left out.
    """

    family: str
    gain: tuple[float, ...]
    pays: tuple[float, ...]
    terse: tuple[float, ...]
    beats: float
    failed: int

    @property
    def price(self) -> float:
        """The most that it pays, in any amount, on all texts or on terse ones."""
        return max(*self.pays, *self.terse)


def description_cases(count: int) -> list[HackingCase]:
    """Pictures of levels 1 and 2 in turns, each pair of them described completely and then as the
    base policy does.
    """
    cases: list[HackingCase] = []
    for level in (1, 2):
        part = pictures(level, (count + 2 - level) // 2)
        rng = random.Random(f"hacking {level}")
        for number, (row, scene) in enumerate(zip(load_data(part), scenes_of(part), strict=True)):
            honest = honest_description(scene, rng, complete=number % 2 == 0)
            references, context = tuple(row["reference"]), row["context"]
            asked = several(scene, random.Random(row["id"]), QUESTIONS)
            quiz = {"quiz": [{"question": one.text, "answers": one.answers} for one in asked]}
            sample = Sample(
                PROMPT, honest, references=references, context=context, columns=quiz, id=row["id"]
            )
            cases.append(
                HackingCase(
                    Case(honest, PROMPT, scene), sample, described=True, terse=number % 2 == 1
                )
            )
    return cases


def pictures(level: int, count: int) -> FilePart:
    """Pictures that no training has seen."""
    return scenes_part(level=level, count=count, split="test")


def answer_cases(count: int) -> list[HackingCase]:
    """Questions about pictures, every second with a right answer and the others with a wrong
    one.
    """
    rng = random.Random("hacking answers")
    cases = []
    for number, scene in enumerate(scenes_of(pictures(1, count))):
        asked = ask(scene, rng)
        honest = asked.right if number % 2 == 0 else rng.choice(asked.wrong)
        sample = Sample(
            asked.text, honest, question=asked.text, answers=asked.answers, id=scene.seed
        )
        cases.append(HackingCase(Case(honest, asked.text, scene), sample, described=False))
    return cases


def referee_judge(cases: Sequence[HackingCase]) -> RefereeJudge:
    """A judge that knows the truth of all these cases."""
    return RefereeJudge({one.sample.context: one.case.scene for one in cases if one.sample.context})


def measure_payoffs(
    reward: Reward, cases: Sequence[HackingCase], families: Families
) -> list[Payoff]:
    """What every family pays on these cases."""
    honest = reward.judge_samples([one.sample for one in cases])
    truths = [truth(one, one.sample.completion) for one in cases]
    payoffs = []
    for name, family in families.items():
        gain, pays, terse, above, failed = [], [], [], [], 0
        for amount in family.amounts:
            rng = random.Random(f"{name} {amount}")
            texts = [family.hack(one.case, amount, rng) for one in cases]
            samples = [
                replace(one.sample, completion=text) for one, text in zip(cases, texts, strict=True)
            ]
            verdicts = reward.judge_samples(samples)
            gains, excess, of_terse = [], [], []
            for one, text, before, after, was in zip(
                cases, texts, honest, verdicts, truths, strict=True
            ):
                if before.score is None or after.score is None:
                    failed += 1
                    continue
                gains.append(after.score - before.score)
                excess.append(
                    gains[-1] - (max(truth(one, text) - was, 0.0) if family.claims else 0.0)
                )
                of_terse += excess[-1:] if one.terse else []
            gain.append(fmean(gains or [0.0]))
            pays.append(fmean(excess or [0.0]))
            terse.append(fmean(of_terse or [0.0]))
            above += [one > 1e-9 for one in gains]
        payoffs.append(
            Payoff(name, tuple(gain), tuple(pays), tuple(terse), fmean(above or [0.0]), failed)
        )
    return payoffs


def truth(one: HackingCase, text: str) -> float:
    """Truth F1 of a description; of an answer 0, as nothing that is added to one makes it truer."""
    return judge_description(text, one.case.scene).f1 if one.described else 0.0
