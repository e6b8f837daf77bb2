"""When "better" may be said: where another draw of prompts and another training seed would both leave the sign alone.

    judge_pair(entry, "posh_f1")        # {"verdict": "undecided", "over_prompts": "higher", "over_seeds": "undecided",
                                        #  "why": "undecided over seeds: 1 seed, 3 or more are needed"}

A difference's interval over prompts holds the trained models fixed, the one over seeds the prompts. Either alone has
called differences real that were not.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from training.evaluation.referees import KINDS, Kind, Referee
from training.evaluation.statistics import MIN_SEEDS

MINUS = "\N{MINUS SIGN}"
MIN_PROMPTS = 6  # with fewer, all of one sign, a sign test has p = 2 / 2**5 = .06 at best
UNDECIDED = "undecided"
WORDS = {  # of a metric that is higher and lower: the verdict, and what is said of these prompts alone
    "words": (("longer", "shorter"), ("longer", "shorter")),
    "length": (("longer", "shorter"), ("longer", "shorter")),
    "truncated": (("worse", "better"), ("more", "fewer")),
    "degenerate": (("worse", "better"), ("more", "fewer")),
}
USUAL = (("better", "worse"), ("higher", "lower"))


def judge_pair(entry: Mapping[str, Any], metric: str) -> dict[str, str]:
    """The verdict on one difference, as in results.json's `difference`, and why it is undecided where it is."""
    prompts = sign(entry["low"], entry["high"]) if entry["counted"] >= MIN_PROMPTS else 0
    seeds = sign(entry["runs_low"], entry["runs_high"])
    why = []
    if entry["counted"] < MIN_PROMPTS:
        why.append(f"{UNDECIDED} over prompts: {count(entry['counted'], 'prompt')}, {MIN_PROMPTS} or more are needed")
    elif not prompts:
        why.append(f"{UNDECIDED} over prompts: the interval holds 0")
    if entry["trained"] < MIN_SEEDS:
        why.append(f"{UNDECIDED} over seeds: {count(entry['trained'], 'seed')}, {MIN_SEEDS} or more are needed")
    elif not seeds:
        why.append(f"{UNDECIDED} over seeds: the interval holds 0")
    elif prompts == -seeds:
        why.append("the intervals over prompts and over seeds contradict each other")
    (better, worse), (higher, lower) = WORDS.get(metric, USUAL)
    both = {(1, 1): better, (-1, -1): worse}
    alone = {1: higher, -1: lower, 0: UNDECIDED}
    return {
        "verdict": both.get((prompts, seeds), UNDECIDED),
        "over_prompts": alone[prompts],
        "over_seeds": alone[seeds],
        "why": "; ".join(why),
    }


def sign(low: float | None, high: float | None) -> int:
    """1 or -1 where the interval lies on one side of 0, else 0."""
    if low is None or high is None:
        return 0
    return (low > 0) - (high < 0)


def count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def sentence(
    later: str, earlier: str, entries: Mapping[str, Mapping[str, Any]], referees: Mapping[str, Referee]
) -> str:
    """One sentence on a pair: by which referees the later one is better, worse or neither, and how much it writes."""
    mains = [metric for metric in entries if referees[metric].main]
    seeds = max(entries[metric]["trained"] for metric in entries)
    groups: dict[str, list[str]] = {}
    for metric in mains:
        word = entries[metric]["verdict" if seeds >= MIN_SEEDS else "over_prompts"]
        said_by = f"{label(metric)} {with_interval(entries[metric])} ({KINDS[referees[metric].kind]})"
        groups.setdefault(word, []).append(said_by)
    order = [word for word in ("better", "higher", "worse", "lower", UNDECIDED) if word in groups]
    said = "; ".join(f"{word} by {listed(groups[word])}" for word in order)
    length = in_length(entries["words"])
    if seeds >= MIN_SEEDS:
        return f"{later} against {earlier}: {said}; {length}."
    return (
        f"{later} against {earlier}: undecided over seeds ({count(seeds, 'seed')}, {MIN_SEEDS} or more are needed). "
        f"On these prompts alone: {said}; {length}."
    )


