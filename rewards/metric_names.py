"""The names of the metrics, for a check before the metrics themselves are imported.

The import of the metrics takes seconds: it loads spaCy, and spaCy loads torch if torch is
installed. A misspelled name is found here without this wait.

check_metric("posh")          # a metric: nothing happens
check_metric("poshh")         # raises ValueError
"""

from spanreward.rewards.base.checks import unknown_name_message
from spanreward.rewards.files.custom_file import is_custom

# `remote` asks a metric that `spanreward serve` runs on another machine
METRIC_NAMES = ("criteria", "differences", "harmonic", "lave", "pairwise", "posh", "remote")


def check_metric(name: str) -> None:
    """Raises ValueError unless the name is in METRIC_NAMES or has the form FILE.py:NAME, such as
    "my_rewards.py:ColourReward".
    """
    if not is_custom(name) and name not in METRIC_NAMES:
        message = unknown_name_message("metric", name, METRIC_NAMES)
        raise ValueError(f"{message} A metric of your own is FILE.py:NAME.")
