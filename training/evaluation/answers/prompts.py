"""Reads the rows that all compared models answer.

prompts = prompts_of_recipe(recipe, as_written, count=256)  # rows that the recipe does not train on
prompts = prompts_of_file("rows.jsonl", count=256)  # ids, references: enough for files of answers
prompts.slices["asked for"]  # [("question",), ...], one entry per row
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spanreward.rewards.files.json_lines import checked_encodable
from spanreward.rewards.rows.columns import picture_key
from spanreward.rewards.rows.pictures import DECODED_PIXELS, shown_picture
from spanreward.rewards.rows.tables import folder_of, row_id, table_rows
from spanreward.training.data.rows import (
    columns_named,
    open_picture,
    prompt_and_values,
    read_values,
)
from spanreward.training.evaluation.answers.held_out import held_out, held_out_data
from spanreward.training.evaluation.answers.slicing import SliceValues, slices_and_clusters
from spanreward.training.recipe import DataPart, Recipe, RecipeError


@dataclass(frozen=True, slots=True)
class Prompts:
    """The rows that all sides answer.

    Attributes:
        rows: each with `id`, `prompt`, `image` and the columns that metrics read, such as
            `reference`.
        slices: by the name of a slice, the values of each row: {"asked for": [("question",), ...]}.
        source: where the rows come from: the recipe's data block as plain data, such as {"source":
            "hub", "id": "amitha/docent", ...}, or {"source": "rows", "path": ..., "count": ...} for
            a file of --data.
        clusters: one number per row. The statistics draw rows with equal numbers together, such as
            two questions about one picture. None if every row is drawn by itself.
        warnings: sentences that a reader must know before the figures.
        notes: sentences on smaller limits of the figures.
    """

    rows: list[dict[str, Any]]
    slices: Mapping[str, list[SliceValues]]
    source: dict[str, Any]
    clusters: list[int] | None = None
    warnings: Sequence[str] = ()
    notes: Sequence[str] = ()


def prompts_of_recipe(
    recipe: Recipe,
    as_written: Recipe,
    count: int,
    columns: Sequence[str] = (),
    cluster: str = "",
    extra_columns: Collection[str] = (),
) -> Prompts:
    """Returns the first `count` rows that the recipe does not train on (held_out.py).

    as_written: the recipe without the changes of the command line. columns: columns of the data by
    which the rows are also sliced. cluster: the column whose equal values put rows into one
    cluster; "" takes equal pictures. extra_columns: other columns that each row keeps. Raises
    RecipeError for data that cannot be used.
    """
    data, warnings = held_out_data(recipe, as_written)
    prompts = prompts_of(held_out(data, count), columns, warnings, cluster, extra_columns)
    # None: the number of all rows is not known, because only `count` rows were read
    notes = limit_notes(len(prompts.rows), count, None)
    return replace(prompts, notes=notes)


def prompts_of(
    data: DataPart,
    columns: Sequence[str] = (),
    warnings: Sequence[str] = (),
    cluster: str = "",
    extra_columns: Collection[str] = (),
) -> Prompts:
    """Returns all rows of a data block, with their slices and clusters.

    columns: columns of the data by which the rows are also sliced. warnings: those of
    `held_out_data`. cluster: the column whose equal values put rows into one cluster; "" takes
    equal pictures. extra_columns: other columns that each row keeps.
    """
    from spanreward.training.data.load import load_data, records_of  # needs the extra train

    rows = list(load_data(data, extra_columns=extra_columns))
    # the original rows too, because `load_data` drops columns that no metric reads
    records = []
    if columns or cluster:
        records = records_of(data, [row["id"] for row in rows])
    where = " and ".join(part.source for part in data.parts)
    slices, clusters = slices_and_clusters(rows, records, columns, cluster, where)
    return Prompts(rows, slices, data.model_dump(), clusters, warnings)


def prompts_of_file(
    path: str,
    count: int,
    columns: Sequence[str] = (),
    cluster: str = "",
    renamed: Mapping[str, str] | None = None,
    extra_columns: Collection[str] = (),
) -> Prompts:
    """Returns the first `count` rows of a file or dataset that `table_rows` reads.

    A row may have an `id`; without an `id`, the row's number is used. A row also has the columns
    that the metrics need, such as `image`, `prompt`, `question`, `reference`, `answers` or
    `context`.

    columns: columns of the file by which the rows are also sliced. cluster: the column whose equal
    values put rows into one cluster; "" takes equal pictures. renamed: {our name of a column: the
    file's name}. extra_columns: other columns that each row keeps. Raises RecipeError, naming the
    line, for a row that cannot be used or repeats an id.
    """
    rows: dict[str, dict[str, Any]] = {}  # by id
    records = []
    file_rows = 0
    for number, line_name, record in table_rows(path, renamed):
        file_rows += 1
        # rows past the limit are only counted, for the note on --limit
        if file_rows > count:
            continue
        where = f"{path} {line_name}"
        # in place of a line that cannot be read, `table_rows` gives a sentence with the reason
        if isinstance(record, str):
            raise RecipeError(f"{path} {record}")
        name = row_id(record, number)
        if name in rows:
            raise RecipeError(
                f"{where} has the id {name!r} of an earlier line: give every row an id of its own."
            )
        rows[name] = prompt_row(record, name, where, folder_of(path))
        rows[name].update(columns_named(record, extra_columns))
        records.append(record)
    if not rows:
        raise RecipeError(f"{path} holds no row: it needs a JSON object a line.")
    prompt_rows = list(rows.values())
    slices, clusters = slices_and_clusters(prompt_rows, records, columns, cluster, path)
    source = {"source": "rows", "path": path, "count": count}
    notes = limit_notes(len(rows), count, file_rows)
    return Prompts(prompt_rows, slices, source, clusters, notes=notes)


def prompt_row(
    record: dict[str, Any],
    name: str,
    where: str,
    folder: Path,
) -> dict[str, Any]:
    """Returns a line of a file as a row: {"id": "7", "image": ..., "prompt": [...], "reference":
    ...}.

    name: the row's id. where: the line's name, for messages. folder: the folder of the file, where
    relative paths of pictures begin. Raises RecipeError for a line that cannot be used.
    """
    encodable = checked_encodable(record, where)
    values = read_values(encodable, {}, where)
    picture = encodable.get(picture_key({}, encodable))
    if picture is not None:
        opened = open_picture(folder, picture, where)
        # as in training: upright, in RGB, and with at most DECODED_PIXELS
        picture = shown_picture(opened, DECODED_PIXELS)
    prompt, other_values = prompt_and_values(values, None, picture is not None, where)
    messages = [{"role": "user", "content": prompt}]
    return {"id": name, "image": picture, "prompt": messages, **other_values}


def limit_notes(prompts: int, limit: int, data_rows: int | None) -> list[str]:
    """Returns a list with a note that --limit left rows out, or may have left rows out; an empty
    list if all rows were used.

    prompts: the number of rows that are compared on. limit: the value of --limit. data_rows: the
    number of all rows; None if only `limit` rows were read, so that nobody knows whether there are
    more rows.
    """
    # all rows were used: the data have fewer rows than the limit, or exactly as many
    if prompts < limit or data_rows == prompts:
        return []
    compared = f"compared on {prompts:,} prompts"
    # if nobody knows whether there are more rows, the note cannot say which --limit takes all rows
    if data_rows is None:
        return [
            f"{compared}, the first rows in the data's order: --limit N takes more, where there "
            "are more"
        ]
    return [
        f"{compared}, the first of {data_rows:,} rows in the data's order: --limit {data_rows} "
        "takes more"
    ]
