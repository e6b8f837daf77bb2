"""Sets of people's judgments that no column map reads: HAT has a flag per word, EVOUNA five systems a line.

read_hat(Path("../shared/data/hat_aloha/hat_trainval.jsonl"))[0].mistakes
"""

from itertools import groupby
from pathlib import Path

from rewards.agreement.answer_sets import SYSTEMS
from rewards.agreement.caption_sets import FlaggedWord, flagged_words
from rewards.agreement.records import CharacterSpans, Record, read_objects
from rewards.verdict import Sample


def read_hat(path: Path) -> list[Record]:
    """ALOHa's captions: `mistakes` are the flagged words, and the rating by mistakes is 1 where there are none."""
    records = []
    for where, row in read_objects(path):
        words = flagged_words(row["caption"], row["word_flags"])
        records.append(
            Record(
                where,
                group=row["image_path"],
                samples=(Sample("", row["caption"], references=tuple(row["references"])),),
                ratings={"mistakes": (float(not row["contains_hallucination"]),)},
                mistakes=flagged_spans(words),
            )
        )
    return records


def flagged_spans(words: tuple[FlaggedWord, ...]) -> CharacterSpans:
    """From the first to the last of every run of flagged words."""
    runs = [list(run) for flagged, run in groupby(words, lambda word: word.flagged) if flagged]
    return tuple((run[0].start, run[-1].end) for run in runs)


def read_evouna(path: Path) -> list[Record]:
    """Answers by five systems, rated 1 where people found them right and 0 otherwise; null answers are left out."""
    return [
        Record(
            where,
            group=str(row["id"]),
            samples=(Sample("", row[f"answer_{system}"], question=row["question"], answers=tuple(golden(row))),),
            slice=system,
            ratings={"quality": (float(bool(row[f"judge_{system}"])),)},
        )
        for where, row in read_objects(path)
        for system in SYSTEMS
        if row[f"answer_{system}"] is not None
    ]


def golden(row: dict[str, str]) -> list[str]:
    return row["golden_answer"].split("/")
