"""Scenes: small pictures of coloured shapes whose contents are known exactly.

    scene = make_scenes("train", level=1, count=8)[0]
    scene.objects[0]  # Thing(shape="star", color="red", size="small", row="top", column="left")
    draw(scene).save("scene.png")

The same (split, level, seed, index) gives the same scene on every machine. No contents occur in two
splits: a hash of the contents says which split they belong to.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import cos, pi, sin
from typing import Literal

from PIL import Image, ImageDraw

SHAPES = ("circle", "square", "triangle", "star")
COLORS = {
    "red": (214, 40, 40),
    "green": (40, 150, 60),
    "blue": (40, 80, 210),
    "yellow": (245, 205, 40),
    "purple": (140, 50, 170),
    "black": (20, 20, 20),
}
SIZES = ("small", "large")
ROWS = ("top", "middle", "bottom")
COLUMNS = ("left", "center", "right")
NTH = ("first", "second", "third", "fourth")
FINE_ROWS = tuple(f"{nth} row" for nth in NTH)
FINE_COLUMNS = tuple(f"{nth} column" for nth in NTH)
LEVELS = {1: (1, 3), 2: (3, 5), 3: (6, 9), 4: (12, 16)}  # least and most objects in a picture
GRIDS = {1: (ROWS, COLUMNS), 2: (ROWS, COLUMNS), 3: (ROWS, COLUMNS), 4: (FINE_ROWS, FINE_COLUMNS)}
BACKGROUND = (236, 234, 228)

Split = Literal["train", "validation", "test"]


@dataclass(frozen=True, slots=True)
class Thing:
    """One object, with the five facts a description can state of it."""

    shape: str
    color: str
    size: str
    row: str
    column: str


@dataclass(frozen=True, slots=True)
class Scene:
    """The contents record: objects in reading order, at most one in each place of the grid.

    `seed` moves pixels.
    """

    objects: tuple[Thing, ...]
    seed: str


def make_scenes(split: Split, level: int, count: int, seed: int = 0) -> list[Scene]:
    """`count` different scenes of one split.

    Raises ValueError for an unknown split or level, or too many scenes.
    """
    if split not in ("train", "validation", "test"):
        raise ValueError(f"scenes have the splits train, validation and test, not {split!r}")
    if level not in LEVELS:
        raise ValueError(f"scenes have the levels {sorted(LEVELS)}, not {level!r}")
    generator = random.Random(f"scenes {split} {level} {seed}")
    scenes: dict[tuple[Thing, ...], Scene] = {}
    for _ in range(100 * count):
        if len(scenes) == count:
            break
        objects = random_objects(generator, *LEVELS[level], *GRIDS[level])
        if split_of(objects) == split and objects not in scenes:
            scenes[objects] = Scene(objects, seed=f"{split} {level} {seed} {len(scenes)}")
    else:
        if len(scenes) < count:
            raise ValueError(
                f"level {level} has fewer than {count} different {split} scenes (found "
                f"{len(scenes)})"
            )
    return list(scenes.values())


def random_objects(
    generator: random.Random,
    least: int,
    most: int,
    rows: Sequence[str] = ROWS,
    columns: Sequence[str] = COLUMNS,
) -> tuple[Thing, ...]:
    """Objects in distinct places, in reading order."""
    places = sorted(
        generator.sample(range(len(rows) * len(columns)), generator.randint(least, most))
    )
    return tuple(
        Thing(
            shape=generator.choice(SHAPES),
            color=generator.choice(tuple(COLORS)),
            size=generator.choice(SIZES),
            row=rows[place // len(columns)],
            column=columns[place % len(columns)],
        )
        for place in places
    )


def grid_of(things: Sequence[Thing]) -> tuple[Sequence[str], Sequence[str]]:
    """The rows and columns that these things lie in."""
    return GRIDS[4] if any(thing.row in FINE_ROWS for thing in things) else GRIDS[1]


def distance(first: Thing, second: Thing) -> tuple[int, int]:
    """How many rows and columns the first lies below and to the right of the second."""
    rows, columns = grid_of([first])
    return (
        rows.index(first.row) - rows.index(second.row),
        columns.index(first.column) - columns.index(second.column),
    )


def split_of(objects: tuple[Thing, ...]) -> Split:
    """The split these contents belong to: 80 % train, 10 % validation, 10 % test."""
    tenth = sha256(repr(objects).encode()).digest()[0] * 10 // 256
    return "train" if tenth < 8 else "validation" if tenth == 8 else "test"


def draw(scene: Scene, pixels: int = 64) -> Image.Image:
    """The picture, (pixels, pixels) RGB. Objects sit in a grid, a little off its centres."""
    generator = random.Random(f"pixels {scene.seed}")
    scale = 2  # drawn large and shrunk, so that edges are smooth
    image = Image.new("RGB", (pixels * scale, pixels * scale), BACKGROUND)
    canvas = ImageDraw.Draw(image)
    rows, columns = grid_of(scene.objects)
    cell = pixels * scale / len(rows)
    for thing in scene.objects:
        radius = cell * (0.42 if thing.size == "large" else 0.22)
        slack = cell * 0.06
        x = (columns.index(thing.column) + 0.5) * cell + generator.uniform(-slack, slack)
        y = (rows.index(thing.row) + 0.5) * cell + generator.uniform(-slack, slack)
        draw_shape(canvas, thing.shape, x, y, radius, COLORS[thing.color])
    return image.resize((pixels, pixels), Image.Resampling.LANCZOS)


def draw_shape(
    canvas: ImageDraw.ImageDraw,
    shape: str,
    x: float,
    y: float,
    radius: float,
    color: tuple[int, int, int],
) -> None:
    """Fill one shape, centred on (x, y), all of it within `radius` of the centre."""
    if shape == "circle":
        canvas.ellipse((x - radius, y - radius, x + radius, y + radius), fill=color)
    elif shape == "square":
        half = radius * 0.85
        canvas.rectangle((x - half, y - half, x + half, y + half), fill=color)
    else:
        radii = [radius] * 3 if shape == "triangle" else [radius, radius * 0.42] * 5
        angles = [2 * pi * corner / len(radii) - pi / 2 for corner in range(len(radii))]
        canvas.polygon(
            [(x + r * cos(a), y + r * sin(a)) for r, a in zip(radii, angles, strict=True)],
            fill=color,
        )
