"""People's judgments, read from disk: one frozen record per image or text.

    for record in load_hat(Path("../shared/data")):
        record.caption, record.references, record.words

The argument is the folder that holds the sets' own folders (`hat_aloha/hat_trainval.jsonl` and so
on); the README there says where each comes from. Every loader raises FileNotFoundError, naming the
file, when its set is not there.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.agreement.known_sets import FlaggedWord, flagged_words

Triple = tuple[str, str, str]
_TRIPLE = re.compile(r"\(\s*(.*?)\s+,\s+(.*?)\s+,\s+(.*?)\s*\)(?=\s*,\s*\(|\s*$)")


@dataclass(frozen=True, slots=True)
class JudgedCaption:
    """HaELM: a model's caption of a picture, its references, and whether people found it
    accurate.
    """

    caption: str
    references: tuple[str, ...]
    accurate: bool


@dataclass(frozen=True, slots=True)
class FlaggedCaption:
    """HAT (ALOHa): a caption with a flag on every word."""

    caption: str
    references: tuple[str, ...]
    words: tuple[FlaggedWord, ...]
    hallucinated: bool


@dataclass(frozen=True, slots=True)
class RatedImage:
    """Flickr8k-Expert: candidate captions of one image, each with single experts' ratings from 1 to
    4.
    """

    references: tuple[str, ...]
    candidates: tuple[tuple[str, tuple[float, ...]], ...]


@dataclass(frozen=True, slots=True)
class EditedCaption:
    """SugarCrepe: a caption and the same made wrong by one edit."""

    edit_type: str
    caption: str
    negative: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FoiledText:
    """DiscourseFOIL: a long text with a hallucination, and as people corrected it.

    hallucination: its characters in `hallucinated`; None where the annotator's note is no
    quotation.
    """

    reference: str
    hallucinated: str
    corrected: str
    hallucination: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class DrawnGraph:
    """DiscoSG: a long caption and the triples (subject, predicate, object) people drew from it.

    Splits: train, test.
    """

    caption: str
    triples: tuple[Triple, ...]
    split: str


@dataclass(frozen=True, slots=True)
class RubricCaption:
    """THumB: a caption of a photograph with people's ratings by rubric: P and R from 1 to 5,
    penalties from 0 down.

    system: what wrote it, "Human" among them. human_score: (P + R) / 2 and the penalties.
    """

    image: str
    system: str
    text: str
    references: tuple[str, ...]
    ratings: dict[str, float]


def load_haelm(folder: Path) -> list[JudgedCaption]:
    return [
        JudgedCaption(row["caption"], tuple(row["references"]), row["accurate"] == "yes")
        for row in read_set(folder, "haelm", "haelm_eval.jsonl")
    ]


def load_hat(folder: Path) -> list[FlaggedCaption]:
    return [
        FlaggedCaption(
            row["caption"],
            tuple(row["references"]),
            flagged_words(row["caption"], row["word_flags"]),
            row["contains_hallucination"],
        )
        for row in read_set(folder, "hat_aloha", "hat_trainval.jsonl")
    ]


def load_flickr8k_expert(folder: Path) -> list[RatedImage]:
    return [
        RatedImage(
            tuple(row["references"]),
            tuple(
                (candidate["caption"], tuple(candidate["ratings"]))
                for candidate in row["candidates"]
            ),
        )
        for row in read_set(folder, "flickr8k_expert", "flickr8k_expert.jsonl")
    ]


def load_sugarcrepe(folder: Path) -> list[EditedCaption]:
    return [
        EditedCaption(
            row["edit_type"], row["caption"], row["negative_caption"], tuple(row["references"])
        )
        for row in read_set(folder, "sugarcrepe", "sugarcrepe.jsonl")
    ]


def load_discosg_foil(folder: Path) -> list[FoiledText]:
    return [
        FoiledText(
            row["reference_caption"],
            row["hallucinated_caption"],
            row["corrected_caption"],
            quotation(row["hallucination_note"], row["hallucinated_caption"]),
        )
        for row in read_set(folder, "discosg_foil", "discourse_foil.jsonl")
    ]


def load_discosg_graphs(folder: Path) -> list[DrawnGraph]:
    return [
        DrawnGraph(row["caption"], read_triples(row["scene_graph"]), row["split"])
        for row in read_set(folder, "discosg_graphs", "discosg_human_graphs.jsonl")
    ]


def load_thumb(folder: Path) -> list[list[RubricCaption]]:
    """The captions of each photograph."""
    kinds = ("P", "R", "Fl", "Inc", "Con", "human_score")
    return [
        [
            RubricCaption(
                row["seg_id"],
                c["SYS"],
                c["hyp"],
                tuple(row["references"]),
                {kind: c[kind] for kind in kinds},
            )
            for c in row["candidates"]
        ]
        for row in read_set(folder, "thumb", "thumb_mscoco.jsonl")
    ]


def quotation(note: str, text: str) -> tuple[int, int] | None:
    """Where `text` says what the note quotes after "hallucination:"; None when it does not."""
    quoted = note.partition("hallucination:")[2].strip()
    start = text.find(quoted) if quoted else -1
    return (start, start + len(quoted)) if start >= 0 else None


def read_triples(text: str) -> tuple[Triple, ...]:
    """ "( man , wear , hat ) , ( hat , is , red )" as triples, in order."""
    return tuple(
        (subject, predicate, object_) for subject, predicate, object_ in _TRIPLE.findall(text)
    )


def read_set(folder: Path, name: str, file: str) -> list[dict[str, Any]]:
    path = folder / name / file
    if not path.is_file():
        raise FileNotFoundError(
            f"the set {name} is not there: {path} is missing (give the folder that holds {name}/)."
        )
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
