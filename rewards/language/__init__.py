"""Texts as scene graphs: what they speak of, what they say of it, and with which characters."""

from rewards.language.parse import describe, parse_graphs
from rewards.language.pipeline import load_pipeline
from rewards.language.scene_graph import Entity, Relation, SceneGraph

__all__ = ["Entity", "Relation", "SceneGraph", "describe", "load_pipeline", "parse_graphs"]
