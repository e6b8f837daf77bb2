"""PoSh: a completion's scene graph checked against references, component by component (arXiv 2510.19060)."""

from rewards.language.parse import parse_graphs
from rewards.language.scene_graph import SceneGraph
from rewards.posh.reward import PoshReward

__all__ = ["PoshReward", "SceneGraph", "parse_graphs"]
