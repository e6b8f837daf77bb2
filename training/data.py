"""A recipe's data as a dataset that TRL takes: prompt, image, what is right, and for SFT a completion.

dataset = load_data(recipe.data)                  # columns id, prompt, image, reference
dataset = load_data(recipe.data, completions=True)    # one row per reference, which is the completion

A row that asks a question has it as its prompt and in `question`, and people's answers in `answers`; for SFT it is one
row, and the first answer its completion. Where a dataset has both, a row holds None in the columns of the other.
"""

import json
import logging
import random
from pathlib import Path
from typing import Any

from datasets import Dataset, Image
from PIL import Image as Picture
from PIL import UnidentifiedImageError

from rewards.reward import texts
from training.recipe import JsonlPart, RecipeError, ScenesPart
from training.scenes.language import describe
from training.scenes.questions import ask
from training.scenes.world import Scene, draw, make_scenes

log = logging.getLogger(__name__)


def load_data(data: ScenesPart | JsonlPart, completions: bool = False) -> Dataset:
    """The dataset of a recipe. Raises RecipeError when a row cannot be used, naming its line."""
    rows = scenes_rows(data) if isinstance(data, ScenesPart) else jsonl_rows(data)
    if not rows:
        raise RecipeError(f"the data of {data.source} holds no row with a picture and a reference.")
    rows = [{**row, "prompt": [{"role": "user", "content": row.get("question") or data.prompt}]} for row in rows]
    if completions:
        rows = [
            {**row, "completion": [{"role": "assistant", "content": text}]}
            for row in rows
            for text in row.get("reference") or row["answers"][:1]
        ]
    return Dataset.from_list(rows).cast_column("image", Image())


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
        else:
            question = ask(scene, generator, data.unsure)
            row |= {"question": question.text, "answers": list(question.answers)}
        if data.ask == "both":
            row |= {column: row.get(column) for column in ("reference", "context", "question", "answers")}
    return rows


def jsonl_rows(data: JsonlPart) -> list[dict[str, Any]]:
    """Rows of a JSONL file that have a reference; pictures are paths relative to the file."""
    path = Path(data.path)
    if not path.is_file():
        raise RecipeError(f"there is no data file {path}: give its path with data.path=PATH.")
    image_key, reference_key = data.columns.get("image", "image"), data.columns.get("reference", "reference")
    rows: list[dict[str, Any]] = []
    without_reference = 0
    content = path.read_text("utf-8").removesuffix("\n")
    for number, line in enumerate(content.split("\n") if content else [], start=1):
        if len(rows) == data.count:
            break
        where = f"{path} line {number}"
        record = read_record(line, where)
        missing = [key for key in (image_key, reference_key) if key not in record]
        if missing:
            raise RecipeError(f"{where} has no {missing[0]!r}, only {sorted(record)}: set data.columns to its keys.")
        try:
            references = texts(record[reference_key], reference_key)
        except ValueError as error:
            raise RecipeError(f"{where}: {error}.") from None
        if not references:
            without_reference += 1
            continue
        if not isinstance(record[image_key], str):
            raise RecipeError(f"{where}: {image_key!r} must be the path of a picture, got {record[image_key]!r}.")
        image = readable_picture(path.parent / record[image_key], where)
        rows.append({"id": str(number), "image": str(image), "reference": list(references)})
    if without_reference:
        log.warning("%s: left out %d rows without a reference, kept %d", path, without_reference, len(rows))
    return rows


def read_record(line: str, where: str) -> dict[str, Any]:
    """A line's JSON object. Raises RecipeError."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise RecipeError(f"{where} is not JSON ({error}): mend or remove the line.") from None
    if not isinstance(record, dict):
        raise RecipeError(f"{where} must hold a JSON object, got {record!r}.")
    return record


def readable_picture(path: Path, where: str) -> Path:
    """The path, when a picture can be opened there. Raises RecipeError."""
    try:
        with Picture.open(path) as picture:
            picture.load()  # verify() would not look at a JPEG's data
    except FileNotFoundError:
        raise RecipeError(f"{where}: there is no picture {path}; paths are relative to the file's folder.") from None
    except (UnidentifiedImageError, OSError, SyntaxError) as error:
        raise RecipeError(f"{where}: {path} cannot be read as a picture ({error}): mend or remove it.") from None
    return path
