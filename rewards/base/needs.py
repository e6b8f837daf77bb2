"""What is said where a package of an extra is missing, or TRL does not import. Imports none of
them.

lacking("the judge vllm:smollm2", error)
# "... needs torch, which is not installed: pip install ..."
"""

from importlib.metadata import version
from traceback import walk_tb

EXTRAS = {  # what each extra installs
    "train": ("accelerate", "datasets", "pandas", "peft", "trl"),
    "local": ("torch", "transformers"),
    "serve": ("jiter", "starlette", "uvicorn"),
}
TRL = ">=1.15,<2"  # as in pyproject.toml
VLLM = ">=0.28,<0.34"


def lacking(what: str, error: BaseException | None) -> str:
    """Returns in one sentence what `what`, whose import raised this error, needs; "" for an error
    of another kind.
    """
    while error is not None and not (isinstance(error, ModuleNotFoundError) and error.name):
        error = error.__cause__  # TRL's lazy imports raise a RuntimeError
    name = "" if error is None else str(error.name).partition(".")[0]
    frames = [] if error is None else [frame for frame, _ in walk_tb(error.__traceback__)]
    extra = next((extra for extra, names in EXTRAS.items() if name in names), "")
    if extra == "local" and any(
        frame.f_globals["__name__"].startswith("spanreward.training.") for frame in frames
    ):
        extra = "train"  # which installs these too
    if extra:
        return f"{what} needs {name}, which is not installed: pip install 'spanreward[{extra}]'."
    if not any(
        frame.f_globals["__name__"].partition(".")[0] == "trl"
        and frame.f_code.co_name == "<module>"
        for frame in frames  # a function of TRL runs once TRL is imported
    ):
        return ""
    return (
        f"{what} needs TRL {TRL}, and TRL {version('trl')} does not import without {name}: pip "
        f"install 'trl{TRL}'."
    )
