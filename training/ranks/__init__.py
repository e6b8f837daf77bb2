"""Checks for a training of several processes (ranks).

The ranks must have the same rows and unmixed groups. A rank must not wait for ever for another
rank, and a rank whose judge answers nothing must be noticed.
"""
