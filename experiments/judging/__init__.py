"""A language model that learns to judge Scenes: its lessons, its conversations, its weights, and
how right it is.
"""
