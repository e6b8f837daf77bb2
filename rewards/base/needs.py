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
    missing = _missing_module(error)
    if missing is None:
        return ""
    name, _, _ = str(missing.name).partition(".")
    frames = [frame for frame, _ in walk_tb(missing.__traceback__)]
    modules = [str(frame.f_globals.get("__name__")) for frame in frames]
    extra = ""
    for extra_name, packages in EXTRAS.items():
        if name in packages:
            extra = extra_name
            break
    in_training = any(module.startswith("spanreward.training.") for module in modules)
    if extra == "local" and in_training:
        extra = "train"  # which installs these too
    if extra:
        return f"{what} needs {name}, which is not installed: pip install 'spanreward[{extra}]'."
    # A package of no extra. It is TRL's where a module of TRL was being imported; a function of TRL
    # runs once TRL is imported.
    in_trl = False
    for frame, module in zip(frames, modules, strict=True):
        if module.partition(".")[0] == "trl" and frame.f_code.co_name == "<module>":
            in_trl = True
    if not in_trl:
        return ""
    return (
        f"{what} needs TRL {TRL}, and TRL {version('trl')} does not import without {name}: pip "
        f"install 'trl{TRL}'."
    )


def _missing_module(error: BaseException | None) -> ModuleNotFoundError | None:
    """Returns the error, or the first of its causes, that names a module; None without one.

    TRL's lazy imports raise a RuntimeError, whose cause it is.
    """
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and error.name:
            return error
        error = error.__cause__
    return None
