"""The truth as a reward, for measuring how credit teaches: no judge's mistakes stand between the
spans and the policy.

    reward = TruthReward(dict(zip(ids, scenes, strict=True)))  # ids as in the dataset's column `id`
    reward.assess(samples)[0].score                               # truth F1

Its spans are the referee's claims, with the credit that PoSh's F1 would give them. What a policy is
compared by must be measured on other pictures: this reward sees what no other reward sees.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from experiments.scenes.referee import Truth, judge_description
from experiments.scenes.world import Scene
from spanreward.rewards.base.verdict import Sample, Span, Verdict
from spanreward.rewards.posh.scores import RATING_LEVELS, credit_of_component
from spanreward.rewards.reward.reward import Reward

FACTS = 5  # of an object


class TruthReward(Reward):
    """Scores a description by the F1 of its claims. `scenes`: what is on the picture of each id.

    The score is the truth always, but the spans may lie: a claim is called what it is not with
    probability `flipped`, and the group's credits are dealt out anew among its spans where they are
    `permuted`.
    """

    columns = ("id",)

    def __init__(
        self, scenes: Mapping[str, Scene], flipped: float = 0.0, permuted: bool = False
    ) -> None:
        super().__init__("truth")
        self.scenes = scenes
        self.flipped = flipped
        self.permuted = permuted
        self.generator = random.Random(0)

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        verdicts = [self._judge(sample) for sample in samples]
        if self.permuted:
            groups = dict.fromkeys(sample.id for sample in samples)
            for group in groups:
                rows = [row for row, sample in enumerate(samples) if sample.id == group]
                credits = [span.credit for row in rows for span in verdicts[row].spans]
                self.generator.shuffle(credits)
                dealt = iter(credits)
                for row in rows:
                    spans = tuple(replace(span, credit=next(dealt)) for span in verdicts[row].spans)
                    verdicts[row] = replace(verdicts[row], spans=spans)
        return verdicts

    def _judge(self, sample: Sample) -> Verdict:
        scene = self.scenes[str(sample.id)]
        truth = judge_description(sample.completion, scene)
        parts = {"precision": truth.precision, "recall": truth.recall}
        return Verdict(truth.f1, parts=parts, spans=self._spans(truth, FACTS * len(scene.objects)))

    def _spans(self, truth: Truth, wanted: int) -> tuple[Span, ...]:
        """A span per claim that counts. wanted: the facts of the scene."""
        if truth.f1 == 0:
            return ()
        spans = []
        for number, (claim, holds) in enumerate(truth.counted):
            called = holds != (self.generator.random() < self.flipped)
            worth = credit_of_component(
                RATING_LEVELS * called, truth.precision, truth.recall, len(truth.counted), wanted
            )
            spans.append(Span(claim.start, claim.end, float(called), worth, claim.fact, "", number))
        return tuple(spans)
