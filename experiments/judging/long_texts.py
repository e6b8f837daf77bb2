"""Long texts in other words than their target, some changed on purpose, with the mistakes marked: to train and measure.

    rows = long_texts(Path("../shared/data"), each=8)
    rows[0]     # {"image": "aar_test_04667", "completion": "There is a wall. The hats are red.", "reference": "A fairly
                # close ...", "mistakes": [[27, 30]]}

A picture has a detailed caption and facts that restate it: people's (DeCapBench), people's scene graphs as sentences
(DiscoSG), and the caption's own sentences (IIW in posh_oracle). A text is three to nine of the facts. Three of ten are
changed as training/experimental/judge_training/labelled_changes.py changes captions, or are of another picture. Of three texts one is beside half of
its own facts, and wrong are the words that none of them has: what is not said. FaithScore's facts are people's labels.
"""

import json
import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from experiments.agreement.caption_sets import load_discosg_foil, load_discosg_graphs, read_set
from experiments.agreement.known_sets import flagged_words
from spanreward.rewards.language.words import PLACING_PREPOSITIONS
from spanreward.training.experimental.judge_training.labelled_changes import (
    Changes,
    CharacterRanges,
    Word,
    marks_of_words,
)

CHANGED = 0.3  # of the facts of a text
KINDS = {"replaced": 4, "swapped": 1, "added": 1, "other": 1, "unclaimed": 1}
ALIKE = 60  # first characters by which two texts are one
MOST_FACTS = 40


@dataclass(frozen=True, slots=True)
class Described:
    """A picture with its detailed caption, and sentences that restate it."""

    picture: str
    caption: str
    facts: tuple[str, ...]


def long_texts(data: Path, each: int, seed: int = 0) -> list[dict[str, Any]]:
    """Returns `each` rows per picture, and FaithScore's. Raises FileNotFoundError where a set is not there."""
    found = {one.caption.strip()[:ALIKE]: one for one in described(data)}
    for foiled in load_discosg_foil(data):  # is measured on
        found.pop(foiled.reference.strip()[:ALIKE], None)
    pictures = {one.picture: one for one in found.values() if len(one.facts) > 3}
    random = Random(seed)
    changes = Changes({name: (one.caption, *one.facts) for name, one in pictures.items()}, random)
    rows = [written(one, changes, pictures) for one in pictures.values() for _ in range(each)]
    return rows + list(judged_by_people(data))


def described(data: Path) -> Iterator[Described]:
    for row in read_set(data, "decapbench_oracle_facts", "oracle_facts.jsonl"):
        facts = (" ".join(re.sub(r"_\d+", "", fact).split()) for fact in row["oracle_facts"])
        yield Described(
            Path(row["image_name"]).stem,
            row["oracle_caption"],
            tuple(dict.fromkeys(facts))[:MOST_FACTS],
        )
    for number, drawn in enumerate(load_discosg_graphs(data)):
        facts = (sentence(*triple) for triple in drawn.triples)
        yield Described(f"discosg-{number}", drawn.caption, tuple(dict.fromkeys(facts)))
    for row in read_set(data, "posh_oracle", "graphs.jsonl"):
        if row["source"] == "iiw" and row["variant"] == "none":
            yield Described(
                row["text_id"].partition(":")[2],
                row["text"],
                tuple(re.split(r"(?<=[.!?])\s+", row["text"].strip())),
            )


def sentence(subject: str, predicate: str, other: str) -> str:
    """Returns a triple as a sentence: "The man wears the hat." """
    many = subject.endswith("s") and not subject.endswith("ss")
    verb, _, rest = predicate.partition(" ")
    if verb in ("is", "are"):
        said = f"{'are' if many else 'is'} {other}"
    elif verb in PLACING_PREPOSITIONS or verb in ("parallel", "close", "adjacent"):
        said = f"{'are' if many else 'is'} {predicate} the {other}"
    elif verb == "have":
        said = f"{'have' if many else 'has'} {other}"
    else:
        ending = "" if many else "es" if verb.endswith(("s", "sh", "ch", "x")) else "s"
        said = f"{verb}{ending} {rest} the {other}" if rest else f"{verb}{ending} the {other}"
    return f"The {subject} {said}."


def written(one: Described, changes: Changes, pictures: dict[str, Described]) -> dict[str, Any]:
    """Returns a row."""
    random = changes.random
    chosen = sorted(random.sample(range(len(one.facts)), min(random.randint(3, 9), len(one.facts))))
    facts = [one.facts[number] for number in chosen]
    half = random.random() < 1 / 3
    said = [fact for fact in facts if random.random() < 0.5] or facts[:1] if half else []
    lemmas = {word.lemma for fact in said for word in changes.words[fact]}
    text, mistakes = "", []
    for fact in facts:
        if half:
            new, wrong = fact, unknown(changes.words[fact], lemmas)
        else:
            new, wrong = changed(one.picture, fact, changes, pictures)
        start = len(text) + bool(text)
        text = f"{text} {new}".strip()
        mistakes += [[start + s, start + e] for s, e in wrong]
    return row(one.picture, text, " ".join(said) if half else one.caption, mistakes)


def changed(
    name: str, fact: str, changes: Changes, pictures: dict[str, Described]
) -> tuple[str, CharacterRanges]:
    random = changes.random
    if random.random() >= CHANGED:
        return fact, []
    (kind,) = random.choices(list(KINDS), list(KINDS.values()))
    if kind != "other":
        return changes.changed(kind, name, fact)
    fact = random.choice(pictures[changes.other(name)].facts)
    return fact, unknown(changes.words[fact], changes.known[name])


def unknown(words: Sequence[Word], known: Set[str]) -> CharacterRanges:
    return [(start, end) for start, end, right in marks_of_words(words, known) if not right]


def judged_by_people(data: Path) -> Iterator[dict[str, Any]]:
    """FaithScore's answers as their facts, beside the captions and what a language model wrote from them."""
    for answer in read_set(data, "faithscore", "faithscore.jsonl"):
        told = [one["output"] for one in answer["gpt4_qa"] if one["type"] == "detail"]
        text, mistakes = "", []
        for fact, right in answer["atomic_facts"]:
            start = len(text) + bool(text)
            text = f"{text} {fact}".strip()
            mistakes += [] if right else [[start, start + len(fact)]]
        if text:
            yield row(answer["image_id"], text, " ".join([*answer["references"], *told]), mistakes)


def flagged_by_people(data: Path) -> list[dict[str, Any]]:
    """Returns HAT's captions. Raises FileNotFoundError where the set is not there."""
    return [
        row(
            one["image_path"],
            one["caption"],
            one["references"],
            [
                [word.start, word.end]
                for word in flagged_words(one["caption"], one["word_flags"])
                if word.flagged
            ],
        )
        for one in read_set(data, "hat_aloha", "hat_trainval.jsonl")
    ]


def row(
    image: Any, text: str, reference: str | list[str], mistakes: list[list[int]]
) -> dict[str, Any]:
    return {"image": str(image), "completion": text, "reference": reference, "mistakes": mistakes}


def write(rows: list[dict[str, Any]], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), "utf-8")
