"""Checks of names and options. Each error is one sentence."""

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

from pydantic import ValidationError

# "default": for training, hard to exploit by the policy. "published": as in the metric's paper.
Mode = Literal["default", "published"]
MODES = ("default", "published")
# difflib's least ratio of a name and its misspelling; below, it may be another word
MIN_SPELLING_RATIO = 0.8
MAX_LISTED_NAMES = 20  # the most valid names that a message lists
MAX_SIBLING_NAMES = 10  # the most valid names that are listed after "it belongs under trainer."


def unknown_name_message(
    kind: str,
    name: str,
    valid: Iterable[str],
    label: str | None = None,
    elsewhere: Mapping[str, Collection[str]] | None = None,
) -> str:
    """Returns the error message for an unknown name, such as `unknown recipe key 'trainer.sed': did
    you mean 'seed'?`. If no valid name is close, the message lists the valid names.

    kind: the kind of the name, such as "recipe key". name: the unknown name, such as "sed". label:
    the text that the message shows for the name, such as "trainer.sed"; the name itself by default.
    elsewhere: names that are valid in other places, such as {"under trainer": ["span_coef"]}. For
    such a name the message is "... it belongs under trainer."
    """
    names_here = sorted(valid)
    places = _places_of_names(names_here, elsewhere or {})
    hint = _hint_on_name(name, names_here, places)
    return f"unknown {kind} {label or name!r}: {hint}"


def _hint_on_name(name: str, names_here: Sequence[str], places: Mapping[str, str]) -> str:
    """Returns what the user may have meant by an unknown name, such as "did you mean 'seed'?".

    names_here: the valid names, sorted. places: the other place of each name that is valid there,
    such as {"span_coef": "under trainer"}.
    """
    if name in places:
        hint = f"it belongs {places[name]}."
        # the user may have meant another name that is valid here, so these names are listed too
        if len(names_here) <= MAX_SIBLING_NAMES:
            hint += f" Valid here are {', '.join(names_here)}."
        return hint
    # a misspelling of a name that is valid elsewhere, unless a name here is spelled like it, too
    misspelled_here = difflib.get_close_matches(name, names_here, 1, MIN_SPELLING_RATIO)
    misspelled_elsewhere = difflib.get_close_matches(name, places, 1, MIN_SPELLING_RATIO)
    if misspelled_elsewhere and not misspelled_here:
        meant = misspelled_elsewhere[0]
        return f"did you mean {meant!r}, {places[meant]}?"
    # a name here that is similar, even if it is spelled less closely
    similar = most_similar_name(name, names_here)
    if similar:
        return f"did you mean {similar[0]!r}?"
    return f"valid are {_listed_names(names_here)}."


def _places_of_names(
    names: Collection[str], elsewhere: Mapping[str, Collection[str]]
) -> dict[str, str]:
    """Returns the place of each name that is valid elsewhere only: {"under trainer": ["span_coef"]}
    gives {"span_coef": "under trainer"}. A name that is valid in several places has the first
    place.

    names: the names that are valid here. elsewhere: the valid names of each other place.
    """
    places: dict[str, str] = {}
    for place, keys in elsewhere.items():
        for key in keys:
            if key not in names:
                places.setdefault(key, place)
    return places


def _listed_names(names: Sequence[str]) -> str:
    """Returns the names with commas, at most MAX_LISTED_NAMES of them: "a, b, c" or "a, b, c and 7
    more".
    """
    listed = ", ".join(names[:MAX_LISTED_NAMES])
    if len(names) > MAX_LISTED_NAMES:
        listed += f" and {len(names) - MAX_LISTED_NAMES} more"
    return listed


def most_similar_name(name: str, names: Iterable[str]) -> list[str]:
    """Returns a list with the most similar of the names, ignoring capitals; [] if no name is
    similar.
    """
    in_small_letters = {valid.lower(): valid for valid in names}
    nearest = difflib.get_close_matches(name.lower(), in_small_letters, 1)
    return [in_small_letters[letters] for letters in nearest]


def check_known(kind: str, names: Iterable[str], valid: Collection[str]) -> None:
    """Raises ValueError for the first of the names that is not in `valid`. kind: the kind of the
    names for the message, such as "recipe key".
    """
    for name in names:
        if name not in valid:
            raise ValueError(unknown_name_message(kind, name, valid))


def check_choice(option: str, value: object, valid: Sequence[str | None]) -> None:
    """Raises ValueError unless `valid` has the option's value: `mode is "default" or "published",
    got 'x'`. valid: at least two values.
    """
    if value in valid:
        return
    in_words = []
    for name in valid:
        in_words.append("None" if name is None else f'"{name}"')
    all_but_last = ", ".join(in_words[:-1])
    raise ValueError(f"{option} is {all_but_last} or {in_words[-1]}, got {value!r}")


def first_fault_message(error: ValidationError, within: str) -> str:
    """Returns the first fault that pydantic found, as a message such as `prompts.yaml:
    layout.whole: Field required`. within: the name of the checked file or object.
    """
    first = error.errors()[0]
    message = first["msg"].removeprefix("Value error, ")
    # a missing value cannot be quoted, and our own errors quote the value already
    if first["type"] not in ("missing", "value_error"):
        message += f", got {first['input']!r:.80}"
    if first["type"] == "string_type":
        message += " (YAML takes texts such as yes and 3 in quotes)"
    place = ".".join(map(str, first["loc"]))  # "" for a fault of the object as a whole
    parts = [part for part in (within, place, message) if part]
    return ": ".join(parts)
