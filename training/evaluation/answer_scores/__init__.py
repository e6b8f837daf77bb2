"""Scores each answer by every metric, and finds out which metrics the models were trained on."""
