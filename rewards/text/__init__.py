"""Reads a model's text in the same way for all metrics: plain text, length, filler and quoting."""
