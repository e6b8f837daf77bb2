"""Texts as scene graphs: the entities, attributes and relations of a text, with the characters that
name them.
"""
