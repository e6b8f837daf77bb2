"""Rows of a Hugging Face hub dataset, from its id and the names of its columns.

    columns = {"reference": "reference"}
    part = HubPart(source="hub", id="amitha/docent", split="train", columns=columns)
    rows, pictures = hub_rows(part)  # rows without images; row["id"] counts from 1 in `pictures`

The first use downloads the split into the cache of `datasets` ($HF_HOME). With `streaming`, only
the first `count` rows of the split are read, and are kept in memory. The id may also be a folder on
disk with parquet files or pictures. With HF_HUB_OFFLINE=1 only the cache is read. Code that a
dataset brings is never run. rows.py explains the columns.
"""

import io
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset, Features, Image, IterableDataset, config, get_dataset_split_names
from datasets.exceptions import DatasetsError
from huggingface_hub.constants import HF_HUB_CACHE

from spanreward.rewards.files.hub import load_split
from spanreward.rewards.rows.columns import picture_key
from spanreward.rewards.rows.pictures import PictureError, open_file
from spanreward.training.data.rows import ROW_COLUMNS, read_rows
from spanreward.training.recipe import HubPart, RecipeError


def hub_rows(
    data: HubPart, extra_columns: Collection[str] = ()
) -> tuple[list[dict[str, Any]], Dataset | None]:
    """Returns (rows, pictures): at most `data.count` rows of a dataset, and their pictures.

    `pictures` is a Dataset with the column `image`. It stays on disk, because all pictures together
    may be larger than the memory. The picture of a row is number `int(row["id"]) - 1`. `pictures`
    is None for data without pictures. It is also None with `streaming`: then each row holds its own
    picture, undecoded.

    extra_columns: other columns that each row keeps, because a user's own metric reads them.

    Raises ValueError for a dataset that cannot be loaded, a missing column, a picture column
    without pictures, and rows that cannot be used.
    """
    split = load_split(
        data.id,
        data.split,
        data.subset,
        data.revision,
        data.streaming,
    )
    features = split.features or Features()  # a stream of JSON has no features
    check_features(data, features)
    picture_column = picture_key(data.columns, features)
    has_pictures = picture_column in features
    records = records_to_read(split, data, extra_columns)
    named = named_records(f"{data.id} {data.split}", records)
    folders = [Path(data.id), Path(config.HF_DATASETS_CACHE), Path(HF_HUB_CACHE)]

    def picture_for_row(undecoded: Any, where: str) -> Any:
        """Returns what a row holds of its picture, after a check."""
        check_picture(undecoded, where, folders)
        # a stream cannot be read a second time, so the row must keep its picture
        return undecoded if data.streaming else None

    rows = read_rows(named, data, picture_for_row, extra_columns=extra_columns)
    if isinstance(split, IterableDataset) or not has_pictures:
        return rows, None
    return rows, pictures_of(split, picture_column)


def records_to_read(
    split: Dataset | IterableDataset, data: HubPart, extra_columns: Collection[str]
) -> Dataset | IterableDataset:
    """Returns the split with only the columns that a row can use, and with undecoded pictures,
    {"bytes": ..., "path": ...}: a dataset may hold hundreds of thousands of pictures.

    extra_columns: as in `hub_rows`.
    """
    features = split.features or Features()  # no features: the types of the columns are unknown
    picture_column = picture_key(data.columns, features)
    usable = {picture_column, *columns_of_rows(data), *extra_columns}
    records = split.select_columns([name for name in features if name in usable])
    if picture_column in features:
        # the cast also accepts a column of {"bytes": ..., "path": ...}
        records = records.cast_column(picture_column, Image(decode=False))
    return records


def columns_of_rows(data: HubPart) -> set[str]:
    """Returns the dataset's names of the columns that a row can have, except for the pictures.

    Example: with `data.columns` = {"reference": "caption"}, the set has "caption" in place of
    "reference", beside "prompt" and the other names of ROW_COLUMNS.
    """
    names: Mapping[Any, str] = data.columns
    return {names.get(name, name) for name in ROW_COLUMNS}


