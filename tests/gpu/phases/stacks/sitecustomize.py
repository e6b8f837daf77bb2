"""Prints the stacks of all threads every 45 s, in each Python process whose PYTHONPATH has this
folder: also in vLLM's engines, which no caller can ask. So a run that hangs, or is cut, still says
where it was.
"""

import faulthandler

faulthandler.dump_traceback_later(45, repeat=True)
