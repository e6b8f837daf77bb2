"""Compares checkpoints in four steps, one folder each: answers, answer_scores, statistics, page.

A folder uses only the folders of earlier steps.
"""
