"""Rows that no reader would let in and rows that it does, each hostile in a few of its fields, made
from a seed.

    hostile_sample(7)       # the same each time
"""

import io
import random
from dataclasses import fields
from typing import Any

from PIL import Image

from spanreward.rewards.base.verdict import Sample
from tests.support.hostile_member import MEMBERS

RAISES = "unspeakable"  # a word for which `Scripted` raises
REFERENCE = "A red circle is above a blue square. A cat sits on the mat."
PIECES = (
    *("A red circle", " is ", "not", "\n\n", "...", "\0", "\ud800", "\u202e", "é", "円", "1", "-7"),
    *("[", "]", "{", "}", "<|im_end|>", "</think>", "<think>", "**", "```", "|", "> ", "1. ", "'"),
    *(
        '"',
        "\\",
        "$$",
        "=",
        ": 5",
        "{completion}",
        "%s",
        "&amp;",
        "<b>",
        "\t",
        " ",
        "[Text A ends]",
    ),
    RAISES,
)
LONGEST = 400  # characters, so that many rows are judged in a test


def hostile_text(random_: random.Random) -> str:
    """Returns a text of pieces, one piece many times, or a beginning of a known hostile one."""
    kind = random_.randrange(4)
    if kind == 0:
        return random_.choice(PIECES) * random_.randrange(60)
    if kind == 1:
        return random_.choice([*MEMBERS.values()])[:LONGEST]
    text = ""
    for _ in range(random_.randrange(1, 30)):
        text += random_.choice(PIECES)
    return text


def texts(random_: random.Random) -> tuple[str, ...]:
    return tuple(hostile_text(random_) for _ in range(random_.randrange(6)))


def no_text(random_: random.Random) -> Any:
    """Returns what stands where a text belongs, in a row that somebody's own code made."""
    return random_.choice(
        [None, 7, float("nan"), b"A cat.", ["A cat."], {"text": "A cat."}, object(), True, ()]
    )


def picture(random_: random.Random) -> Any:
    """Returns what stands where a picture belongs. Nothing of it is a good picture."""
    whole = io.BytesIO()
    Image.effect_noise((40, 30), 50).save(whole, "PNG")
    cut = whole.getvalue()[: random_.randrange(len(whole.getvalue()))]
    return random_.choice(
        [
            *(None, 7, "", "/nowhere.png", "/etc/passwd", "https://evil.example/a.png", "data:,x"),
            *(cut, {"bytes": cut}, {"path": "/etc/passwd"}, {"bytes": None}, [], object()),
        ]
    )


def box(random_: random.Random) -> Any:
    numbers = [0, -1, 5, 1e300, float("nan"), float("inf"), "1", None]
    return tuple(random_.choice(numbers) for _ in range(random_.choice([4, 4, 0, 3])))


def value(random_: random.Random, name: str) -> Any:
    """Returns a hostile value of a Sample's field."""
    if name in ("references", "answers", "criteria"):
        return texts(random_)
    if name == "images":
        return tuple(picture(random_) for _ in range(random_.randrange(4)))
    if name == "bbox":
        return box(random_)
    if name == "columns":
        return {hostile_text(random_): hostile_text(random_), "choices": no_text(random_)}
    if random_.randrange(4) == 0:
        return no_text(random_)
    return hostile_text(random_)


def sound_sample(completion: str) -> Sample:
    """Returns a row that every metric can judge."""
    return Sample(
        "Describe it.",
        completion,
        references=(REFERENCE,),
        context=REFERENCE,
        question="What is on the mat?",
        answers=("cat", "a cat", "dog", "cat"),
        criteria=("It names the cat.", "It names the mat."),
        anchor="A dog is on the mat.",
        task="ic",
    )


def hostile_sample(seed: int) -> Sample:
    """Returns a sound row with one to four hostile fields."""
    random_ = random.Random(seed)
    names = [field.name for field in fields(Sample)]
    sample = sound_sample("A red circle is on the mat.")
    for name in random_.sample(names, random_.randrange(1, 5)):
        # past the dataclass, as a metric must not count on what another file checks
        object.__setattr__(sample, name, value(random_, name))
    return sample
