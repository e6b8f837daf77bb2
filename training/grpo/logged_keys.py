"""Which keys of a log are left out: shares and counts of what went wrong, until something did.

    moved = moved_keys({"posh/f1": 0.4, "posh/failed_fraction": 0.0}, before=frozenset())
    is_left_out("posh/failed_fraction", moved)      # True: it was never above 0

Most runs have no failed judge and no empty completion. Six keys a reward that are always 0 would
hide the ones that are not. A key that was once above 0 is logged from then on, also in a run that
is resumed: its history of lines, which a checkpoint holds, has the key.

A reward cannot do this by itself, as in TRL's own trainer: among several ranks each has to log the
same keys, and a line's mean is over all steps since the line before.
"""

from collections.abc import Mapping, MutableMapping, Sequence

# A reward's keys are its name and one of these (docs/logged_keys.md). The means of a verdict's
# parts are always logged, because 0 is one of their values like any other.
SHARES = ("not_read", "failed_fraction", "empty_fraction", "unscored_fraction")
COUNTS = ("judge/retries", "judge/timeout", "judge/unparsed")
RECENT = 16  # lines of the history that are looked at; each has the keys that moved before it
# the one number that says that all is well
ALWAYS = "judge/failed_fraction"


def moved_keys(values: Mapping[str, float], before: frozenset[str]) -> frozenset[str]:
    """Returns the keys that had another value than 0, in these values or before them."""
    moved = set(before)
    for key, value in values.items():
        if value != 0:  # NaN too
            moved.add(key)
    return frozenset(moved)


def is_left_out(key: str, moved: frozenset[str]) -> bool:
    """Says whether a key is left out of the log. moved: the keys that `moved_keys` returns."""
    if key == ALWAYS or key in moved:
        return False
    if key in COUNTS:
        return True
    # "posh/unscored_fraction/no_reference": what follows the reward's name
    _, *parts = key.split("/")
    return any(part in SHARES for part in parts)


def keys_of(history: Sequence[Mapping[str, float]]) -> frozenset[str]:
    """Returns the keys of earlier lines of the log, those of evaluations without their mark."""
    keys: set[str] = set()
    for line in history:
        keys.update(key.removeprefix("eval_") for key in line)
    return frozenset(keys)


def leave_out(steps: MutableMapping[str, list[float]], moved: frozenset[str]) -> frozenset[str]:
    """Drops the keys that are left out, and returns which have moved by now.

    steps: of each key the values of the steps since the last line of the log.
    """
    sums = {key: sum(values) for key, values in steps.items()}
    moved = moved_keys(sums, moved)
    for key in list(steps):  # a copy, since keys are deleted
        if is_left_out(key, moved):
            del steps[key]
    return moved
