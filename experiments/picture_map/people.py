"""How much people leave out of a picture, and how often they err: shares for references of Scenes.

    shares_of_people(Path("../shared/data"))
    # {"left_out": {...}, "wrong": {...}}

Left out: of the things that at least two of the other people name, the share that a caption does
not name. Names are compared as lemmas, so other words for the same thing ("man", "person") count as
left out: the figure is too high rather than too low. Wrong: the captions by people of THUMB whose
precision other people rated below 5, and what a detail's share of errors must then be.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.agreement.caption_sets import read_set
from spanreward.rewards.language.lemmas import lemmas_of_phrase
from spanreward.rewards.language.parse import scene_graphs

CAPTIONS = 5  # of a picture
FREELY_NAMED = 2  # of the other people name it, so it is there
DETAILS = 4  # that a caption of Scenes has: about two things, each with a size and a colour
BEST = 5.0  # rating of precision: nothing is wrong


def shares_of_people(data: Path) -> dict[str, Any]:
    """data: the folder of people's captions. Raises FileNotFoundError where it is not there."""
    left_out: dict[str, Any] = {}
    for name, pictures in captions_by_set(data).items():
        shares = [share for captions in pictures for share in left_out_shares(captions)]
        left_out[name] = {"pictures": len(pictures), "share": fmean(shares)}
    precisions: list[float] = []
    for row in read_set(data, "thumb", "thumb_mscoco.jsonl"):
        for candidate in row["candidates"]:
            if candidate["SYS"] == "Human":
                precisions.append(candidate["P"])
    captions = fmean(precision < BEST for precision in precisions)
    return {
        "left_out": left_out,
        "wrong": {
            "captions": len(precisions),
            "with_an_error": captions,
            # with_an_error = 1 - (1 - share) ** DETAILS
            "share_of_details": 1 - (1 - captions) ** (1 / DETAILS),
        },
    }


def captions_by_set(data: Path) -> dict[str, list[list[str]]]:
    """Returns the captions of each picture that has CAPTIONS by people."""
    flickr = [
        row["references"] for row in read_set(data, "flickr8k_expert", "flickr8k_expert.jsonl")
    ]
    coco = [row["captions"] for row in read_set(data, "coco_open_images", "records.jsonl")]
    thumb: list[list[str]] = []
    for row in read_set(data, "thumb", "thumb_mscoco.jsonl"):
        by_people = [one["hyp"] for one in row["candidates"] if one["SYS"] == "Human"]
        thumb.append([*row["references"], *by_people])
    sets = {"Flickr8k": flickr, "COCO, open pictures": coco, "COCO, THUMB": thumb}
    return {
        name: [captions for captions in pictures if len(captions) == CAPTIONS]
        for name, pictures in sets.items()
    }


def left_out_shares(captions: Sequence[str]) -> list[float]:
    """Returns for each caption the share of the things that it leaves out. One about whose picture
    the others agree on nothing has none.
    """
    named = [names_in(graph.entities) for graph in scene_graphs(list(captions))]
    shares: list[float] = []
    for number, own in enumerate(named):
        counts: Counter[frozenset[str]] = Counter()
        for other, names in enumerate(named):
            if other != number:
                counts.update(names)
        there = {name for name, count in counts.items() if count >= FREELY_NAMED}
        if there:
            shares.append(len(there - own) / len(there))
    return shares


def names_in(entities: Sequence[Any]) -> set[frozenset[str]]:
    return {lemmas_of_phrase(entity.head) for entity in entities}
