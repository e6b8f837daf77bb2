"""The recipe of an encoder judge, as typed YAML, and its examples, split by picture.

    recipe = load_judge_recipe("recipes/judges/people.yaml", ["seed=1"])
    train, held_out, pictures = examples_of(recipe)
    # pictures: {"read": [names], "unseen": [names]}

A picture is named by its file, so a picture that is in several data sets counts as one picture.
Equal recipes make equal examples.
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
from spanreward.training.experimental.judge_training.labelled_changes import (
    Changes,
    Example,
    MarkedRange,
)
from spanreward.training.recipe import PathText, RecipeError, RunPart, checked_part, read_recipe

# The kinds of change in labelled_changes.py.
ChangeKind = Literal["right", "replaced", "swapped", "added", "other", "unclaimed", "unsaid"]


class JudgeRecipe(RunPart):
    """The data and the settings with which an encoder judge is trained. docs/train_a_judge.md
    explains each key.
    """

    seed: int = Field(0, ge=0)
    base: PathText = "minilm"
    # For each file of captions or labels: this package's names of its columns, with the names in
    # the file.
    captions: dict[PathText, dict[str, str]] = Field({})
    labels: dict[PathText, dict[str, str]] = Field({})
    teacher: list[PathText] = Field([])  # files of `spanreward judge label`
    # For each kind of change, the weight with which it is drawn.
    kinds: dict[ChangeKind, Annotated[float, Field(gt=0)]] = Field(
        {"right": 1.0, "replaced": 2.0}, min_length=1
    )
    examples: int = Field(7000, gt=0)
    # Shares of the pictures. The share `unseen` of all pictures is never read. The share `held_out`
    # of the remaining pictures is only measured on.
    unseen: float = Field(0.0, ge=0, lt=1)
    held_out: float = Field(0.06, gt=0, lt=1)
    steps: int = Field(360, gt=0)
    # None means that the value depends on the model's size (fit.py).
    frozen_layers: int | None = Field(None, ge=0)
    batch: int | None = Field(None, gt=0)
    learning_rate: float | None = Field(None, gt=0)
    check_every: int = Field(90, gt=0)
    patience: int = Field(3, gt=0)


def load_judge_recipe(path: str | Path, overrides: Sequence[str] = ()) -> JudgeRecipe:
    """Returns the recipe in a file, changed by overrides of the form "key=value".

    Raises RecipeError, whose message is one sentence.
    """
    return checked_part(JudgeRecipe, read_recipe(Path(path), overrides))


def examples_of(recipe: JudgeRecipe) -> tuple[list[Example], list[Example], dict[str, list[str]]]:
    """Returns the examples to train on, the held-out examples, and the names of the pictures:
    {"read": ..., "unseen": ...}.

    A hash of its name and the seed gives each picture a place in [0, 1), which decides its use.
    Pictures with a place below `unseen` are not read. Pictures with the last places are held out.
    The pictures between are trained on.

    Raises RecipeError, ValueError, OSError.
    """
    # The captions of each picture, from all files. A dict keeps its keys in order and each once.
    captions: dict[str, dict[str, None]] = defaultdict(dict)
    for path, columns in recipe.captions.items():
        for name, texts in read_each(path, ("reference",), picture_and_texts, columns):
            captions_of_picture = captions[name]
            for text in texts:
                captions_of_picture[text.strip()] = None
    # The examples that a large judge or people have labelled.
    labelled_examples: list[Example] = []
    for teacher_file in recipe.teacher:
        labelled_examples += read_teacher(teacher_file)
    for path, columns in recipe.labels.items():
        for sample, mistakes in read_marked(path, columns):
            labelled_examples.append(labelled_example(sample, mistakes))
    # The place of each picture in [0, 1), which decides its use.
    place_of_picture: dict[str, float] = {}
    labelled_pictures = [example.picture for example in labelled_examples]
    for name in (*captions, *labelled_pictures):
        place_of_picture[name] = place_of(name, recipe.seed)
    first_held_out = 1 - recipe.held_out * (1 - recipe.unseen)
    # (first place, end, share of the examples) of the pictures to train on and of those held out.
    to_train_on = (recipe.unseen, first_held_out, 1 - recipe.held_out)
    to_hold_out = (first_held_out, 1.0, recipe.held_out)
    sides = []
    for first, end, share in (to_train_on, to_hold_out):
        side_captions = {}
        for name, captions_of_picture in captions.items():
            # A change needs two captions: one is changed, and the other is the target.
            if first <= place_of_picture[name] < end and len(captions_of_picture) > 1:
                side_captions[name] = list(captions_of_picture)
        examples = []
        for example in labelled_examples:
            if first <= place_of_picture[example.picture] < end:
                examples.append(example)
        if side_captions:
            count = round(recipe.examples * share)
            examples += changed_examples(side_captions, recipe, count)
        if not examples:
            changeable = [texts for texts in captions.values() if len(texts) > 1]
            raise RecipeError(
                f"of {len(place_of_picture)} pictures, {len(changeable)} "
                "of them with two captions or more, which changing needs, some must be left to "
                "train on and some to hold out: give more data, or change "
                f"held_out={recipe.held_out} and unseen={recipe.unseen}."
            )
        sides.append(examples)
    pictures: dict[str, list[str]] = {"read": [], "unseen": []}
    for name, place in place_of_picture.items():
        kind = "unseen" if place < recipe.unseen else "read"
        pictures[kind].append(name)
    train, held_out = sides
    return train, held_out, pictures


def picture_and_texts(sample: Sample) -> tuple[str, Sequence[str]]:
    """Returns the name of a row's picture, and the picture's captions."""
    return picture_of(sample), sample.references


def changed_examples(
    captions: dict[str, list[str]], recipe: JudgeRecipe, count: int
) -> list[Example]:
    """Returns up to `count` examples of changed captions.

    captions: at least two captions of each picture, by the picture's name.
    """
    random = Random(recipe.seed)
    changes = Changes(captions, random)
    names = list(captions)
    # More kinds are drawn than needed, because not every caption can be changed in every way.
    weights = list(recipe.kinds.values())
    kinds = random.choices(list(recipe.kinds), weights, k=20 * count)
    examples: list[Example] = []
    for kind in kinds:
        if len(examples) == count:
            break
        example = changes.example(kind, random.choice(names))
        if example is not None:  # None: the drawn caption cannot be changed in this way
            examples.append(example)
    return examples


def labelled_example(sample: Sample, mistakes: CharacterSpans) -> Example:
    """Returns an example from a text in which people have marked the mistakes.

    mistakes: the characters [start, end) of each mistake.
    """
    text = sample.completion
    # The first mark makes the whole text right. The marks of mistakes come later, and a token's
    # last mark counts.
    marks: list[MarkedRange] = [(0, len(text), 1.0)]
    for start, end in mistakes:
        marks.append((start, end, 0.0))
    target = " ".join(sample.references)
    return Example(text, target, tuple(marks), picture_of(sample))


def picture_of(sample: Sample) -> str:
    """Returns the name of the sample's picture, or the sample's id if there is no picture.

    Raises ValueError if the sample has neither.
    """
    for name in (*sample.images, sample.id):
        if isinstance(name, (str, int)):
            return picture_name(str(name))
    raise ValueError("the columns 'image' and 'id' hold no name of a picture")


def picture_name(path: str) -> str:
    """Returns the name that a picture has in every data set: "5123" for
    COCO_val2014_000000005123.jpg.
    """
    stem = PurePosixPath(path).stem
    name = stem.removeprefix("COCO_val2014_").removeprefix("COCO_train2014_")
    name = name.lstrip("0")
    if not name:  # a name of zeros alone
        return stem
    return name


def place_of(name: str, seed: int) -> float:
    """Returns a number in [0, 1) that depends only on the picture's name and the seed.

    So a picture keeps its place when other pictures are added.
    """
    digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
    return int.from_bytes(digest[:6]) / 2**48  # a float holds 48 bits exactly


def read_teacher(path: str) -> list[Example]:
    """Returns an example per pair of texts in a file of `spanreward judge label`.

    Raises RecipeError, OSError.
    """
    # The marks by (text, target, picture).
    marks: dict[tuple[str, str, str], list[MarkedRange]] = defaultdict(list)
    for where, row in read_table(path):
        try:
            # How right the words are: the mean of the judge's rating, scaled to [0, 1].
            probabilities = row["probabilities"]
            levels = {float(level): float(p) for level, p in probabilities.items()}
            low = min(levels)
            high = max(levels)
            mean = sum(level * p for level, p in levels.items())
            right = (mean - low) / (high - low)
            if not 0 <= right <= 1:
                raise ValueError(f"{probabilities} is no distribution")
            pair = row["text"], row["target"], row["picture"]
            marks_of_pair = marks[pair]
            for place in row["places"]:
                marks_of_pair.append((*place, right))
        except (KeyError, TypeError, ValueError, ZeroDivisionError, AttributeError) as error:
            raise RecipeError(
                f"{where} is no line of `spanreward judge label`: {error!r}."
            ) from None
    examples = []
    for (text, target, name), pair_marks in marks.items():
        examples.append(Example(text, target, tuple(pair_marks), name))
    return examples
