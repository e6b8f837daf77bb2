"""Collects what is compared: the models, their prompts and their answers."""
