"""The recipe of an encoder judge, as typed YAML, and its examples, split by picture.

    recipe = load_judge_recipe("recipes/judges/people.yaml", ["seed=1"])
    train, held_out, pictures = examples_of(recipe)
    # pictures: {"read": [names], "unseen": [names]}

A picture has the name of its file, so it is one picture in all sets that have it. Equal recipes
make equal examples.
"""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from random import Random
from typing import Annotated, Literal

from pydantic import Field

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.rows.tables import read_table
from spanreward.training.data.marks import CharacterSpans, read_each, read_marked
from spanreward.training.experimental.judge_training.labelled_changes import Changes, Example
from spanreward.training.recipe import PathText, RecipeError, RunPart, checked, read_recipe

# training/experimental/judge_training/labelled_changes.py
Kind = Literal["right", "replaced", "swapped", "added", "other", "unclaimed", "unsaid"]


class JudgeRecipe(RunPart):
    """What an encoder judge is trained from, and how. docs/train_a_judge.md says what each key
    means.
    """

    seed: int = Field(0, ge=0)
    base: PathText = "minilm"
    # by file: our names of its columns, and its own
    captions: dict[PathText, dict[str, str]] = Field({})
    labels: dict[PathText, dict[str, str]] = Field({})
    teacher: list[PathText] = Field([])
    kinds: dict[Kind, Annotated[float, Field(gt=0)]] = Field(
        {"right": 1.0, "replaced": 2.0}, min_length=1
    )
    examples: int = Field(7000, gt=0)
    unseen: float = Field(0.0, ge=0, lt=1)
    held_out: float = Field(0.06, gt=0, lt=1)
    steps: int = Field(360, gt=0)
    frozen_layers: int | None = Field(None, ge=0)
    batch: int | None = Field(None, gt=0)
    learning_rate: float | None = Field(None, gt=0)
    check_every: int = Field(90, gt=0)
    patience: int = Field(3, gt=0)


def load_judge_recipe(path: str | Path, overrides: Sequence[str] = ()) -> JudgeRecipe:
    """Returns the recipe in a file with `key=value` overrides.

    Raises RecipeError with one sentence.
    """
    return checked(JudgeRecipe, read_recipe(Path(path), overrides))


def examples_of(recipe: JudgeRecipe) -> tuple[list[Example], list[Example], dict[str, list[str]]]:
    """Returns the examples to train on, those held out, and the pictures.

    Raises RecipeError, ValueError, OSError.
    """
    captions: dict[str, dict[str, None]] = defaultdict(dict)
    for path, columns in recipe.captions.items():
        for name, texts in read_each(path, ("reference",), picture_and_texts, columns):
            captions[name] |= dict.fromkeys(text.strip() for text in texts)
    labelled_examples: list[Example] = []
    for teacher_file in recipe.teacher:
        labelled_examples += read_teacher(teacher_file)
    for path, columns in recipe.labels.items():
        for sample, mistakes in read_marked(path, columns):
            labelled_examples.append(labelled_example(sample, mistakes))
    place: dict[str, float] = {}  # of each picture
    for name in (*captions, *(example.picture for example in labelled_examples)):
        place[name] = place_of(name, recipe.seed)
    last = 1 - recipe.held_out * (1 - recipe.unseen)  # the places are spread evenly over [0, 1)
    sides = []
    for low, high, share in (
        (recipe.unseen, last, 1 - recipe.held_out),
        (last, 1.0, recipe.held_out),
    ):
        side_captions = {}
        for name, captions_of_picture in captions.items():
            if low <= place[name] < high and len(captions_of_picture) > 1:
                side_captions[name] = list(captions_of_picture)
        examples = [
            example for example in labelled_examples if low <= place[example.picture] < high
        ]
        if side_captions:
            count = round(recipe.examples * share)
            examples += changed_examples(side_captions, recipe, count)
        if not examples:
            changeable = [texts for texts in captions.values() if len(texts) > 1]
            raise RecipeError(
                f"of {len(place)} pictures, {len(changeable)} "
                "of them with two captions or more, which changing needs, some must be left to "
                "train on and some to hold out: give more data, or change "
                f"held_out={recipe.held_out} and unseen={recipe.unseen}."
            )
        sides.append(examples)
    pictures: dict[str, list[str]] = {"read": [], "unseen": []}
    for name, picture_place in place.items():
        kind = "unseen" if picture_place < recipe.unseen else "read"
        pictures[kind].append(name)
    train, held_out = sides
    return train, held_out, pictures


def picture_and_texts(sample: Sample) -> tuple[str, Sequence[str]]:
    """Returns the name of a row's picture, and its captions."""
    return picture_of(sample), sample.references


def changed_examples(
    captions: dict[str, list[str]], recipe: JudgeRecipe, count: int
) -> list[Example]:
    """Returns at most this many examples of changed captions."""
    random = Random(recipe.seed)
    changes = Changes(captions, random)
    names = list(captions)
    # more than enough: not every caption has a place for every kind
    kinds = random.choices(list(recipe.kinds), list(recipe.kinds.values()), k=20 * count)
    examples: list[Example] = []
    for kind in kinds:
        if len(examples) == count:
            break
        example = changes.example(kind, random.choice(names))
        if example is not None:
            examples.append(example)
    return examples


def labelled_example(sample: Sample, mistakes: CharacterSpans) -> Example:
    """Returns the example of a text in which people have marked what is wrong."""
    text = sample.completion
    marks = ((0, len(text), 1.0), *((start, end, 0.0) for start, end in mistakes))
    return Example(text, " ".join(sample.references), marks, picture_of(sample))


def picture_of(sample: Sample) -> str:
    """Returns the name of the sample's picture, else its id.

    Raises ValueError where it has neither.
    """
    for name in (*sample.images, sample.id):
        if isinstance(name, (str, int)):
            return picture_name(str(name))
    raise ValueError("the columns 'image' and 'id' hold no name of a picture")


def picture_name(path: str) -> str:
    """Returns the name that a picture has in every set: "5123" for
    COCO_val2014_000000005123.jpg.
    """
    stem = PurePosixPath(path).stem
    return stem.removeprefix("COCO_val2014_").removeprefix("COCO_train2014_").lstrip("0") or stem


def place_of(name: str, seed: int) -> float:
    """Returns a number in [0, 1) that depends on the picture's name and the seed only."""
    return int.from_bytes(hashlib.sha256(f"{seed} {name}".encode()).digest()[:6]) / 2**48


def read_teacher(path: str) -> list[Example]:
    """Returns an example per pair of texts in a file of `spanreward judge label`.

    Raises RecipeError, OSError.
    """
    marks: dict[tuple[str, str, str], list[tuple[int, int, float]]] = defaultdict(list)
    for where, row in read_table(path):
        try:
            levels = {float(level): float(p) for level, p in row["probabilities"].items()}
            low = min(levels)
            high = max(levels)
            mean = sum(level * p for level, p in levels.items())
            right = (mean - low) / (high - low)
            if not 0 <= right <= 1:
                raise ValueError(f"{row['probabilities']} is no distribution")
            pair = row["text"], row["target"], row["picture"]
            marks[pair] += [(*place, right) for place in row["places"]]
        except (KeyError, TypeError, ValueError, ZeroDivisionError, AttributeError) as error:
            raise RecipeError(
                f"{where} is no line of `spanreward judge label`: {error!r}."
            ) from None
    examples = []
    for (text, target, name), pair_marks in marks.items():
        examples.append(Example(text, target, tuple(pair_marks), name))
    return examples
