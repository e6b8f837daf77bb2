"""Sets of people's judgments that no column map can describe: HAT has a flag per word, EVOUNA five systems a line.

read_hat(Path("../shared/data/hat_aloha/hat_trainval.jsonl"))[0].mistakes
"""

from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from spanreward.rewards.labels.records import Record, read_objects
from spanreward.rewards.verdict import Sample

SYSTEMS = ("fid", "gpt35", "chatgpt", "gpt4", "newbing")


@dataclass(frozen=True, slots=True)
class FlaggedWord:
    """Characters [start, end) of a caption; `flagged` where people call the word hallucinated."""

    start: int
    end: int
    flagged: bool


def read_hat(path: Path) -> list[Record]:
    """Reads ALOHa's captions. `mistakes` are the flagged words; the rating of mistakes is 1 where there are none."""
    records = []
    for where, row in read_objects(path):
        words = flagged_words(row["caption"], row["word_flags"])
        runs = [list(run) for flagged, run in groupby(words, lambda word: word.flagged) if flagged]
        records.append(
            Record(
                where,
                group=row["image_path"],
                samples=(Sample("", row["caption"], references=tuple(row["references"])),),
                ratings={"mistakes": (float(not row["contains_hallucination"]),)},
                mistakes=tuple((run[0].start, run[-1].end) for run in runs),
            )
        )
    return records


def flagged_words(caption: str, flags: list[tuple[str, bool]]) -> tuple[FlaggedWord, ...]:
    """Returns each word at its place in the caption. Raises ValueError for a word that is not there, in order."""
    words, place = [], 0
    for word, flagged in flags:
        start = caption.find(word, place)
        if start < 0:
            raise ValueError(f"the flagged word {word!r} does not follow character {place} of {caption!r}")
        place = start + len(word)
        words.append(FlaggedWord(start, place, bool(flagged)))
    return tuple(words)


def read_evouna(path: Path) -> list[Record]:
    """Reads the answers of five systems, rated 1 where people call them right, else 0; null answers are left out."""
    records = []
    for where, row in read_objects(path):
        asked = Sample("", "", question=row["question"], answers=tuple(row["golden_answer"].split("/")))
        for system in SYSTEMS:
            if (answer := row[f"answer_{system}"]) is not None:
                quality = {"quality": (float(bool(row[f"judge_{system}"])),)}
                samples = (replace(asked, completion=answer),)
                records.append(Record(where, str(row["id"]), samples, slice=system, ratings=quality))
    return records
