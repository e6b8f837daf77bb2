"""Turns scores into means, differences and verdicts, and notes what limits these figures."""