def pictures_of(split: Dataset, picture_column: str) -> Dataset:
    """Returns the pictures of a split, as a Dataset with the single column `image`.

    The pictures stay in the dataset's files, and each is decoded when it is read.
    """
    pictures = split.select_columns([picture_column]).cast_column(picture_column, Image())
    if picture_column != "image":
        pictures = pictures.rename_column(picture_column, "image")
    return pictures


def named_records(split: str, records: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """Yields (name, record) of each record. The name is for messages: "amitha/docent train row 1"
    for the first record of the split "amitha/docent train".
    """
    for number, record in enumerate(records, start=1):
        yield f"{split} row {number}", record


def split_names(data: HubPart) -> list[str]:
    """Returns the names of the dataset's splits. If the names cannot be found out, returns only the
    split that `data` names.
    """
    try:
        names = get_dataset_split_names(data.id, data.subset, revision=data.revision)
    except (OSError, ValueError, RuntimeError, DatasetsError):
        # no network, or a folder whose splits `datasets` cannot list
        return [data.split]
    return list(names)


def check_features(data: HubPart, features: Features) -> None:
    """Raises RecipeError if the dataset lacks a column of `data.columns`, and if its picture column
    holds no pictures. features: the dataset's columns with their types.
    """
    key = picture_key(data.columns, features)
    prompt_key = data.columns.get("prompt", "prompt")
    # a dataset that lacks the picture column is data without pictures if it has prompts
    without_pictures = key not in features and prompt_key in features
    needed = list(data.columns.values())
    if not without_pictures:
        needed.insert(0, key)  # the message about a missing picture column comes first
    for name in needed:
        if name not in features:
            raise RecipeError(
                f"the dataset {data.id!r} has no column {name!r}, only {sorted(features)}: set "
                "data.columns."
            )
    if without_pictures:
        return
    feature = features[key]
    if isinstance(feature, Image):
        return
    # an undecoded picture is {"bytes": ..., "path": ...}
    is_struct = isinstance(feature, dict) and "bytes" in feature and "path" in feature
    if not is_struct:
        raise RecipeError(
            f"the column {key!r} of the dataset {data.id!r} holds no pictures, one a row, but "
            f"{feature}: paths and addresses are not followed; save the pictures to disk and "
            "use source: jsonl."
        )


def check_picture(value: Any, where: str, folders: Sequence[Path]) -> None:
    """Raises RecipeError for a missing picture, for a file that does not begin like a picture, and
    for a path outside the dataset's `folders`.

    value: an undecoded picture, {"bytes": ..., "path": ...}. where: the row's name, for messages.
    Only the beginning of the picture is read, because a dataset may hold hundreds of thousands of
    pictures. A stranger may have written the dataset, so a path must not lead to a private file
    outside the folders, and an address such as https://... is refused: a picture must be in the
    dataset itself.
    """
    if value is None:
        raise RecipeError(f"{where} has no picture: leave the row out of the dataset.")
    content = value["bytes"]
    path = value["path"]
    # Refuse a picture that is only an address. A dataset is downloaded whole before the training,
    # or streamed. In neither case are the addresses in its rows followed.
    if content is None and "://" in path:
        raise RecipeError(
            f"{where}: the picture is the address {path!r}, and nothing is fetched while training: "
            "without streaming a dataset is downloaded whole; addresses in it are not followed."
        )
    # read the beginning of the picture, from its bytes or from a file inside of the folders
    try:
        if content is not None:
            open_file(io.BytesIO(content)).close()
        elif is_inside(path, folders):
            open_file(path).close()
        else:
            raise PictureError(f"it is the file {path!r} outside the dataset's folder")
    except (FileNotFoundError, PictureError) as error:
        raise RecipeError(
            f"{where} cannot be read as a picture ({error}): leave the row out of the dataset."
        ) from None


def is_inside(path: str, folders: Sequence[Path]) -> bool:
    """Returns whether a path is inside of one of the folders. Links in the path are not
    followed.
    """
    # `abspath` resolves the ".." in paths such as folder/../../etc/passwd
    absolute = Path(os.path.abspath(path))
    absolute_folders = [os.path.abspath(folder) for folder in folders]
    return any(map(absolute.is_relative_to, absolute_folders))
