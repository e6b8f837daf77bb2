"""PoSh on scene graphs that are given, such as the published code's.

verdicts = assess_graphs(PoshReward(judge), [sample], [graph], [[graph of its reference]])
"""

from collections.abc import Sequence

from spanreward.rewards.base.verdict import Sample, Verdict
from spanreward.rewards.language.scene_graph import SceneGraph
from spanreward.rewards.posh.reward import ParsedRow, PoshReward
from spanreward.rewards.reward.answer_cache import AnswerCache


def assess_graphs(
    reward: PoshReward,
    samples: Sequence[Sample],
    graphs: Sequence[SceneGraph],
    references: Sequence[Sequence[SceneGraph]],
) -> list[Verdict]:
    """Returns the verdicts on samples with a graph per completion and one per reference, which
    serves both ways.
    """
    rows = [
        ParsedRow(sample, graph, tuple((one, one) for one in parsed))
        for sample, graph, parsed in zip(samples, graphs, references, strict=True)
    ]
    return reward.assess_rows(rows, "given graphs", AnswerCache())
