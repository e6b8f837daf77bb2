"""What the penalty for filler takes from people's own captions: next to nothing, or its bounds are
wrong.

    for row in measure_filler(Path("../shared/data")):
        row.name, row.texts, row.charged  # of the set's texts, the share that loses more than LOSS

A text is measured as PoSh's default mode measures it, with its scene graph and its own words as the
reference.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from experiments.agreement.caption_sets import (
    load_discosg_foil,
    load_discosg_graphs,
    load_flickr8k_expert,
    load_haelm,
    load_hat,
    load_sugarcrepe,
    load_thumb,
    read_set,
)
from spanreward.rewards.language.parse import scene_graphs
from spanreward.rewards.posh.scores import stated_ranges
from spanreward.rewards.text.filler import find_filler

LOSS = 0.01


@dataclass(frozen=True, slots=True)
class FillerRow:
    """charged: the share of the texts that lose more than LOSS of their score; mean: of the shares
    of filler.
    """

    name: str
    texts: int
    words: float
    charged: float
    mean: float


def texts_of_hat(folder: Path) -> list[str]:
    return [text for record in load_hat(folder) for text in (record.caption, *record.references)]


def texts_of_flickr8k(folder: Path) -> list[str]:
    images = load_flickr8k_expert(folder)
    return [
        text
        for one in images
        for text in (*one.references, *(caption for caption, _ in one.candidates))
    ]


SETS: dict[str, Callable[[Path], list[str]]] = {
    "flickr8k_expert": texts_of_flickr8k,
    "thumb": lambda folder: [
        text
        for image in load_thumb(folder)
        for one in image
        for text in (one.text, *one.references)
    ],
    "hat_aloha": texts_of_hat,
    "sugarcrepe": lambda folder: [
        text for one in load_sugarcrepe(folder) for text in (one.caption, one.negative)
    ],
    "haelm": lambda folder: [text for one in load_haelm(folder) for text in one.references],
    "pascal50s": lambda folder: [
        text
        for row in read_set(folder, "pascal50s", "pascal50s.jsonl")
        for text in (*row["captions"], *row["references"])
    ],
    "coco_open_images": lambda folder: [
        text
        for row in read_set(folder, "coco_open_images", "records.jsonl")
        for text in row["captions"] or ()
    ],
    "discosg_graphs": lambda folder: [one.caption for one in load_discosg_graphs(folder)],
    "discosg_foil": lambda folder: [
        text for one in load_discosg_foil(folder) for text in (one.reference, one.corrected)
    ],
    "decapbench_oracle_facts": lambda folder: [
        row["oracle_caption"]
        for row in read_set(folder, "decapbench_oracle_facts", "oracle_facts.jsonl")
    ],
    "posh_oracle (IIW)": lambda folder: [
        row["text"]
        for row in read_set(folder, "posh_oracle", "graphs.jsonl")
        if "iiw" in row["source"].lower()
    ],
}


def measure_filler(folder: Path) -> Iterator[FillerRow]:
    """A row per set, every text counted once. Raises FileNotFoundError where a set is not there."""
    for name, load in SETS.items():
        texts = list(dict.fromkeys(load(folder)))
        graphs = scene_graphs(texts)
        shares = [
            find_filler(text, text, stated_ranges(graph), graph.misplaced).share
            for text, graph in zip(texts, graphs, strict=True)
        ]
        yield FillerRow(
            name,
            len(texts),
            sum(len(text.split()) for text in texts) / len(texts),
            sum(share > LOSS for share in shares) / len(texts),
            sum(shares) / len(texts),
        )
