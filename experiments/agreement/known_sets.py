"""A set of people's judgments that no column map can describe: HAT has a flag per word.

read_hat(Path("../shared/data/hat_aloha/hat_trainval.jsonl"))[0].mistakes
"""

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from experiments.labels.judgments import Judgment
from experiments.labels.records import read_objects
from spanreward.rewards.base.verdict import Sample


@dataclass(frozen=True, slots=True)
class FlaggedWord:
    """Characters [start, end) of a caption; `flagged` where people call the word hallucinated."""

    start: int
    end: int
    flagged: bool


def read_hat(path: Path) -> list[Judgment]:
    """Reads ALOHa's captions.

    `mistakes` are the flagged words; the rating of mistakes is 1 where there are none.
    """
    records = []
    for where, row in read_objects(path):
        words = flagged_words(row["caption"], row["word_flags"])
        runs = [list(run) for flagged, run in groupby(words, lambda word: word.flagged) if flagged]
        records.append(
            Judgment(
                where,
                group=row["image_path"],
                samples=(Sample("", row["caption"], references=tuple(row["references"])),),
                ratings={"mistakes": (float(not row["contains_hallucination"]),)},
                mistakes=tuple((run[0].start, run[-1].end) for run in runs),
            )
        )
    return records


def flagged_words(caption: str, flags: list[tuple[str, bool]]) -> tuple[FlaggedWord, ...]:
    """Returns each word at its place in the caption.

    Raises ValueError for a word that is not there, in order.
    """
    words, place = [], 0
    for word, flagged in flags:
        start = caption.find(word, place)
        if start < 0:
            raise ValueError(
                f"the flagged word {word!r} does not follow character {place} of {caption!r}"
            )
        place = start + len(word)
        words.append(FlaggedWord(start, place, bool(flagged)))
    return tuple(words)
