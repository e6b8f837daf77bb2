"""Texts as scene graphs: the entities, attributes and relations of a text, with the characters that name them."""

from spanreward.rewards.language.parse import describe, parse_graphs
from spanreward.rewards.language.pipeline import load_pipeline
from spanreward.rewards.language.scene_graph import Entity, Relation, SceneGraph

__all__ = ["Entity", "Relation", "SceneGraph", "describe", "load_pipeline", "parse_graphs"]
