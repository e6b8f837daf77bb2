"""Scores completions, and says which of their words earned or cost the score. It imports no
trainer.

A name is imported when it is first used, as those of `spanreward` are: `import spanreward.rewards`
loads no parser.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
