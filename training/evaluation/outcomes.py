"""When a comparison may say "better": where other prompts and other training seeds would keep the sign.

    judge_pair(entry, "posh_f1")        # {"verdict": "undecided", "over_prompts": "higher", "over_seeds": "undecided",
                                        #  "why": "undecided over seeds: 1 seed, 3 or more are needed"}

"Better" needs an interval over prompts and seeds together on one side of 0, a p-value below LEVEL after Holm's
adjustment over all pairs and referees, and a difference whose sign no failed judgment could turn. "Higher" is about
these prompts and these models alone.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from spanreward.rewards.comparison.figures import NONE, estimate, interval, label, number, typeset
from spanreward.training.evaluation.referees import KINDS, Kind, Referee
from spanreward.training.evaluation.statistics import MIN_SEEDS

LEVEL = 0.05
MIN_PROMPTS = 6  # a sign test of 5 differences of one sign has p = 2 / 2**5 = .06
UNDECIDED = "undecided"
WORDS = {  # by metric, for higher and lower: the verdict, and the word for these prompts alone
    "words": (("longer", "shorter"), ("longer", "shorter")),
    "length": (("longer", "shorter"), ("longer", "shorter")),
    "truncated": (("worse", "better"), ("more", "fewer")),
    "degenerate": (("worse", "better"), ("more", "fewer")),
}
ORDER = ("better", "higher", "worse", "lower")
USUAL = (("better", "worse"), ("higher", "lower"))


def judge_pair(entry: Mapping[str, Any], metric: str, fixed: bool = False, lone: str = "") -> dict[str, str]:
    """Returns the verdict on a difference, an entry of results.json, and why it is undecided where it is.

    An entry may have `holm`, its adjusted p-value, and `worst_case`. fixed: both sides are fixed systems, whose verdict
    is over prompts alone. lone: the side that is one training run beside several of the other, "" for none.
    """
    prompts, seeds = sign(entry["low"], entry["high"]), sign(entry["runs_low"], entry["runs_high"])
    ends, adjusted = entry.get("worst_case"), entry.get("holm")
    why, more = [], []
    if entry["counted"] < MIN_PROMPTS:
        why.append(f"{UNDECIDED} over prompts: {count(entry['counted'], 'prompt')}, {MIN_PROMPTS} or more are needed")
    elif not prompts:
        why.append(f"{UNDECIDED} over prompts: the interval holds 0")
    elif ends and min(prompts * end for end in ends) <= 0:
        why.append(f"{UNDECIDED}: the {entry['failed']} failed judgments could turn it, to {ends[prompts < 0]:+.3f}")
    elif adjusted is not None and adjusted >= LEVEL:
        why.append(f"{UNDECIDED}: one of several differences, with an adjusted p of {adjusted:.2g} (Holm)")
    if not fixed and entry["trained"] < MIN_SEEDS:
        more.append(f"{UNDECIDED} over seeds: {count(entry['trained'], 'seed')}, {MIN_SEEDS} or more are needed")
    elif not fixed and sign(entry["both_low"], entry["both_high"]) != prompts:
        more.append(f"{UNDECIDED} over prompts and seeds together: the interval holds 0")
    elif not fixed and lone:
        more.append(f"{UNDECIDED} over seeds: {lone} is one training run")
    (better, worse), (higher, lower) = WORDS.get(metric, USUAL)
    prompts = 0 if why else prompts
    return {
        "verdict": UNDECIDED if more or not prompts else better if prompts > 0 else worse,
        "over_prompts": {1: higher, -1: lower, 0: UNDECIDED}[prompts],
        "over_seeds": {1: higher, -1: lower, 0: UNDECIDED}[seeds],
        "why": "; ".join(why + more),
    }


def sign(low: float | None, high: float | None) -> int:
    """Returns 1 or -1 where the interval lies on one side of 0, else 0."""
    if low is None or high is None:
        return 0
    return (low > 0) - (high < 0)


def count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def sentence(
    later: str,
    earlier: str,
    entries: Mapping[str, Mapping[str, Any]],
    referees: Mapping[str, Referee],
    fixed: bool = False,
    lone: str = "",
) -> str:
    """Returns a sentence on a pair: by which metrics the later model is better, worse or neither, and its length."""
    seeds = max(entry["trained"] for entry in entries.values())
    limit = f"{count(seeds, 'seed')}, {MIN_SEEDS} or more are needed" if seeds < MIN_SEEDS else ""
    limit = "" if fixed else limit or (f"{lone} is one training run" if lone else "")
    groups: dict[str, list[str]] = {}
    for metric, entry in entries.items():
        if referees[metric].main:
            kind = "" if fixed and referees[metric].kind == "unknown" else f" ({KINDS[referees[metric].kind]})"
            said_by = f"{label(metric)} {with_interval(entry)}{kind}"
            groups.setdefault(entry["over_prompts" if limit else "verdict"], []).append(said_by)
    said = "; ".join(f"{word} by {listed(groups[word])}" for word in (*ORDER, UNDECIDED) if word in groups)
    length = in_length(entries["words"]["mean"])
    if not limit:
        return f"{later} against {earlier}: {said}; {length}."
    return f"{later} against {earlier}: undecided over seeds ({limit}). On these prompts alone: {said}; {length}."


def plain(later: str, earlier: str, entries: Mapping[str, Mapping[str, Any]], referees: Mapping[str, Referee]) -> str:
    """Returns the pair in a few words without figures: `dapo is better than sft by PoSh F1, and worse by overlap.`"""
    mains = [metric for metric in entries if referees[metric].main]
    sure = any(entries[metric]["verdict"] != UNDECIDED for metric in mains)
    groups: dict[str, list[str]] = {}
    for metric in mains:
        groups.setdefault(entries[metric]["verdict" if sure else "over_prompts"], []).append(label(metric))
    found = [f"{word} {{}}by {counted(groups[word], len(mains))}" for word in ORDER if word in groups]
    if not found:
        return f"{later} against {earlier}: no difference that is beyond chance."
    said = ", and ".join(found).replace("{}", f"than {earlier} ", 1).replace("{}", "")
    return f"{later} is {said}{'' if sure else ', on these prompts'}."


def counted(names: Sequence[str], of: int) -> str:
    """Returns up to two names, or how many of the referees they are."""
    few = f"all {of} referees" if len(names) == of else f"{len(names)} of {of} referees"
    return listed(names) if len(names) < 3 else few


def p_value(p: float) -> str:
    """Returns a p-value of two digits: 0.034, or < .001."""
    return "< .001" if p < 0.001 else f"{p:.2g}" if p < 0.095 else f"{p:.2f}"


def equivalence(entry: Mapping[str, Any]) -> str:
    """Returns what two one-sided tests say of a difference: `equivalent within 0.02 (p 0.003)`; "" where not asked."""
    found = entry.get("equivalent")
    if not found:
        return ""
    p = found["p"]
    word = "equivalent within" if found["holds"] else "not shown to be equivalent within"
    return f"{word} {found['within']:g}" + ("" if p is None else f" (p {p_value(p)})")


def with_interval(entry: Mapping[str, Any]) -> str:
    """Returns `in_figures` of a difference, typeset, or "not judged"."""
    if entry["mean"] is None:
        return "not judged"
    return typeset(in_figures(entry, 3 if abs(entry["mean"]) < 1 else 1, sign="+"))


def in_figures(entry: Mapping[str, Any], digits: int = 3, sign: str = "") -> str:
    """Returns `0.040 [0.020, 0.060] {0.010, 0.070}`: the mean, its interval over prompts, and that over prompts and
    seeds together, where there are seeds.
    """
    both = NONE if entry.get("runs_low") is None else interval(entry.get("both_low"), entry.get("both_high"), digits)
    braces = "" if both == NONE else f" {{{both[1:-1]}}}"
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
    """Returns warnings and notes on any two referees whose differences have opposite signs. It is a warning if both
    intervals over prompts exclude 0. Of the others one note tells both sides: a sign may be chance. Where one of them
    was trained on, it says so.
    """
    warnings: list[str] = []
    doubtful = False
    mains = [metric for metric in entries if referees[metric].main and entries[metric]["mean"] is not None]
    ordered = sorted(mains, key=lambda metric: referees[metric].kind != "trained")
    for place, metric in enumerate(ordered, start=1):
        one = entries[metric]
        against = [other for other in ordered[place:] if one["mean"] * entries[other]["mean"] < 0]
        sure = [m for m in against if {one["over_prompts"], entries[m]["over_prompts"]} == {"higher", "lower"}]
        learned = "it has learned to please its reward, or the reward sees what the others do not"
        why = learned if referees[metric].kind == "trained" else "look at what each of them sees"
        if sure:
            said, others = as_said([metric], entries, referees), as_said(sure, entries, referees)
            warnings.append(f"{later} against {earlier}: {said}, but {others}: {why}")
        doubtful = doubtful or len(against) > len(sure)
    if not doubtful:
        return warnings, []
    sides = [[m for m in mains if sign * entries[m]["mean"] > 0] for sign in (1, -1)]
    plus, minus = (as_said(side, entries, referees) for side in sides)
    return warnings, [f"{later} against {earlier}: {plus}, but {minus}; one of the signs may be chance"]


def as_said(metrics: Sequence[str], entries: Mapping[str, Mapping[str, Any]], referees: Mapping[str, Referee]) -> str:
    return listed([f"{label(m)} ({KINDS[referees[m].kind]}) {signed(entries[m])}" for m in metrics])


def signed(entry: Mapping[str, Any]) -> str:
    return typeset(number(entry["mean"], sign="+"))


def by_kind(referees: Mapping[str, Referee]) -> dict[Kind, list[str]]:
    return {kind: [name for name, one in referees.items() if one.main and one.kind == kind] for kind in KINDS}


def lost_by(referees: Mapping[str, Referee]) -> list[str]:
    """Returns the main metrics in the order in which they may say who lost a prompt. Metrics without a judge come
    first, then judges that were not trained on or may have been, then overlap, and the trained reward last.
    """
    groups = by_kind(referees)
    sure = [metric for metric in groups["judgeless"] if metric != "overlap"]
    others = [*groups["untrained"], *groups["unknown"], *(["overlap"] if "overlap" in referees else [])]
    return [*sure, *others, *groups["judge"], *groups["trained"]]
