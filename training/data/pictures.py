"""The picture of a row, opened once, so that a run does not end at a damaged one.

    usable_picture(Path("rows"), "a.jpg", "rows/rows.jsonl line 1")     # "rows/a.jpg"

spanreward/rewards/rows/pictures.py says where a path goes from.
"""

from pathlib import Path
from typing import Any

from PIL import Image

from spanreward.rewards.rows.pictures import ENCODED, PictureError, located, opened
from spanreward.training.recipe import RecipeError


def usable_picture(folder: Path, value: Any, where: str) -> Any:
    """Returns the picture as `datasets` takes it: its path, its {"bytes", "path"}, or a PIL image.

    folder: see `located`. Raises as `open_picture`.
    """
    image = open_picture(folder, value, where)
    picture = located(only_picture(value, where), folder)
    if isinstance(picture, str) and ENCODED.match(picture):
        return image  # `datasets` reads no data URL
    return picture


def open_picture(folder: Path, value: Any, where: str) -> Image.Image:
    """Returns the picture decoded to its end, as a damaged JPEG may begin well.

    Raises RecipeError for one that cannot be read, and for several.
    """
    try:
        return opened(only_picture(value, where), folder)
    except PictureError as error:
        raise RecipeError(f"{where}: {error}.") from None


def only_picture(value: Any, where: str) -> Any:
    """Returns the picture, maybe out of a list of one."""
    if not isinstance(value, list):
        return value
    if len(value) != 1:
        raise RecipeError(f"{where} must hold one picture, got {len(value)}.")
    return value[0]
