"""Where a policy's name stands for a folder. It imports no model library, as what only checks names
must not.
"""

from spanreward.rewards.judges.smollm2 import smollm2_folder


def policy_folder(model: str) -> str:
    """Returns the folder of `smollm2`, any other model as it is.

    Raises FileNotFoundError as smollm2_folder does.
    """
    if model == "smollm2":
        return str(smollm2_folder())
    return model