def with_interval(entry: Mapping[str, Any]) -> str:
    """`+0.040 [0.020, 0.060]`, with the interval over seeds in braces where there is one."""
    if entry["mean"] is None:
        return "not judged"
    digits = 3 if abs(entry["mean"]) < 1 else 1
    over_prompts = "" if entry["low"] is None else f" [{entry['low']:.{digits}f}, {entry['high']:.{digits}f}]"
    over_seeds = entry["runs_low"] is not None
    seeds = f" {{{entry['runs_low']:.{digits}f}, {entry['runs_high']:.{digits}f}}}" if over_seeds else ""
    return f"{entry['mean']:+.{digits}f}{over_prompts}{seeds}".replace("-", MINUS)


def in_length(entry: Mapping[str, Any]) -> str:
    if entry["mean"] is None:
        return "of unknown length"
    more = "more" if entry["mean"] > 0 else "fewer"
    return f"{abs(entry['mean']):.1f} words {more}" if abs(entry["mean"]) >= 0.05 else "as many words"


def listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def contradictions(
    later: str, earlier: str, entries: Mapping[str, Mapping[str, Any]], referees: Mapping[str, Referee]
) -> tuple[list[str], list[str]]:
    """Where a reward that was trained on and other referees point in opposite directions: (warnings, notes).

    A warning where both intervals over prompts exclude 0; a note where the signs of the means differ and one of them
    may be chance.
    """
    warnings, notes = [], []
    mains = [metric for metric in entries if referees[metric].main and entries[metric]["mean"] is not None]
    for trained in (metric for metric in mains if referees[metric].kind == "trained"):
        one = entries[trained]
        against = [other for other in mains if one["mean"] * entries[other]["mean"] < 0]
        against = [other for other in against if referees[other].kind != "trained"]
        sure = [m for m in against if {one["over_prompts"], entries[m]["over_prompts"]} == {"higher", "lower"}]
        said = f"{later} against {earlier}: {label(trained)}, which was trained on, is {signed(one)}"
        if sure:
            warnings.append(
                f"{said}, but {listed([by_whom(m, entries, referees) for m in sure])}: it has learned to please its "
                "reward, or the reward sees what the others do not"
            )
        unsure = [metric for metric in against if metric not in sure]
        if unsure:
            names = listed([by_whom(m, entries, referees) for m in unsure])
            notes.append(f"{said}, and {names}, though one of the two may be chance")
    return warnings, notes


def by_whom(metric: str, entries: Mapping[str, Mapping[str, Any]], referees: Mapping[str, Referee]) -> str:
    return f"{label(metric)} ({KINDS[referees[metric].kind]}) {signed(entries[metric])}"


def signed(entry: Mapping[str, Any]) -> str:
    return f"{entry['mean']:+.3f}".replace("-", MINUS)


def label(metric: str) -> str:
    """A metric's name for people: `posh_f1` as `PoSh F1`."""
    words = {"posh": "PoSh", "f1": "F1", "sft": "SFT", "vqa": "VQA"}
    return " ".join(words.get(word, word) for word in metric.replace("/", " ").replace("_", " ").split())


def by_kind(referees: Mapping[str, Referee]) -> dict[Kind, list[str]]:
    """The main metrics of each kind of referee."""
    return {kind: [name for name, one in referees.items() if one.main and one.kind == kind] for kind in KINDS}


def lost_by(referees: Mapping[str, Referee]) -> list[str]:
    """The main metrics in the order in which they may say who lost a prompt: the truth first, then judges that were not
    trained on, then overlap, and the trained reward last.
    """
    groups = by_kind(referees)
    sure = [metric for metric in groups["judgeless"] if metric != "overlap"]
    return [*sure, *groups["untrained"], *(["overlap"] if "overlap" in referees else []), *groups["trained"]]
