"""Scenes as a recipe's data: drawn pictures, what people might say of them, and what is on them.

    data: {source: "experiments/scenes/rows.py:scenes", options: {level: 1, count: 2000}}

    list(scenes(count=1))
    # [{"image": ..., "reference": [...], "scene": "train 1 0 0", "objects": "2", ...

`scene` is for the referee alone (truth.py): no reward reads it.
"""

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Literal

from experiments.scenes.language import criteria, describe
from experiments.scenes.questions import ask as ask_about, several
from experiments.scenes.world import COLORS, SIZES, Scene, Split, Thing, draw, make_scenes


def scenes(
    split: Split = "train",
    level: int = 1,
    count: int = 4096,
    seed: int = 0,
    ask: Literal["descriptions", "questions", "both"] = "descriptions",
    references: int = 3,
    keep_object: float = 1.0,
    keep_attribute: float = 1.0,
    wrong_attribute: float = 0.0,
    unsure: float = 0.0,
    questions: int = 0,
) -> Iterator[dict[str, Any]]:
    """Rows of the first `count` scenes of the split.

    ask: for a description of each picture (`reference`, in so many wordings), for the answer to a
    question about it (`question`, `answers`), or for "both" in turns. keep_object, keep_attribute:
    below 1 they make descriptions terse. wrong_attribute: how often each person gets the size or
    the colour of an object wrong. unsure: how often one of the ten answers is "not sure". SFT
    learns the first person's answer, so that a policy learns how sure people are. questions: at
    most so many, with their answers, about a picture that is described (`quiz`, for
    experiments/caprl).
    """
    if questions and ask != "descriptions":
        raise ValueError(
            f"questions={questions} go with ask='descriptions': the other rows have answers of "
            "their own"
        )
    if ask not in ("descriptions", "questions", "both"):
        raise ValueError(f"scenes ask for descriptions, questions or both, not {ask!r}")
    shares = {"keep_object": keep_object, "keep_attribute": keep_attribute}
    shares |= {"wrong_attribute": wrong_attribute, "unsure": unsure}
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise ValueError(f"{name} must be a share from 0 to 1, got {share}")
    generator = random.Random(f"references {split} {level} {seed}")
    for number, scene in enumerate(make_scenes(split, level, count, seed)):
        row: dict[str, Any] = {"image": draw(scene), "scene": scene.seed}
        row |= {"level": str(level), "objects": str(len(scene.objects))}
        if ask == "descriptions" or (ask == "both" and number % 2 == 0):
            terse = (keep_object, keep_attribute)
            seen = (misread(scene, generator, wrong_attribute) for _ in range(references))
            row["reference"] = [describe(one, generator, *terse) for one in seen]
            # for judges that see no pictures
            row["context"] = describe(scene, random.Random(f"context {scene.seed}"))
            row["criteria"] = criteria(scene)
            if questions:
                asked = several(scene, random.Random(f"questions {scene.seed}"), questions)
                row["quiz"] = [
                    {"question": one.text, "answers": list(one.answers)} for one in asked
                ]
        else:
            question = ask_about(scene, generator, unsure)
            row |= {
                "question": question.text,
                "answers": list(question.answers),
                "completion": question.answers[0],
            }
        yield row


def misread(scene: Scene, generator: random.Random, wrong: float) -> Scene:
    """The scene as a person sees it who gets each size and each colour wrong so often."""
    if not wrong:
        return scene
    return replace(
        scene, objects=tuple(misread_thing(one, generator, wrong) for one in scene.objects)
    )


def misread_thing(thing: Thing, generator: random.Random, wrong: float) -> Thing:
    def seen(value: str, values: Iterable[str]) -> str:
        return (
            generator.choice([one for one in values if one != value])
            if generator.random() < wrong
            else value
        )

    return replace(thing, size=seen(thing.size, SIZES), color=seen(thing.color, COLORS))
