"""Samples, verdicts, costs and checks, which every other package of this project may import.

The modules here import no other package of this project.
"""
