"""PoSh checks every component of a completion's scene graph against the references (arXiv
2510.19060).
"""

from spanreward.rewards.language.parse import parse_graphs
from spanreward.rewards.language.scene_graph import SceneGraph
from spanreward.rewards.posh.reward import PoshReward

__all__ = ["PoshReward", "SceneGraph", "parse_graphs"]
