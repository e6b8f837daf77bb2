"""Rows of a Hugging Face hub dataset, by its id and a map of its columns.

    columns = {"reference": "reference"}
    part = HubPart(source="hub", id="amitha/docent", split="train", columns=columns)
    rows, pictures = hub_rows(part)  # rows without images; row["id"] counts from 1 in `pictures`

The first use downloads the split into the cache of `datasets` ($HF_HOME). With `streaming`, only
its first `count` rows are read, and kept in memory. An id may also be a folder on disk with parquet
files or pictures. HF_HUB_OFFLINE=1 looks in the cache only. A dataset's code is never run. rows.py
says what the columns mean.
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
    """Returns at most `data.count` rows, and the split's pictures (column image), which stay on
    disk.

    With `streaming` the rows hold their images, undecoded, and the second is None, as it is without
    pictures. Raises ValueError for a dataset that cannot be loaded, a column that is missing or
    holds no pictures, and rows that cannot be used. extra_columns: see `read_rows`.
    """
    split = load_split(
        data.id,
        data.split,
        data.subset,
        data.revision,
        data.streaming,
    )
    features = split.features or Features()  # a stream of JSON does not know its own
    key = picture_key(data.columns, features)
    check_features(data, features)
    # the columns that are read, under the dataset's names
    names: Mapping[Any, str] = data.columns
    columns = {key, *extra_columns}
    for name in ROW_COLUMNS:
        columns.add(names.get(name, name))
    pictured = key in features
    records = split.select_columns([name for name in features if name in columns])
    # undecoded, as hundreds of thousands of pictures are looked at here
    if pictured:
        records = records.cast_column(key, Image(decode=False))  # structs become pictures too
    named = named_records(f"{data.id} {data.split}", records)
    folders = [
        Path(data.id),
        Path(config.HF_DATASETS_CACHE),
        Path(HF_HUB_CACHE),
    ]

    def picture(value: Any, where: str) -> Any:
        check_picture(value, where, folders)
        # a stream cannot be asked for the picture again
        return value if data.streaming else None

    rows = read_rows(named, data, picture, extra_columns=extra_columns)
    if isinstance(split, IterableDataset) or not pictured:
        return rows, None
    # they stay in the dataset's files, and are decoded when a row is read
    pictures = split.select_columns([key]).cast_column(key, Image())
    if key != "image":
        pictures = pictures.rename_column(key, "image")
    return rows, pictures


def named_records(split: str, records: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """Yields each record with its name in messages: the split's, and its number from 1."""
    for number, record in enumerate(records, start=1):
        yield f"{split} row {number}", record


def split_names(data: HubPart) -> list[str]:
    """Returns the names of the dataset's splits; where they are not known, only the one in
    `data`.
    """
    try:
        names = get_dataset_split_names(data.id, data.subset, revision=data.revision)
    except (OSError, ValueError, RuntimeError, DatasetsError):
        # no network, or a folder that `datasets` cannot list
        return [data.split]
    return list(names)


def check_features(data: HubPart, features: Features) -> None:
    """Raises RecipeError for a missing column of `data.columns`, and for a picture column without
    pictures.
    """
    key = picture_key(data.columns, features)
    prompt_key = data.columns.get("prompt", "prompt")
    # rows of text alone: a prompt of their own takes the picture's place
    without_pictures = key not in features and prompt_key in features
    needed = list(data.columns.values())
    if not without_pictures:
        needed.insert(0, key)
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
    # undecoded pictures are {"bytes", "path"}
    is_struct = isinstance(feature, dict) and "bytes" in feature and "path" in feature
    if not is_struct:
        raise RecipeError(
            f"the column {key!r} of the dataset {data.id!r} holds no pictures, one a row, but "
            f"{feature}: paths and addresses are not followed; save the pictures to disk and "
            "use source: jsonl."
        )


def check_picture(value: Any, where: str, folders: Sequence[Path]) -> None:
    """Raises RecipeError for a picture that is missing, does not begin as one, or lies outside the
    dataset's `folders`.

    value: {"bytes", "path"} of an undecoded picture. Its rest is not read here, since a dataset may
    hold hundreds of thousands. Paths elsewhere are refused because somebody else has written the
    dataset.
    """
    if value is None:
        raise RecipeError(f"{where} has no picture: leave the row out of the dataset.")
    content = value["bytes"]
    path = value["path"]
    if content is None and "://" in path:
        raise RecipeError(
            f"{where}: the picture is the address {path!r}, and nothing is fetched while training: "
            "without streaming a dataset is downloaded whole; addresses in it are not followed."
        )
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
    """Returns whether a path lies in one of the folders, by its name: a link is not followed."""
    # `abspath` takes the .. out of folder/../../etc/passwd
    absolute = Path(os.path.abspath(path))
    absolute_folders = [os.path.abspath(folder) for folder in folders]
    return any(map(absolute.is_relative_to, absolute_folders))
