"""Judges and metrics that work but are not proven: they may change or be removed in any release.

The core imports nothing from here. Only a name reaches this folder: a name on a command line, in a
recipe, or in `spanreward` (judges/by_name.py, metrics.py and spanreward/__init__.pyi). README.md
has the measurements.
"""
