"""Turns a line of a file, a row of a dataset, or the columns of a trainer into a Sample."""
