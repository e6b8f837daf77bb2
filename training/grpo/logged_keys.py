"""Leaves out of the log the keys that count faults, as long as their values are 0.

    values = {"posh/f1": 0.4, "posh/failed_fraction": 0.0}
    nonzero = nonzero_keys(values, earlier=frozenset())     # {"posh/f1"}
    is_left_out("posh/failed_fraction", nonzero)    # True: the fraction was never above 0

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
REWARD_FAULTS = ("not_read", "failed_fraction", "empty_fraction", "unscored_fraction")
JUDGE_FAULTS = ("judge/retries", "judge/timeout", "judge/unparsed")  # whole keys
# So many of the latest lines are read. They are enough, because a line of the log has every key
# that was not 0 before it.
RECENT_LINES = 16
# always logged: with 0 this key shows that no judge failed
ALWAYS_LOGGED_KEY = "judge/failed_fraction"


def nonzero_keys(values: Mapping[str, float], earlier: frozenset[str]) -> frozenset[str]:
    """Returns the keys that have ever had a value other than 0.

    values: the new value of each key. earlier: the keys that had a value other than 0 earlier.
    """
    nonzero = set(earlier)
    for key, value in values.items():
        if value != 0:  # also true for NaN
            nonzero.add(key)
    return frozenset(nonzero)


def is_left_out(key: str, nonzero: frozenset[str]) -> bool:
    """Returns whether a key is left out of the log: a key that counts faults and was always 0.

    Example: "posh/failed_fraction" is left out as long as no judge has failed, and "posh/f1" never.

    nonzero: the keys that have ever had a value other than 0.
    """
    if key == ALWAYS_LOGGED_KEY or key in nonzero:
        return False
    if key in JUDGE_FAULTS:
        return True
    # look at the parts after the reward's name, as in "posh/unscored_fraction/no_reference"
    _, *parts = key.split("/")
    return any(part in REWARD_FAULTS for part in parts)


def keys_of(history: Sequence[Mapping[str, float]]) -> frozenset[str]:
    """Returns the keys of earlier lines of the log, for the argument `earlier` of `leave_out`.

    The values need not be read. A key that counts faults was left out of the log until it first had
    a value other than 0. So such a key in a line shows that it once had such a value. For other
    keys the value does not matter, because they are never left out.

    Keys of evaluations lose their prefix: "eval_posh/not_read" gives "posh/not_read".
    """
    keys: set[str] = set()
    for line in history:
        keys.update(key.removeprefix("eval_") for key in line)
    return frozenset(keys)


def leave_out(steps: MutableMapping[str, list[float]], earlier: frozenset[str]) -> frozenset[str]:
    """Deletes the keys that are left out of the log from `steps`. Returns the keys that have ever
    had a value other than 0, which the caller passes to the next call as `earlier`.

    steps: by key, the values of the steps since the last line of the log. earlier: the keys that
    had a value other than 0 before these steps.
    """
    sums = {key: sum(values) for key, values in steps.items()}
    nonzero = nonzero_keys(sums, earlier)
    for key in list(steps):  # a copy of the keys, because the loop deletes keys
        if is_left_out(key, nonzero):
            del steps[key]
    return nonzero
