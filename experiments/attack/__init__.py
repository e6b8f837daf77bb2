"""Attacks on `spanreward serve`, which each attack starts itself, on this machine alone."""
