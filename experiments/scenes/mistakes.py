"""Scenes told wrongly: what somebody says who looked badly.

    told = with_mistakes(scene, random.Random(0), count=2)
    # two of its facts are not those of the picture
    describe(told, random.Random(0))  # in the same English as a true description

For questions whose answer is no: a describer that is always right leaves a judge nothing to find.
"""

import random
from dataclasses import replace

from experiments.scenes.world import COLORS, SHAPES, SIZES, Scene, Thing, grid_of

VALUES = {"shape": SHAPES, "color": tuple(COLORS), "size": SIZES}


def with_mistakes(scene: Scene, generator: random.Random, count: int) -> Scene:
    """The scene with `count` mistakes, one after another: another shape, color or size of a thing,
    a thing in another place, a thing too few where there are several, or one too many.
    """
    for _ in range(count):
        scene = Scene(_reading_order(_mistaken(list(scene.objects), generator)), scene.seed)
    return scene


def _mistaken(things: list[Thing], generator: random.Random) -> list[Thing]:
    rows, columns = grid_of(things)
    # an object has two facts of its place
    kinds = ["shape", "color", "color", "size", "place", "place"]
    kinds += ["missing"] if len(things) > 1 else []
    kinds += ["added"] if len(things) < len(rows) * len(columns) else []
    kind = generator.choice(kinds)
    number = generator.randrange(len(things))
    thing = things[number]
    if kind in VALUES:
        wrong = [value for value in VALUES[kind] if value != vars_of(thing)[kind]]
        things[number] = replace(thing, **{kind: generator.choice(wrong)})
    elif kind == "missing":
        del things[number]
    else:
        taken = {(other.row, other.column) for other in things}
        row, column = generator.choice(
            [(r, c) for r in rows for c in columns if (r, c) not in taken]
        )
        if kind == "place":
            things[number] = replace(thing, row=row, column=column)
        else:
            values = {fact: generator.choice(several) for fact, several in VALUES.items()}
            things.append(Thing(**values, row=row, column=column))
    return things


def vars_of(thing: Thing) -> dict[str, str]:
    return {"shape": thing.shape, "color": thing.color, "size": thing.size}


def _reading_order(things: list[Thing]) -> tuple[Thing, ...]:
    rows, columns = grid_of(things)
    return tuple(
        sorted(things, key=lambda thing: (rows.index(thing.row), columns.index(thing.column)))
    )
