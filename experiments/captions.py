"""Text-only rows for a language model: several people's captions of one picture, and the captions
held back.

    python -m experiments captions --data ../shared/data --output outputs/smollm2/data

writes train.jsonl and test.jsonl, split by picture, for recipes/smollm2/. A row's prompt holds two
captions; three more are its references, which the policy does not see. `context` holds all five,
for a referee that asks whether anybody said so. The captions are those of Flickr8k, PASCAL-50S and
COCO (with SugarCrepe), without the space that tokenised ones have before a full stop. Equal data
make equal files.

--facts writes facts-train.jsonl and facts-test.jsonl, for long texts: the prompt has the triples of
DiscoSG's scene
graph of a picture, as a person corrected them, and the reference is the description that they were
drawn from.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

from experiments.agreement.caption_sets import load_discosg_graphs
from spanreward.rewards.base.texts import texts_of_value
from spanreward.rewards.rows.tables import read_table
from spanreward.training.experimental.judge_training.data import picture_name, place_of

SETS = {  # file: the keys of the picture and of its captions
    "flickr8k_expert/flickr8k_expert.jsonl": ("image_id", ("references",)),
    "pascal50s/pascal50s.jsonl": ("image", ("references",)),
    "sugarcrepe/sugarcrepe.jsonl": ("image_id", ("references", "caption")),
}
SHOWN, HELD_BACK = 2, 3
TEST = 0.2  # of the pictures
ASKED = (
    "Two people wrote of one picture:\n{captions}\nDescribe the picture in one sentence that "
    "agrees with them."
)
FACTS_ASKED = (
    "These facts hold of one picture:\n{facts}\nDescribe the picture in one paragraph "
    "that states them all."
)


def rows(folder: Path) -> Iterator[tuple[float, dict[str, Any]]]:
    """Yields a row for each picture that has enough captions, and a number in [0, 1) that is always
    the picture's.
    """
    for file, (picture, keys) in SETS.items():
        captions: dict[str, dict[str, None]] = {}
        for _, record in read_table(folder / file):
            of_picture = captions.setdefault(picture_name(str(record[picture])), {})
            of_picture |= dict.fromkeys(
                tidy(text) for key in keys for text in texts_of_value(record[key], key)
            )
        for name, of_picture in captions.items():
            if len(of_picture) >= SHOWN + HELD_BACK:
                yield place_of(name, 0), row(f"{file.partition('/')[0]}/{name}", list(of_picture))


def row(name: str, captions: list[str]) -> dict[str, Any]:
    drawn = Random(name).sample(captions, SHOWN + HELD_BACK)
    shown = "\n".join(f"- {text}" for text in drawn[:SHOWN])
    return {
        "picture": name,
        "prompt": ASKED.format(captions=shown),
        "reference": drawn[SHOWN:],
        "context": " ".join(ended(text) for text in drawn),
    }


def tidy(text: str) -> str:
    return re.sub(r" ([.,])", r"\1", " ".join(text.split()))


def ended(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def caption_parts(folder: Path) -> dict[str, list[dict[str, Any]]]:
    placed = sorted(rows(folder), key=lambda one: one[0])  # no set comes first
    return {
        "train": [one for place, one in placed if place >= TEST],
        "test": [one for place, one in placed if place < TEST],
    }


def fact_parts(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Rows of the set's own split."""
    parts: dict[str, list[dict[str, Any]]] = {"facts-train": [], "facts-test": []}
    for number, graph in enumerate(load_discosg_graphs(folder)):
        facts = [" ".join(triple) for triple in graph.triples]
        prompt = FACTS_ASKED.format(facts="\n".join(f"- {fact}" for fact in facts))
        context = " ".join([graph.caption, *map(ended, facts)])
        one = {
            "picture": f"discosg/{number}",
            "prompt": prompt,
            "reference": [graph.caption],
            "context": context,
        }
        parts[f"facts-{graph.split}"].append(one)
    return parts


def write(parts: Mapping[str, list[dict[str, Any]]], output: Path) -> Mapping[str, int]:
    """Writes a file for each part and returns how many rows each has."""
    output.mkdir(parents=True, exist_ok=True)
    for part, chosen in parts.items():
        lines = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in chosen)
        (output / f"{part}.jsonl").write_text(lines, encoding="utf-8")
    return {part: len(chosen) for part, chosen in parts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=Path("../shared/data"), help="folder of the caption sets"
    )
    parser.add_argument("--output", type=Path, default=Path("outputs/smollm2/data"))
    parser.add_argument(
        "--facts", action="store_true", help="facts and the long descriptions they were drawn from"
    )
    arguments = parser.parse_args()
    try:
        parts = fact_parts(arguments.data) if arguments.facts else caption_parts(arguments.data)
        counts = write(parts, arguments.output)
    except (OSError, ValueError) as error:
        sys.exit(f"{parser.prog}: {error}")
    print(
        ", ".join(
            f"{count} rows in {arguments.output / part}.jsonl" for part, count in counts.items()
        )
    )
