"""PoSh whose `missed` also has the components rated 5: in its table 2 a token has the highest
rating that touches it.

python -m experiments labels table docent-granular granular.jsonl --judge vllm:Qwen/Qwen3-14B
--set mode=published
"""

from dataclasses import replace

from spanreward.rewards.base.verdict import Sample, Verdict
from spanreward.rewards.posh import PoshReward
from spanreward.rewards.posh.components import rated_components, spans_of
from spanreward.rewards.posh.row_answers import RowAnswers


class EveryComponent(PoshReward):
    """PoshReward, where a component rated 5 is in `missed` with score 1."""

    def _verdict(self, sample: Sample, answers: RowAnswers) -> Verdict:
        verdict = super()._verdict(sample, answers)
        wanted = next(
            rated_components(pair.recall)
            for pair in answers.pairs
            if pair.reference == verdict.reference
        )
        return replace(
            verdict,
            missed=spans_of(wanted, [0.0] * len(wanted), sample.references[verdict.reference]),
        )
