"""The names of the metrics, which are checked before the metrics themselves are imported: these
import spaCy, and spaCy torch where it is installed, which takes seconds.

check_metric("posh")          # raises ValueError for a name that is none
"""

from spanreward.rewards.base.checks import unknown
from spanreward.rewards.files.custom_file import is_custom

# `remote` is a metric of `spanreward serve` elsewhere
NAMES = ("criteria", "differences", "harmonic", "lave", "pairwise", "posh", "remote")


def check_metric(name: str) -> None:
    """Raises ValueError for what is neither one of NAMES nor FILE.py:NAME."""
    if not is_custom(name) and name not in NAMES:
        message = unknown("metric", name, NAMES)
        raise ValueError(f"{message} A metric of your own is FILE.py:NAME.")
