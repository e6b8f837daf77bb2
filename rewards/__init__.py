"""Metrics that score completions, and mark the words that earned or cost each score.

This package imports no trainer. Each of its names is imported at the first use of the name, so
`import spanreward.rewards` alone loads no parser.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
