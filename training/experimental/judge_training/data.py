"""The recipe of an encoder judge, as typed YAML, and its examples, split by picture.

    recipe = load_judge_recipe("recipes/judges/people.yaml", ["seed=1"])
    train, held_out, pictures = examples_of(recipe)
    # pictures: {"read": [names], "unseen": [names]}

A picture is named by its file, so a picture that is in several data sets counts as one picture.
Equal recipes make equal examples.
"""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
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
    captions = _captions_by_picture(recipe)
    labelled = _labelled_examples(recipe)
    # The place of each picture in [0, 1), which decides its use.
    place_of_picture: dict[str, float] = {}
    for name in (*captions, *(example.picture for example in labelled)):
        place_of_picture[name] = place_of(name, recipe.seed)
    first_held_out = 1 - recipe.held_out * (1 - recipe.unseen)
    # (first place, end, share of the examples) of the pictures to train on and of those held out.
    to_train_on = (recipe.unseen, first_held_out, 1 - recipe.held_out)
    to_hold_out = (first_held_out, 1.0, recipe.held_out)
    sides = []
    for first, end, share in (to_train_on, to_hold_out):
        names = {name for name, place in place_of_picture.items() if first <= place < end}
        side_captions = {name: captions[name] for name in captions if name in names}
        examples = [example for example in labelled if example.picture in names]
        examples += changed_examples(side_captions, recipe, round(recipe.examples * share))
        if not examples:
            raise RecipeError(_why_too_few(recipe, captions, len(place_of_picture)))
        sides.append(examples)
    pictures: dict[str, list[str]] = {"read": [], "unseen": []}
    for name, place in place_of_picture.items():
        kind = "unseen" if place < recipe.unseen else "read"
        pictures[kind].append(name)
    train, held_out = sides
    return train, held_out, pictures


def _captions_by_picture(recipe: JudgeRecipe) -> dict[str, list[str]]:
    """Returns the captions of each picture, each once, from all of the recipe's files of captions.

    Example: {"5123": ["A dog sits.", "A brown dog."]}. Raises ValueError, OSError.
    """
    # A dict keeps its keys in order and each once.
    captions: dict[str, dict[str, None]] = defaultdict(dict)
    for path, columns in recipe.captions.items():
        for name, texts in read_each(path, ("reference",), picture_and_texts, columns):
            captions_of_picture = captions[name]
            for text in texts:
                captions_of_picture[text.strip()] = None
    return {name: list(texts) for name, texts in captions.items()}


def _labelled_examples(recipe: JudgeRecipe) -> list[Example]:
    """Returns the examples that a large judge or people have labelled, from all of the recipe's
    files.

    Raises RecipeError, ValueError, OSError.
    """
    examples: list[Example] = []
    for teacher_file in recipe.teacher:
        examples += read_teacher(teacher_file)
    for path, columns in recipe.labels.items():
        for sample, mistakes in read_marked(path, columns):
            examples.append(labelled_example(sample, mistakes))
    return examples


def _why_too_few(recipe: JudgeRecipe, captions: Mapping[str, Sequence[str]], pictures: int) -> str:
    """Returns a sentence on a recipe whose data leave no examples to train on or to hold out.

    captions: the captions of each picture, by the picture's name. pictures: the number of all
    pictures, with those of labelled examples.
    """
    changeable = [texts for texts in captions.values() if len(texts) > 1]
    return (
        f"of {pictures} pictures, {len(changeable)} "
        "of them with two captions or more, which changing needs, some must be left to "
        "train on and some to hold out: give more data, or change "
        f"held_out={recipe.held_out} and unseen={recipe.unseen}."
    )


def picture_and_texts(sample: Sample) -> tuple[str, Sequence[str]]:
    """Returns the name of a row's picture, and the picture's captions."""
    return picture_of(sample), sample.references


def changed_examples(
    captions: Mapping[str, list[str]], recipe: JudgeRecipe, count: int
) -> list[Example]:
    """Returns up to `count` examples of changed captions; none without a picture with two captions.

    captions: the captions of each picture, by the picture's name. A change needs two captions: one
    is changed, and the other is the target. Pictures with a single caption are left out.
    """
    changeable = {name: texts for name, texts in captions.items() if len(texts) > 1}
    if not changeable:
        return []
    random = Random(recipe.seed)
    changes = Changes(changeable, random)
    names = list(changeable)
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
    """Returns an example for each pair of texts in a file of `spanreward judge label`.

    A line of the file has the judge's rating of one phrase. Example: two lines on the phrases "red"
    and "cat" of "a red cat" give one example with the marks ((2, 5, 0.0), (6, 9, 1.0)).

    Raises RecipeError, OSError.
    """
    # The marks by (text, target, picture).
    marks: dict[tuple[str, str, str], list[MarkedRange]] = defaultdict(list)
    for where, row in read_table(path):
        try:
            right = how_right(row["probabilities"])
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


def how_right(probabilities: Mapping[str, float]) -> float:
    """Returns how right words are by a judge's rating: the rating's mean, scaled to [0, 1].

    Example: {"1": 0.25, "3": 0.25, "5": 0.5} has the mean 3.5, and gives 0.625.

    probabilities: by the entry of the scale. Raises ValueError if they are no distribution.
    """
    levels = {float(level): float(p) for level, p in probabilities.items()}
    low = min(levels)
    high = max(levels)
    mean = sum(level * p for level, p in levels.items())
    right = (mean - low) / (high - low)
    if not 0 <= right <= 1:
        raise ValueError(f"{probabilities} is no distribution")
    return right
