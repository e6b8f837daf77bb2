"""Error messages for a missing package of an extra, and for a TRL that cannot be imported. This
module imports no package of an extra.

missing_package_sentence("the judge vllm:smollm2", error)
# "... needs torch, which is not installed: pip install ..."
"""

from importlib.metadata import version
from traceback import walk_tb

PACKAGES_OF_EXTRAS = {  # what each extra installs
    "train": ("accelerate", "datasets", "pandas", "peft", "trl"),
    "local": ("torch", "transformers"),
    "serve": ("jiter", "starlette", "uvicorn"),
}
TRL_VERSIONS = ">=1.15,<2"  # as in pyproject.toml
VLLM_VERSIONS = ">=0.28,<0.34"


def missing_package_sentence(what: str, error: BaseException | None) -> str:
    """Returns a sentence that names the missing package and the command that installs it; "" if
    the error was not caused by a missing package.

    what: the subject of the sentence, such as "the judge vllm:smollm2". error: raised by an import.
    """
    missing = _missing_module(error)
    if missing is None:
        return ""
    name, _, _ = str(missing.name).partition(".")
    # the code that was running, as (module, function), from the outermost call to the import
    running = []
    for frame, _ in walk_tb(missing.__traceback__):
        running.append((str(frame.f_globals.get("__name__")), frame.f_code.co_name))
    # find the extra that installs the package
    extra = ""
    for extra_name, packages in PACKAGES_OF_EXTRAS.items():
        if name in packages:
            extra = extra_name
            break
    in_training = any(module.startswith("spanreward.training.") for module, _ in running)
    if extra == "local" and in_training:
        extra = "train"  # the extra `train` installs the packages of `local` too
    if extra:
        return f"{what} needs {name}, which is not installed: pip install 'spanreward[{extra}]'."
    # The package belongs to no extra, but TRL may need it. While a module of TRL is imported, the
    # module's own code is running, which Python calls "<module>". A function of TRL does not count:
    # it may run after TRL has been imported.
    imports_trl = False
    for module, function in running:
        if module.partition(".")[0] == "trl" and function == "<module>":
            imports_trl = True
    if not imports_trl:
        return ""
    return (
        f"{what} needs TRL {TRL_VERSIONS}, and TRL {version('trl')} does not import without "
        f"{name}: pip "
        f"install 'trl{TRL_VERSIONS}'."
    )


def _missing_module(error: BaseException | None) -> ModuleNotFoundError | None:
    """Returns the first ModuleNotFoundError with a module's name in the error's chain of causes;
    None if the chain has no such error.

    TRL's lazy imports raise a RuntimeError that has the ModuleNotFoundError as its cause.
    """
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and error.name:
            return error
        error = error.__cause__
    return None
