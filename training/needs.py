"""What is said where a package of the extra `train` is missing, or TRL does not import. Imports none of them."""

from importlib.metadata import version
from traceback import walk_tb

EXTRA = ("accelerate", "datasets", "pandas", "peft", "trl")  # what the extra train installs
TRL = ">=1.15,<2"  # as in pyproject.toml


def lacking(what: str, error: BaseException | None) -> str:
    """Returns in one sentence what `what`, whose import raised this error, needs; "" for an error of another kind."""
    while error is not None and not (isinstance(error, ModuleNotFoundError) and error.name):
        error = error.__cause__  # TRL's lazy imports raise a RuntimeError
    name = "" if error is None else str(error.name).partition(".")[0]
    if name in EXTRA:
        return f"{what} needs {name}, which is not installed: pip install 'spanreward[train]'."
    frames = [] if error is None else [frame for frame, _ in walk_tb(error.__traceback__)]
    if not any(
        frame.f_globals["__name__"].partition(".")[0] == "trl" and frame.f_code.co_name == "<module>"
        for frame in frames  # a function of TRL runs once TRL is imported
    ):
        return ""
    return f"{what} needs TRL {TRL}, and TRL {version('trl')} does not import without {name}: pip install 'trl{TRL}'."
