"""What a folder of votes says about its models: win rates with intervals over prompts, and what
limits them.

    results = measure_votes(Path("../shared/data/wildvision_bench"))
    results.models["gpt-4o"].score, results.models["gpt-4o"].interval  # 89.1, Interval(87.1, 91.0)
    results.to_json()  # {"models": {"gpt-4o": {...

The keys of votes.jsonl say which layout it has. Rates are in percent. The score leaves unreadable
votes out; `treated` has the score with such votes as ties, losses or wins. Counts, win rate and
reward of five levels take them as ties, as the leaderboard that publishes them does.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from experiments.agreement import iiw_votes, mllm_bench, wildvision_bench
from experiments.agreement.measures import swap_consistency
from experiments.agreement.vote_folder import SHOWN, Battle, Line, VoteFolder, read_lines
from spanreward.rewards.comparison.length import LengthControl, control_length
from spanreward.rewards.comparison.resampling import Interval, ratio_interval
from spanreward.rewards.pairwise.votes import first_slot_share

# by a key that no other layout has
READERS: dict[str, Callable[[Path, Sequence[Line]], VoteFolder]] = {
    "vote_order1": mllm_bench.read,
    "score": wildvision_bench.read,
    "side_iiw": iiw_votes.read,
}
FIVE = {"much_better": 2, "better": 1, "tie": 0, "worse": -1, "much_worse": -2}
# By level: what it adds to the score's numerator and denominator.
SCORES: dict[str, dict[int, tuple[float, float]]] = {
    "mllm_bench": {1: (1, 1), 0: (0, 1), -1: (0, 1)},  # share of wins
    # "much" counts three times
    "wildvision_bench": {2: (3, 3), 1: (1, 1), 0: (0.5, 1), -1: (0, 1), -2: (0, 3)},
    "iiw_votes": {2: (1, 1), 1: (1, 1), 0: (0, 1), -1: (-1, 1), -2: (-1, 1)},  # net preference
}
WHOLE_RATE = 100.0


@dataclass(frozen=True, slots=True)
class ModelVotes:
    """One model against the anchor.

    Attributes:
        score: in percent; SCORES says what it is in each layout. None without a readable vote.
        win_rate: the percentage of wins; with five levels over all votes, unreadable ones as ties.
        reward: mean of 100, 50, 0, -50 and -100 over all votes, unreadable ones as ties; None
            without five levels.
        counts: outcomes by the source's names.
        unreadable: votes outside the source's labels; of mllm_bench, prompts with such a vote.
        interval: 95 % of the score, over prompts; None for one prompt.
        treated: the score with unreadable votes as ties, losses and wins: its worst case in both
            directions.
        unspoken: labels that the source filled in where the judge gave no verdict.
        without_unspoken: the score without these too.
        swap_consistency: the share of prompts on which both orders agree; None for one order.
        first_slot: the share of decided votes for the text shown first; None for one order or an
            unknown one.
        length: the win rate at equal length; None where lengths are unknown.
        prompts: with a vote.
        slices, capabilities: wins, ties and losses by part.
    """

    score: float | None
    win_rate: float | None
    reward: float | None
    counts: dict[str, int]
    unreadable: int
    interval: Interval | None
    treated: dict[str, float]
    unspoken: int
    without_unspoken: float | None
    swap_consistency: float | None
    first_slot: float | None
    length: LengthControl | None
    prompts: int
    slices: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    capabilities: dict[str, tuple[int, int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VoteResults:
    """All models of a folder, in its order; what the source published; and what a reader should
    know.
    """

    layout: str
    anchor: str
    models: dict[str, ModelVotes]
    published: Mapping[str, Any]
    swap_consistency: float | None
    warnings: list[str]

    def to_json(self) -> dict[str, Any]:
        models = {}
        for name, model in self.models.items():
            rates = {"score": model.score, "win_rate": model.win_rate}
            rates |= {} if model.reward is None else {"reward": model.reward}
            interval = asdict(model.interval) if model.interval else {"low": None, "high": None}
            parts = (
                {"levels": model.slices, "capabilities": model.capabilities}
                if model.capabilities
                else {}
            )
            models[name] = {
                **rates,
                "counts": model.counts,
                "unreadable": model.unreadable,
                "interval": interval,
            }
            models[name] |= parts
        return {"models": models}


def read_votes(folder: Path) -> VoteFolder:
    """Raises FileNotFoundError for no file and ValueError, naming the line, for what cannot be
    used.
    """
    lines = read_lines(folder / "votes.jsonl")
    for key, read in READERS.items():
        if key in lines[0].row:
            return read(folder, lines)
    raise ValueError(
        f"{lines[0].where} is of no known layout: it has {', '.join(lines[0].row)}, and none of "
        f"{', '.join(READERS)}."
    )


def measure_votes(folder: Path) -> VoteResults:
    """Raises as `read_votes` does."""
    votes = read_votes(folder)
    groups = votes.by_model()
    if votes.layout == "iiw_votes":  # several questions on one example, which are drawn together
        for battle in votes.battles:
            groups.setdefault(battle.slice, []).append(battle)
    models = {name: measure_model(votes, name, battles) for name, battles in groups.items()}
    swaps = swap_consistency(
        [pair for battle in votes.battles for pair in swap_of(votes.layout, battle)]
    )
    return VoteResults(
        votes.layout, votes.anchor, models, votes.published, swaps, warnings(votes, groups, models)
    )


def measure_model(votes: VoteFolder, name: str, battles: Sequence[Battle]) -> ModelVotes:
    values = SCORES[votes.layout]
    outcomes = [levels_of(votes, battle) for battle in battles]
    levels = [level for found in outcomes for level in found]
    unreadable = levels.count(None)
    score, interval = rate(levels, values), interval_of(battles, outcomes, values)
    wins = WHOLE_RATE * sum(level is not None and level > 0 for level in levels) / len(levels)
    reward: float | None = WHOLE_RATE * sum(level or 0 for level in levels) / (2 * len(levels))
    if votes.layout == "mllm_bench":
        counts, win_rate, reward = mllm_bench.count(battles, name, votes.anchor), score, None
    else:
        found = Counter(level or 0 for level in levels)
        counts, win_rate = {of: found[level] for of, level in FIVE.items()}, wins
    if votes.layout == "wildvision_bench" and name == votes.anchor:
        # by definition, whatever a judge says of two equal texts
        score, interval = 50.0, Interval(50.0, 50.0)
    heard = [all(vote.spoken for vote in battle.votes) for battle in battles]
    spoken = [
        level for found, known in zip(outcomes, heard, strict=True) if known for level in found
    ]
    swaps = [pair for battle in battles for pair in swap_of(votes.layout, battle)]
    cast = [
        (vote.level, vote.first)
        for battle in battles
        for vote in battle.votes
        if vote.first is not None
    ]
    chose_first = [(level > 0) == first for level, first in cast if level]
    return ModelVotes(
        score=score,
        win_rate=win_rate,
        reward=reward,
        counts=counts,
        unreadable=unreadable,
        interval=interval,
        treated={
            how: rate([other if level is None else level for level in levels], values) or 0.0
            for how, other in (("tie", 0), ("loss", min(values)), ("win", max(values)))
        },
        unspoken=sum(level is not None for level in levels)
        - sum(level is not None for level in spoken),
        without_unspoken=rate(spoken, values),
        swap_consistency=swap_consistency(swaps),
        first_slot=first_slot_share(chose_first) if swaps else None,
        length=length_of(battles, outcomes),
        prompts=len({battle.prompt for battle in battles}),
        slices=parts_of([battle.slice for battle in battles], outcomes),
        capabilities=parts_of([battle.capability for battle in battles], outcomes),
    )


def levels_of(votes: VoteFolder, battle: Battle) -> list[int | None]:
    """Returns the battle's outcomes: a level per vote, or what both orders decide (mllm_bench)."""
    if votes.layout != "mllm_bench":
        return [vote.level for vote in battle.votes]
    decided = mllm_bench.outcome(battle, votes.anchor)
    return [None if decided is None else {battle.model: 1, votes.anchor: -1}.get(decided, 0)]


