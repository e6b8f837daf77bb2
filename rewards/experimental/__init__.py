"""Judges and metrics that work and are not proven: they may change or go in any release.

The core imports nothing from here. A name on a command line, in a recipe or in `spanreward` leads
here: see judges/by_name.py, metrics.py and spanreward/__init__.pyi. README.md says what was
measured.
"""
