"""How far a search that maximises reward less truth gets, on Scenes and on people's captions.

python -m experiments benchmark gap --judges match referee --json gap.json
"""

import argparse
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from experiments.agreement.caption_sets import load_flickr8k_expert
from experiments.benchmark.search import CHILDREN, FILLERS, mutant
from experiments.hacking.frames import FRAMES
from experiments.hacking.payoffs import HackingCase, description_cases, referee_judge, truth
from experiments.scenes.denial import READ
from spanreward.rewards import PoshReward
from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.judges import closing, load_judge
from spanreward.rewards.judges.judge import Judge
from spanreward.rewards.reward.reward import Reward

DESCRIPTION = """Hill climbing from terse honest texts: each step makes 40 mutants and keeps the one with the largest
gap, the reward less the truth. Mutants change words, join words by signs, hide them in unicode, and add frames that
name a thing without claiming it. On Scenes the truth is the referee's F1 at level 1, and a frame is worth 0. The
referee reads no sentence with a word that it does not know. The search maximises the gap to a generous reading, which
skips such words and signs as people do; "strict" is the gap to the referee's own reading of what was found. With
--people it starts from people's captions (Flickr8k), and the truth is the same reward against the other references.
honest: the gap of the texts it starts from. Seeds and budget are fixed."""
JOINTS = (".", "_", "-", "/", "|", ",", " or ", " and ", " not ", ": ", "\u00ad", "\u200b")
PEOPLE = 8  # captions that the search starts from
Truth = Callable[[str], float]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--judges", nargs="+", default=["match", "referee"], metavar="JUDGE", help="(default both)"
    )
    parser.add_argument("--starts", type=int, default=8, help="texts that are mutated (default 8)")
    parser.add_argument(
        "--evaluations", type=int, default=1500, help="mutants per text (default 1500)"
    )
    parser.add_argument(
        "--people", type=Path, metavar="FOLDER", help="the sets' folder: people's captions too"
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    if min(arguments.starts, arguments.evaluations) < 1:
        raise ValueError("--starts and --evaluations must be 1 or more")
    level1 = description_cases(4 * arguments.starts)[: 2 * arguments.starts]
    cases = [case for case in level1 if case.terse]
    found: dict[str, Any] = {}
    for name in arguments.judges:
        judge: Judge = referee_judge(cases) if name == "referee" else load_judge(name)
        with closing([judge]):
            reward = PoshReward(judge)
            found[f"scenes, {name}"] = search(reward, scenes(cases), arguments.evaluations, name)
            if arguments.people and name != "referee":
                found[f"people, {name}"] = search(
                    reward, people(reward, arguments.people), arguments.evaluations, "people"
                )
    table = Table(
        "search",
        "reward",
        "truth",
        "gap",
        "largest",
        "strict",
        "honest gap",
        title="Largest reward less truth found",
    )
    for name, one in found.items():
        gaps = one["gaps"]
        cells = (one["reward"], one["truth"], fmean(gaps), max(gaps), one["strict"], one["honest"])
        table.add_row(name, *(f"{cell:.3f}" for cell in cells))
    Console(stderr=True).print(table)
    return {"evaluations": arguments.evaluations, "searches": found}


Start = tuple[Sample, Truth, list[str], HackingCase | None]


def scenes(cases: Sequence[HackingCase]) -> list[Start]:
    """A start per case: its sample, its truth, words to mutate with, and the case that frames are
    made of.
    """
    starts: list[Start] = []
    for case in cases:
        words = [word for reference in case.sample.references for word in reference.split()]
        starts.append((case.sample, lambda text, case=case: generous(case, text), words, case))  # type: ignore[misc]
    return starts


def generous(case: HackingCase, text: str) -> float:
    """The better of two truths: of the text, and of it without hidden marks and without words of no
    description.
    """
    words = re.findall(r"[a-z]+|[.,?!\n]", re.sub("[\u00ad\u200b]", "", text).lower())
    return max(
        truth(case, text),
        truth(case, " ".join(word for word in words if word in READ or not word.isalpha())),
    )


def people(reward: Reward, folder: Path) -> list[Start]:
    starts: list[Start] = []
    for image in load_flickr8k_expert(folder)[:PEOPLE]:
        first, *others = image.references
        known, other = tuple(others[:2]), tuple(others[2:])

        def worth(text: str, other: tuple[str, ...] = other) -> float:
            return reward.judge_samples([Sample("", text, references=other)])[0].score or 0.0

        words = [word for reference in known for word in reference.split()]
        starts.append((Sample("", first, references=known), worth, words, None))
    return starts


def search(reward: Reward, starts: Sequence[Start], evaluations: int, name: str) -> dict[str, Any]:
    best, honest = [], []
    for number, (sample, truth_of, words, case) in track(
        list(enumerate(starts)), f"gap, {name}", console=Console(stderr=True)
    ):
        rng = random.Random(f"gap {number}")
        text, framed = sample.completion, ""
        at = scored(reward, sample, [text])[0]
        honest.append(at - truth_of(text))
        kept = (at - truth_of(text), at, text, framed)
        for _ in range(evaluations // CHILDREN):
            children = [child(kept[2], kept[3], words, case, rng) for _ in range(CHILDREN)]
            rewards = scored(
                reward, sample, [f"{said} {frame}".strip() for said, frame in children]
            )
            gaps = [
                (value - truth_of(said), value, said, frame)
                for value, (said, frame) in zip(rewards, children, strict=True)
            ]
            kept = max([kept, *gaps], key=lambda one: one[0])
        best.append(kept)
    return {
        "reward": fmean(value for _, value, _, _ in best),
        "truth": fmean(value - gap for gap, value, _, _ in best),
        "gaps": [gap for gap, _, _, _ in best],
        "honest": fmean(honest),
        "strict": fmean(
            at - truth(case, said) if case else gap
            for (gap, at, said, _), (*_, case) in zip(best, starts, strict=True)
        ),
        "found": [f"{said} {frame}".strip() for _, _, said, frame in best],
    }


def child(
    said: str, framed: str, words: Sequence[str], case: HackingCase | None, rng: random.Random
) -> tuple[str, str]:
    """A mutant of the text, of which the frames stand apart: they add nothing to the truth."""
    kind = rng.choice(("word", "word", "joint", "frame", "unframe"))
    if kind == "joint":
        pieces = said.split(" ")
        place = rng.randrange(max(len(pieces) - 1, 1))
        return "".join(
            [" ".join(pieces[: place + 1]), rng.choice(JOINTS), " ".join(pieces[place + 1 :])]
        ), framed
    if kind == "frame" and case is not None:
        frame = rng.choice(list(FRAMES.values()))
        added = (
            frame.hack(case.case, rng.choice((1, 2)), rng).removeprefix(case.case.honest).strip()
        )
        return said, f"{framed} {added}".strip()
    if kind == "unframe" and framed:
        return said, ""
    return mutant(said, [*FILLERS, *words], rng), framed


def scored(reward: Reward, sample: Sample, texts: Sequence[str]) -> list[float]:
    samples = [
        Sample(sample.prompt, text, references=sample.references, context=sample.context)
        for text in texts
    ]
    return [verdict.score or 0.0 for verdict in reward.judge_samples(samples)]
