"""When a comparison may say "better": where other prompts and another training seed would both keep the sign.

    judge_pair(entry, "posh_f1")        # {"verdict": "undecided", "over_prompts": "higher", "over_seeds": "undecided",
                                        #  "why": "undecided over seeds: 1 seed, 3 or more are needed"}

A difference's interval over prompts holds the trained models fixed; its interval over seeds holds the prompts fixed.
Each of them alone has called differences real that were not.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from spanreward.rewards.comparison.figures import NONE, estimate, interval, number, typeset
from spanreward.training.evaluation.referees import KINDS, Kind, Referee
from spanreward.training.evaluation.statistics import MIN_SEEDS

MIN_PROMPTS = 6  # a sign test of 5 differences of one sign has p = 2 / 2**5 = .06
UNDECIDED = "undecided"
WORDS = {  # by metric, for higher and lower: the verdict, and the word for these prompts alone
    "words": (("longer", "shorter"), ("longer", "shorter")),
    "length": (("longer", "shorter"), ("longer", "shorter")),
    "truncated": (("worse", "better"), ("more", "fewer")),
    "degenerate": (("worse", "better"), ("more", "fewer")),
}
USUAL = (("better", "worse"), ("higher", "lower"))


def judge_pair(entry: Mapping[str, Any], metric: str) -> dict[str, str]:
    """Returns the verdict on a difference, an entry of results.json, and why it is undecided where it is."""
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
    """Returns 1 or -1 where the interval lies on one side of 0, else 0."""
    if low is None or high is None:
        return 0
    return (low > 0) - (high < 0)


def count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def sentence(
    later: str, earlier: str, entries: Mapping[str, Mapping[str, Any]], referees: Mapping[str, Referee]
) -> str:
    """Returns a sentence on a pair: by which metrics the later model is better, worse or neither, and its length."""
    seeds = max(entry["trained"] for entry in entries.values())
    groups: dict[str, list[str]] = {}
    for metric, entry in entries.items():
        if referees[metric].main:
            said_by = f"{label(metric)} {with_interval(entry)} ({KINDS[referees[metric].kind]})"
            groups.setdefault(entry["verdict" if seeds >= MIN_SEEDS else "over_prompts"], []).append(said_by)
    order = [word for word in ("better", "higher", "worse", "lower", UNDECIDED) if word in groups]
    said = "; ".join(f"{word} by {listed(groups[word])}" for word in order)
    length = in_length(entries["words"]["mean"])
    if seeds >= MIN_SEEDS:
        return f"{later} against {earlier}: {said}; {length}."
    return (
        f"{later} against {earlier}: undecided over seeds ({count(seeds, 'seed')}, {MIN_SEEDS} or more are needed). "
        f"On these prompts alone: {said}; {length}."
    )


def with_interval(entry: Mapping[str, Any]) -> str:
    """Returns `in_figures` of a difference, typeset, or "not judged"."""
    if entry["mean"] is None:
        return "not judged"
    return typeset(in_figures(entry, 3 if abs(entry["mean"]) < 1 else 1, sign="+"))


def in_figures(entry: Mapping[str, Any], digits: int = 3, sign: str = "") -> str:
    """Returns `0.040 [0.020, 0.060] {0.010, 0.070}`: the mean, its interval over prompts, and that over seeds."""
    over_seeds = interval(entry.get("runs_low"), entry.get("runs_high"), digits)
    braces = "" if over_seeds == NONE else f" {{{over_seeds[1:-1]}}}"
    return estimate(entry["mean"], entry["low"], entry["high"], digits, sign) + braces


def in_length(mean: float | None) -> str:
    if mean is None:
        return "of unknown length"
    return f"{abs(mean):.1f} words {'more' if mean > 0 else 'fewer'}" if abs(mean) >= 0.05 else "as many words"


def listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def contradictions(
    later: str, earlier: str, entries: Mapping[str, Mapping[str, Any]], referees: Mapping[str, Referee]
) -> tuple[list[str], list[str]]:
    """Returns warnings and notes on a trained reward and other metrics whose differences have opposite signs. A metric
    goes into a warning if its interval over prompts and the reward's exclude 0, else into a note: a sign may be chance.
    """
    warnings, notes = [], []
    mains = [metric for metric in entries if referees[metric].main and entries[metric]["mean"] is not None]
    others = [metric for metric in mains if referees[metric].kind != "trained"]
    said_by = {m: f"{label(m)} ({KINDS[referees[m].kind]}) {signed(entries[m])}" for m in others}
    for trained in (metric for metric in mains if referees[metric].kind == "trained"):
        one = entries[trained]
        against = [other for other in others if one["mean"] * entries[other]["mean"] < 0]
        sure = [m for m in against if {one["over_prompts"], entries[m]["over_prompts"]} == {"higher", "lower"}]
        unsure = [metric for metric in against if metric not in sure]
        said = f"{later} against {earlier}: {label(trained)}, which was trained on, is {signed(one)}"
        if sure:
            warnings.append(
                f"{said}, but {listed([said_by[m] for m in sure])}: it has learned to please its reward, or the reward "
                "sees what the others do not"
            )
        if unsure:
            names = listed([said_by[m] for m in unsure])
            notes.append(f"{said}, and {names}, though one of the two may be chance")
    return warnings, notes


def signed(entry: Mapping[str, Any]) -> str:
    return typeset(number(entry["mean"], sign="+"))


def label(metric: str) -> str:
    """Returns a metric's name for people: `posh_f1` as `PoSh F1`."""
    words = {"posh": "PoSh", "f1": "F1", "sft": "SFT", "vqa": "VQA"}
    return " ".join(words.get(word, word) for word in metric.replace("/", " ").replace("_", " ").split())


def by_kind(referees: Mapping[str, Referee]) -> dict[Kind, list[str]]:
    return {kind: [name for name, one in referees.items() if one.main and one.kind == kind] for kind in KINDS}


def lost_by(referees: Mapping[str, Referee]) -> list[str]:
    """Returns the main metrics in the order in which they may say who lost a prompt. Metrics without a judge come
    first, then judges that were not trained on, then overlap, and the trained reward last.
    """
    groups = by_kind(referees)
    sure = [metric for metric in groups["judgeless"] if metric != "overlap"]
    return [*sure, *groups["untrained"], *(["overlap"] if "overlap" in referees else []), *groups["trained"]]
