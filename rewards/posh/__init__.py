"""PoSh (arXiv 2510.19060) as a reward.

PoSh asks a judge whether each component of a completion's scene graph is in the references, and the
reverse.
"""

from spanreward.rewards.language.parse import parse_graphs
from spanreward.rewards.language.scene_graph import SceneGraph
from spanreward.rewards.posh.reward import PoshReward

__all__ = ["PoshReward", "SceneGraph", "parse_graphs"]
