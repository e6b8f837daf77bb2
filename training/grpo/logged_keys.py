"""Leaves out of the log the keys that count faults, as long as their values are 0.

    moved = moved_keys({"posh/f1": 0.4, "posh/failed_fraction": 0.0}, before=frozenset())
    is_left_out("posh/failed_fraction", moved)      # True: the fraction was never above 0

Most runs have no failed judge and no empty completion. Each reward has six keys of faults. If
these keys were always logged, many zeros would hide the other numbers. From its first value above 0
on, a key is always logged. A resumed run knows such keys from the earlier lines of its log, which a
checkpoint holds.

The trainer leaves out keys, and not the reward. A reward sees one rank and one step. But all ranks
must log the same keys, and a line of the log has means over all steps since the line before.
"""

from collections.abc import Mapping, MutableMapping, Sequence

# The last part of a reward's keys of faults: "posh/not_read" (docs/logged_keys.md). Other keys of a
# reward, such as "posh/f1", are always logged, because 0 is an ordinary value of a score.
SHARES = ("not_read", "failed_fraction", "empty_fraction", "unscored_fraction")
COUNTS = ("judge/retries", "judge/timeout", "judge/unparsed")
# so many of the latest lines are read; each line has all keys that had moved before it
RECENT = 16
# always logged: with 0 this key shows that no judge failed
ALWAYS = "judge/failed_fraction"


def moved_keys(values: Mapping[str, float], before: frozenset[str]) -> frozenset[str]:
    """Returns the keys that have ever had a value other than 0.

    values: the new value of each key. before: the keys that had a value other than 0 earlier.
    """
    moved = set(before)
    for key, value in values.items():
        if value != 0:  # also true for NaN
            moved.add(key)
    return frozenset(moved)


def is_left_out(key: str, moved: frozenset[str]) -> bool:
    """Returns whether a key is left out of the log. moved: the keys that `moved_keys` returns."""
    if key == ALWAYS or key in moved:
        return False
    if key in COUNTS:
        return True
    # look at the parts after the reward's name, as in "posh/unscored_fraction/no_reference"
    _, *parts = key.split("/")
    return any(part in SHARES for part in parts)


def keys_of(history: Sequence[Mapping[str, float]]) -> frozenset[str]:
    """Returns the keys of earlier lines of the log.

    Keys of evaluations lose their prefix: "eval_posh/not_read" gives "posh/not_read".
    """
    keys: set[str] = set()
    for line in history:
        keys.update(key.removeprefix("eval_") for key in line)
    return frozenset(keys)


def leave_out(steps: MutableMapping[str, list[float]], moved: frozenset[str]) -> frozenset[str]:
    """Deletes from `steps` the keys that are left out. Returns the keys that have moved so far.

    steps: by key, the values of the steps since the last line of the log. moved: the keys that had
    moved before.
    """
    sums = {key: sum(values) for key, values in steps.items()}
    moved = moved_keys(sums, moved)
    for key in list(steps):  # a copy of the keys, because the loop deletes keys
        if is_left_out(key, moved):
            del steps[key]
    return moved
