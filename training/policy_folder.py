"""Turns a policy's name into a folder. The module imports no model library, so that commands which
only check names stay quick.
"""

from spanreward.rewards.judges.smollm2 import smollm2_folder


def policy_folder(model: str) -> str:
    """Returns the folder of the packaged model for "smollm2". Any other name is returned as it is.

    Raises FileNotFoundError if the package with the model is not installed.
    """
    if model == "smollm2":
        return str(smollm2_folder())
    return model