def rate(levels: Sequence[int | None], values: Mapping[int, tuple[float, float]]) -> float | None:
    """Returns the score of these outcomes in percent, unreadable ones left out; None without a
    readable one.
    """
    found = Counter(level for level in levels if level is not None)
    below = sum(values[level][1] * number for level, number in found.items())
    return (
        WHOLE_RATE * sum(values[level][0] * number for level, number in found.items()) / below
        if below
        else None
    )


def interval_of(
    battles: Sequence[Battle],
    outcomes: Sequence[Sequence[int | None]],
    values: Mapping[int, tuple[float, float]],
) -> Interval | None:
    """Returns the score's interval in percent; all votes on one prompt are drawn together."""
    sums: dict[str, tuple[float, float]] = {battle.prompt: (0.0, 0.0) for battle in battles}
    for battle, levels in zip(battles, outcomes, strict=True):
        for level in levels:
            if level is not None:
                above, below = sums[battle.prompt]
                sums[battle.prompt] = (
                    above + WHOLE_RATE * values[level][0],
                    below + values[level][1],
                )
    return ratio_interval(
        [above for above, _ in sums.values()], [below for _, below in sums.values()]
    )


def swap_of(layout: str, battle: Battle) -> list[tuple[Any, Any]]:
    """Returns what the two orders of a battle chose, where it has two."""
    if layout == "mllm_bench":
        return [mllm_bench.choices(battle)]
    if len({vote.first for vote in battle.votes}) < 2:
        return []
    one, two = (
        None if vote.level is None else (vote.level > 0) - (vote.level < 0) for vote in battle.votes
    )
    return [(one, two)]


