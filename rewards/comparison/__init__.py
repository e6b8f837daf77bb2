"""Statistics of comparisons: which of two models is better, and how sure the result is.

All functions take outcomes as numbers. None of the functions needs a judge or a model.
"""
