"""A recipe's data as a dataset that TRL takes: prompt, image, what is right, and for SFT a completion.

dataset = load_data(recipe.data)                  # columns id, prompt, image, reference
dataset = load_data(recipe.data, completions=True)    # one row per reference, which is the completion

A row that asks a question has it in its prompt and in `question`, and people's answers in `answers`; for SFT it is one
row, whose completion is an answer. Where a dataset has both, a row holds None in the columns of the other. Pictures of
hub datasets stay on disk until a row is asked for.
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from datasets import Dataset, Image, concatenate_datasets

from rewards.language.answer_text import normalise
from rewards.pictures import scaled
from training.data.hub import hub_rows
from training.data.jsonl import jsonl_rows
from training.recipe import DataPart, HubPart, JsonlPart, MixedPart, RecipeError, RowsPart, ScenesPart
from training.scenes.language import criteria, describe
from training.scenes.questions import ask
from training.scenes.world import Scene, draw, make_scenes


def load_data(data: DataPart, completions: bool = False) -> Dataset:
    """The dataset of a recipe. Raises RecipeError when a row cannot be used, naming its line."""
    parts = data.parts if isinstance(data, MixedPart) else [data]
    loaded = [load_part(part, completions) for part in parts]
    if isinstance(data, MixedPart):
        loaded = [numbered(dataset, number) for number, dataset in enumerate(loaded)]
    dataset = concatenate_datasets(loaded)
    limits = [part.max_pixels for part in parts if isinstance(part, RowsPart) and part.max_pixels]
    return dataset.with_transform(Smaller(min(limits))) if limits else dataset


def load_part(data: ScenesPart | JsonlPart | HubPart, completions: bool) -> Dataset:
    """One block's rows, its pictures as they are."""
    pictures = None
    if isinstance(data, HubPart):
        rows, pictures = hub_rows(data)
    else:
        rows = scenes_rows(data) if isinstance(data, ScenesPart) else jsonl_rows(data)
    if completions:
        learn = [(row, text) for row in rows for text in learned(row, data)]
        rows = [{**row, "completion": [{"role": "assistant", "content": text}]} for row, text in learn]
    if not rows:
        wanted = "a picture and a reference or answers" if completions else "a picture and something to judge by"
        raise RecipeError(f"the data of {data.source} holds no row with {wanted}.")
    rows = [{**row, "prompt": [{"role": "user", "content": row["prompt"]}]} for row in rows]
    dataset = Dataset.from_list(rows)
    if pictures is not None:
        chosen = pictures.select([int(row["id"]) - 1 for row in rows])
        dataset = concatenate_datasets([chosen, dataset], axis=1)
    return dataset.cast_column("image", Image())


def numbered(dataset: Dataset, number: int) -> Dataset:
    """The dataset with ids that no other part of a mix has."""
    ids = [f"{number}/{name}" for name in dataset["id"]]
    return dataset.remove_columns("id").add_column("id", ids)


@dataclass(frozen=True, slots=True)
class Smaller:
    """A dataset's transform: pictures of at most so many pixels."""

    pixels: int

    def __call__(self, batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
        if "image" not in batch:
            return batch
        return {**batch, "image": [scaled(image, self.pixels) for image in batch["image"]]}


def learned(row: dict[str, Any], data: ScenesPart | RowsPart) -> list[str]:
    """What SFT learns of a row: every reference, or of a question one answer. In Scenes that is the first person's, so
    that a policy learns how sure people are; elsewhere the one that most people gave.
    """
    answers = row.get("answers")
    if row.get("question") and answers:
        return [answers[0] if isinstance(data, ScenesPart) else most_frequent(answers)]
    return row.get("reference") or []


def most_frequent(answers: Sequence[str]) -> str:
    """The answer whose normalised form is given most often, in the spelling that comes first; of equals the first."""
    forms = [normalise(answer) or answer for answer in answers]
    ((form, _),) = Counter(forms).most_common(1)
    return answers[forms.index(form)]


def load_scenes(data: ScenesPart) -> list[Scene]:
    """The contents of the pictures of `load_data`, in its order. For the referee only: no reward sees them."""
    return make_scenes(data.split, data.level, data.count, data.seed)


def scenes_rows(data: ScenesPart) -> list[dict[str, Any]]:
    generator = random.Random(f"references {data.split} {data.level} {data.seed}")
    scenes = load_scenes(data)
    rows: list[dict[str, Any]] = [{"id": scene.seed, "image": draw(scene)} for scene in scenes]
    for number, (row, scene) in enumerate(zip(rows, scenes, strict=True)):
        described = data.ask == "descriptions" or (data.ask == "both" and number % 2 == 0)
        if described:
            terse = (data.keep_object, data.keep_attribute)
            row["reference"] = [describe(scene, generator, *terse) for _ in range(data.references)]
            row["context"] = describe(scene, random.Random(f"context {scene.seed}"))  # for judges that see no pictures
            row["criteria"] = criteria(scene)
        else:
            question = ask(scene, generator, data.unsure)
            row |= {"question": question.text, "answers": list(question.answers)}
        row["prompt"] = row.get("question") or data.prompt
        if data.ask == "both":
            row |= {column: row.get(column) for column in ("reference", "context", "criteria", "question", "answers")}
    return rows
