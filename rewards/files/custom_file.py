"""Loads a class or function from a file of your own: `my_rewards.py:ColourReward`,
`my_data.py:rows`.

    kind = custom_part("my_rewards.py:ColourReward", Reward, {})
    rows = custom_function("my_data.py:rows")(split="train")

The file becomes a submodule of this module, and its full path is the submodule's name. So a file
`json.py` hides no other module, and a pickle of its classes works in a spawned process, too. The
file may import its neighbours and its own package: the first folder above the file without an
__init__.py is appended to sys.path.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

__path__: list[str] = []  # makes this module a package, so Python looks for its submodules
MODULE_PREFIX = f"{__name__}."


class FileFinder:
    """Finds the submodules of this module. A submodule's name is MODULE_PREFIX and a file's path.

    Python asks this finder for modules that no other finder knows, for example when a pickle names
    a class of such a file.
    """

    @staticmethod
    def find_spec(
        name: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Returns the spec of a submodule, whose name holds the file's path, or None for any other
        module.
        """
        if not name.startswith(MODULE_PREFIX):
            return None
        path = unquote(name.removeprefix(MODULE_PREFIX))
        return spec_from_file_location(name, path)


sys.meta_path.append(FileFinder)


def is_custom(name: str) -> bool:
    """Returns whether the name has the form FILE.py:NAME."""
    return name.rpartition(":")[0].endswith(".py")


def custom_part(name: str, base: type, options: Mapping[str, Any]) -> Any:
    """Returns the class that FILE.py:NAME names, or the object if NAME is already an instance of
    `base`.

    The file's path is relative to the working folder. The file runs once per process. Raises
    ValueError for a missing file, for a NAME that is neither a subclass nor an instance of `base`,
    and for options that are given with an instance.
    """

    def fits(value: Any) -> bool:
        """Returns whether a value is an instance or a subclass of `base`."""
        if isinstance(value, base):
            return True
        return isinstance(value, type) and issubclass(value, base)

    # The message has NAME in place of {}: "class Colour that is a Reward".
    kind = "class {} that is a " + base.__name__
    part = _named_part(name, fits, kind, advice=f"derive it from {base.__module__}.")
    if isinstance(part, base) and options:
        raise ValueError(
            f"{name} is a {base.__name__.lower()} already and takes no options, got {options}"
        )
    return part


def custom_function(name: str) -> Callable[..., Any]:
    """Returns the function of FILE.py:FUNCTION.

    Raises ValueError for a missing file or function.
    """
    function: Callable[..., Any] = _named_part(name, callable, "function {}", "write it there.")
    return function


def _named_part(
    name: str,
    fits: Callable[[Any], bool],
    kind: str,
    advice: str,
) -> Any:
    """Returns the value that FILE.py:NAME names.

    fits: returns whether a value is of the right kind. kind: the kind, for the message, with {} in
    place of NAME: "function {}". advice: the advice in the message if the file has no similar name.
    Raises ValueError if NAME is missing or of another kind; the message has the most similar name
    in the file.
    """
    path, _, part_name = name.rpartition(":")
    values_in_file = vars(_module_of(path))
    if not fits(values_in_file.get(part_name)):
        # Only names of the right kind are suggested.
        candidates = []
        for candidate, value in values_in_file.items():
            if fits(value):
                candidates.append(candidate)
        near = get_close_matches(part_name, candidates, 1)
        hint = f"did you mean {near[0]!r}?" if near else advice
        raise ValueError(f"{path} has no {kind.format(part_name)}: {hint}")
    return values_in_file[part_name]


def _module_of(path: str) -> ModuleType:
    """Returns the module of a file. The file runs when it is first needed in this process.

    Raises ValueError for a missing file, and for a file that cannot be imported, with the reason.
    """
    file = Path(path).resolve()
    if not file.is_file():
        raise ValueError(
            f"there is no file {path} in {Path.cwd()}: FILE.py:NAME names a file from the working "
            "folder."
        )
    # The folder that holds the file's outermost package is appended to sys.path. At the end of
    # sys.path its files hide no installed module.
    tops = (folder for folder in file.parents if not (folder / "__init__.py").exists())
    above = str(next(tops))
    if above not in sys.path:
        sys.path.append(above)
    # A dot in the path would separate modules in the name, so dots are encoded.
    encoded_path = str(file).replace("%", "%25").replace(".", "%2E")
    try:
        return import_module(MODULE_PREFIX + encoded_path)
    except Exception as error:  # the file is a user's own, and may raise anything
        raise ValueError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
