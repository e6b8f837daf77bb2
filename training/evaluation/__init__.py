"""Compares checkpoints: answers -> judged answers -> statistics -> page.

Each folder uses only those before it.
"""
