"""A metric or a judge of your own, by the file that defines it: `my_rewards.py:ColourReward`."""

import importlib.util
import sys
from pathlib import Path


def is_own(name: str) -> bool:
    """Whether the name is of the form FILE.py:CLASS."""
    return name.rpartition(":")[0].endswith(".py")


def own_class(name: str, base: type) -> type:
    """The class of FILE.py:CLASS, the file's path going from the working folder. The file is run, once a process.

    Raises ValueError for a file or a class that is not there, and for a class that is no `base`.
    """
    path, _, wanted = name.rpartition(":")
    file = Path(path).resolve()
    if not file.is_file():
        raise ValueError(
            f"there is no file {path} in {Path.cwd()}: FILE.py:CLASS names a file from the working folder."
        )
    module = sys.modules.get(file.stem)
    if module is None or module.__file__ != str(file):
        spec = importlib.util.spec_from_file_location(file.stem, file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[file.stem] = module  # where dataclasses and pickles look for it
        spec.loader.exec_module(module)
    found = vars(module).get(wanted)
    if not (isinstance(found, type) and issubclass(found, base)):
        raise ValueError(f"{path} has no class {wanted} that is a {base.__name__}: derive it from {base.__module__}.")
    return found
