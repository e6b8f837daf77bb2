"""What everything else may import: samples, verdicts, costs and checks.

It imports nothing of ours.
"""