def length_of(
    battles: Sequence[Battle], outcomes: Sequence[Sequence[int | None]]
) -> LengthControl | None:
    known = [
        ((1 + (level > 0) - (level < 0)) / 2, battle.lengths, battle.prompt)
        for battle, levels in zip(battles, outcomes, strict=True)
        if battle.lengths
        for level in levels
        if level is not None
    ]
    if not known:
        return None
    won, lengths, prompts = zip(*known, strict=True)
    return control_length(won, lengths, prompts)


def parts_of(
    parts: Sequence[str], outcomes: Sequence[Sequence[int | None]]
) -> dict[str, tuple[int, int, int]]:
    """Returns wins, ties and losses of readable outcomes by each battle's part; a battle without
    one is in none.
    """
    found: dict[str, Counter[int]] = {}
    for part, levels in zip(parts, outcomes, strict=True):
        if part:
            signs = [(level > 0) - (level < 0) for level in levels if level is not None]
            found.setdefault(part, Counter()).update(signs)
    return {name: (counts[1], counts[0], counts[-1]) for name, counts in found.items()}


def warnings(
    votes: VoteFolder, groups: Mapping[str, Sequence[Battle]], models: Mapping[str, ModelVotes]
) -> list[str]:
    """Returns a sentence for each thing that makes the numbers mean less than they seem to."""
    sentences = []
    prompts = len({battle.prompt for battle in votes.battles})
    strange = Counter(
        vote.label[:SHOWN] for b in votes.battles for vote in b.votes if vote.level is None
    )
    if strange:
        shown = ", ".join(
            f"{label!r} {count}" if label else f"none {count}"
            for label, count in strange.most_common(3)
        )
        sentences.append(
            f"{strange.total()} votes could not be read (labels: {shown}) and are no ties."
        )
    for name, model in models.items():
        if model.interval is None:
            sentences.append(
                f"{name} has {model.prompts} prompt: an interval over prompts needs two with a "
                "readable vote."
            )
        elif not any(level for battle in groups[name] for level in levels_of(votes, battle)):
            sentences.append(
                f"{name} has no decided vote: nothing was compared, and its interval means nothing."
            )
        if model.prompts < prompts and votes.layout != "iiw_votes":
            sentences.append(
                f"{name} has votes on {model.prompts} of {prompts} prompts: its numbers are about "
                "these."
            )
        official = votes.published.get(name)
        for outcome, count in model.counts.items():
            if isinstance(official, dict) and official.get(outcome, count) != count:
                sentences.append(
                    f"{name}: its source published {official[outcome]} as {outcome}, its votes "
                    f"give {count}."
                )
    if (
        not any(swap_of(votes.layout, battle) for battle in votes.battles)
        and votes.layout != "iiw_votes"
    ):
        sentences.append(
            "Every pair was shown in one order only: the rates may hold a preference for a "
            "position."
        )
    return sentences
