"""What checkpoints are asked: the rows that all of them answer, and how they are sliced.

prompts = prompts_of_recipe(recipe, as_written, count=256)      # rows that the recipe does not train on
prompts = prompts_of_file("rows.jsonl", count=256)              # ids, references: enough for files of answers
prompts.slices["asked for"]                                     # [("question",), ...], one entry per row
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from datasets import Dataset
from numpy import quantile

from spanreward.rewards.files.pictures import loaded, open_file
from spanreward.training.data.custom import custom_records
from spanreward.training.data.hub import load_split
from spanreward.training.data.jsonl import read_records, readable_picture
from spanreward.training.data.load import load_data
from spanreward.training.data.rows import prompt_for, read_values
from spanreward.training.evaluation.held_out import held_out, held_out_data
from spanreward.training.recipe import DataPart, FilePart, HubPart, JsonlPart, Recipe, RecipeError

Values = tuple[str, ...]  # of one row in one slice: usually one, several where a column holds a list, none


@dataclass(frozen=True, slots=True)
class Prompts:
    """rows: with `id`, `prompt`, `image` and what they are judged by. slices: {name: each row's values}. source: the
    data block as plain data. clusters: a number for each row, the same for rows that are drawn together; None
    where each is by itself. told: sentences that a reader must know. noted: those that matter less.
    """

    rows: list[dict[str, Any]]
    slices: Mapping[str, list[Values]]
    source: dict[str, Any]
    clusters: list[int] | None = None
    told: list[str] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)

    def taken(self, numbers: Sequence[int]) -> "Prompts":
        """Returns these prompts, in this order."""
        return replace(
            self,
            rows=[self.rows[number] for number in numbers],
            slices={name: [values[number] for number in numbers] for name, values in self.slices.items()},
            clusters=None if self.clusters is None else [self.clusters[number] for number in numbers],
        )


def prompts_of_recipe(
    recipe: Recipe, as_written: Recipe, count: int, columns: Sequence[str] = (), cluster: str = ""
) -> Prompts:
    """Returns the first `count` rows that the recipe does not train on. as_written: see held_out.py."""
    data, told = held_out_data(recipe, as_written)
    prompts = prompts_of(held_out(data, count), columns, told, cluster)
    return replace(prompts, noted=first_of(len(prompts.rows), count, None))


def prompts_of(data: DataPart, columns: Sequence[str] = (), told: Sequence[str] = (), cluster: str = "") -> Prompts:
    """Returns every row of a data block, also sliced by these columns of its files. Rows with the same value in the
    column `cluster` are drawn together, without one those with the same picture.
    """
    rows = list(load_data(data))
    found = columns_of(data, [row["id"] for row in rows], [*columns, *([cluster] if cluster else [])])
    clusters = numbered(found[cluster] if cluster else [picture_of(row) for row in rows])
    slices = {**slices_of(rows), **{name: found[name] for name in columns}}
    return Prompts(rows, slices, data.model_dump(), clusters, list(told))


def first_of(taken: int, count: int, there: int | None) -> list[str]:
    """Returns a sentence where --prompts took not all rows. there: how many there are, None if not known."""
    if taken < count or there == taken:
        return []
    of = "the first rows" if there is None else f"the first of {there:,} rows"
    more = f"{there or 'N'} takes more{'' if there else ', where there are more'}"
    return [f"compared on {taken:,} prompts, {of} in the data's order: --prompts {more}"]


def picture_of(row: Mapping[str, Any]) -> Any:
    """Returns what tells a row's picture from others; the row's id without one."""
    image = row.get("image")
    return row["id"] if image is None else (image.mode, image.size, hashlib.blake2b(image.tobytes()).digest())


def numbered(values: Sequence[Any]) -> list[int]:
    """Returns a number for each value, in order of appearance."""
    numbers: dict[Any, int] = {}
    return [numbers.setdefault(value, len(numbers)) for value in values]


def prompts_of_file(path: str, count: int, columns: Sequence[str] = (), cluster: str = "") -> Prompts:
    """Returns the first `count` rows of a JSONL file. A row has an `id` (default: the line's number) and those of
    `image`, `prompt`, `question`, `reference`, `answers`, `context`, ... that the metric needs. cluster: as for
    `prompts_of`. Raises RecipeError, naming the line, for a row that cannot be used or repeats an id.
    """
    if not Path(path).is_file():
        raise RecipeError(f"there is no data file {path}: give the path of a JSONL file with --data.")
    rows: list[dict[str, Any]] = []
    found: list[dict[str, Any]] = []
    ids: set[str] = set()
    for number, (where, record) in enumerate(read_records(Path(path)), start=1):
        name = str(record.get("id", number))
        if name in ids:
            raise RecipeError(f"{where} has the id {name!r} of an earlier line: give every row an id of its own.")
        ids.add(name)
        values = read_values(record, {}, where)
        image = record.get("image")
        picture = None if image is None else loaded(open_file(readable_picture(Path(path).parent / str(image), where)))
        asked = values.pop("prompt") or prompt_for(values["question"], None)
        rows.append({"id": name, "image": picture, "prompt": [{"role": "user", "content": asked}], **values})
        found.append(record)
        if len(rows) == count:
            break
    if not rows:
        raise RecipeError(f"{path} holds no row: it needs a JSON object a line.")
    chosen = {name: [values_of(record.get(name)) for record in found] for name in [*columns, *filter(None, [cluster])]}
    check_slices(chosen, path)
    clusters = numbered(chosen[cluster] if cluster else [picture_of(row) for row in rows])
    slices = {**slices_of(rows), **{name: chosen[name] for name in columns}}
    source = {"source": "rows", "path": path, "count": count}
    with Path(path).open(encoding="utf-8") as lines:
        there = sum(1 for line in lines if line.strip())
    return Prompts(rows, slices, source, clusters, noted=first_of(len(rows), count, there))


def slices_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Values]]:
    """Slices by what is asked, and into thirds by the length of the longest reference. Both are known before any model
    answers, so no slice depends on what is compared.
    """
    kinds: list[Values] = [("question",) if row.get("question") else ("description",) for row in rows]
    lengths = [max((len(text.split()) for text in row.get("reference") or ()), default=None) for row in rows]
    known = [length for length in lengths if length is not None]
    short, long = (round(float(edge)) for edge in quantile(known, [1 / 3, 2 / 3])) if known else (0, 0)
    names = (f"up to {short}", f"{short + 1} to {long}", f"over {long}")
    bins: list[Values] = [() if length is None else (names[(length > short) + (length > long)],) for length in lengths]
    return {"asked for": kinds, "words of the reference": bins}


def columns_of(data: DataPart, ids: Sequence[str], columns: Sequence[str]) -> dict[str, list[Values]]:
    """Returns these columns of the data's own files, per row. Raises RecipeError for one that no row has."""
    if not columns:
        return {}
    places = [(int(part or 0), int(number)) for part, _, number in (row.rpartition("/") for row in ids)]
    last = max((number for _, number in places), default=0)
    records = [records_of(part, last) for part in data.parts]
    chosen = [records[part][number - 1] for part, number in places]
    found = {name: [values_of(record.get(name)) for record in chosen] for name in columns}
    check_slices(found, " and ".join(part.source for part in data.parts))
    return found


def records_of(part: JsonlPart | HubPart | FilePart, last: int) -> Any:
    """Returns a block's records as they were written, at least up to the row `last`; row `id` is at place id - 1."""
    if isinstance(part, FilePart):  # whose function may give rows without end
        return list(islice(custom_records(part), last))
    if isinstance(part, JsonlPart):
        return [record for _, record in read_records(Path(part.path))]
    split = load_split(part)
    return split if isinstance(split, Dataset) else list(split.take(part.count or 0))


def values_of(value: Any) -> Values:
    """Returns a column's value as texts: those of a list, or the one."""
    return tuple(str(entry) for entry in (value if isinstance(value, list) else [value]) if entry is not None)


def check_slices(slices: Mapping[str, list[Values]], where: str) -> None:
    for name, values in slices.items():
        if not any(values):
            raise RecipeError(f"--slice {name}: no row of {where} has this column.")
