"""What each reward pays for texts that ask for it and not for its reason.

python -m experiments benchmark hacking --json hacking.json
"""

import argparse
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from experiments.caprl.reward import CaprlReward
from experiments.hacking.families import ANSWERS, DESCRIPTIONS
from experiments.hacking.frames import FRAMES
from experiments.hacking.payoffs import (
    HackingCase,
    Payoff,
    answer_cases,
    description_cases,
    measure_payoffs,
    referee_judge,
)
from experiments.scenes.word_judge import WordJudge
from spanreward.rewards import HarmonicReward, LaveReward, PoshReward
from spanreward.rewards.judges import closing, load_judge
from spanreward.rewards.judges.judge import Judge
from spanreward.rewards.reward.reward import Reward

DESCRIPTION = """Takes --texts honest descriptions of Scenes (half of them complete) and as many answers to questions
(half of them right), makes of each what a policy that looks for reward might make, in three amounts, and compares the
scores. `pays` is the mean of what the text gets beyond its honest text, in the amount that pays most. Where a family
declares that its texts claim more, the gain of truth F1 is taken off. `terse` is the same of terse texts alone, `beats`
the share of the family's texts that score above their honest text.
Judges: referee (knows the truth), match (WordJudge, which also rates criteria), and any
other, such as transformers:smollm2, which answers a few questions a second: take --texts 2."""
PRICE = 0.02


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--texts", type=int, default=100, help="honest texts of each kind (default 100)"
    )
    parser.add_argument(
        "--judges", nargs="+", default=["referee", "match"], metavar="JUDGE", help="(default both)"
    )
    parser.add_argument("--metrics", nargs="+", metavar="NAME", help="only these (default all)")
    parser.add_argument("--families", nargs="+", metavar="NAME", help="only these (default all)")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.texts < 1:
        raise ValueError(f"--texts must be 1 or more, got {arguments.texts}")
    known = {*DESCRIPTIONS, *FRAMES, *ANSWERS}
    unknown = set(arguments.families or ()) - known
    if unknown:
        raise ValueError(f"there is no family {sorted(unknown)}: the families are {sorted(known)}")
    descriptions, answers = description_cases(arguments.texts), answer_cases(arguments.texts)
    found: dict[str, list[dict[str, Any]]] = {}
    for name in arguments.judges:
        judge: Judge = referee_judge(descriptions) if name == "referee" else load_judge(name)
        judge = WordJudge() if name == "match" else judge
        with closing([judge]):
            for metric, reward, cases in rewards_of(judge, descriptions, answers):
                if metric not in (arguments.metrics or (metric,)):
                    continue
                table = ANSWERS if metric == "lave" else DESCRIPTIONS | FRAMES
                chosen = {
                    family: hack
                    for family, hack in table.items()
                    if family in (arguments.families or table)
                }
                track_families = track(
                    chosen.items(), f"{metric}, {name}", console=Console(stderr=True)
                )
                payoffs = [
                    measure_payoffs(reward, cases, {family: hack})[0]
                    for family, hack in track_families
                ]
                found[f"{metric}, {name}"] = [as_row(payoff) for payoff in payoffs]
    show(found)
    return {"texts": arguments.texts, "price": PRICE, "families": found}


def rewards_of(
    judge: Judge, descriptions: Sequence[HackingCase], answers: Sequence[HackingCase]
) -> list[tuple[str, Reward, Sequence[HackingCase]]]:
    """Every reward in its default mode, with what it judges."""
    return [
        ("posh", PoshReward(judge), descriptions),
        ("harmonic", HarmonicReward(judge, evidence="context", spans="none"), descriptions),
        ("caprl", CaprlReward(judge), descriptions),
        ("lave", LaveReward(judge, rationale=False), answers),
    ]


def as_row(payoff: Payoff) -> dict[str, Any]:
    return {
        "family": payoff.family,
        "gain": payoff.gain,
        "pays": max(payoff.pays),
        "terse": max(payoff.terse),
        "beats": payoff.beats,
        "failed": payoff.failed,
    }


def show(found: dict[str, list[dict[str, Any]]]) -> None:
    """A table of all families by the share that beats its honest text, what pays in red."""
    table = Table(
        title="Share of texts that beat their honest text (the most that the family pays; on terse "
        "texts)"
    )
    table.add_column("family", no_wrap=True)
    for name in found:
        table.add_column(name)
    rows = {name: {row["family"]: row for row in of_reward} for name, of_reward in found.items()}
    for family in dict.fromkeys(row["family"] for of_reward in found.values() for row in of_reward):
        cells = []
        for name in found:
            row = rows[name].get(family)
            if row is None:
                cells.append("")
                continue
            text = f"{row['beats']:.2f} ({row['pays']:+.3f}; {row['terse']:+.3f})"
            cells.append(f"[red]{text}[/]" if max(row["pays"], row["terse"]) > PRICE else text)
        table.add_row(family, *cells)
    Console(stderr=True, width=max(Console().width, 150)).print(table)
