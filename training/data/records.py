"""What a recipe's data hold of each row, as it is written, with columns that no reward reads.

records_of(recipe.data, ["1", "3"])     # [{"image": "a.jpg", "level": 2}, ...]
"""

from collections.abc import Sequence
from itertools import islice
from typing import Any

from spanreward.rewards.files.hub import load_split
from spanreward.rewards.rows.tables import read_table
from spanreward.training.data.custom import custom_records
from spanreward.training.recipe import DataPart, FilePart, HubPart, JsonlPart


def records_of(data: DataPart, ids: Sequence[str]) -> list[Any]:
    """Returns what the data's own files hold of each row."""
    places = [
        (int(part or 0), int(number)) for part, _, number in (row.rpartition("/") for row in ids)
    ]
    last = max((number for _, number in places), default=0)
    records = [records_of_part(part, last) for part in data.parts]
    return [records[part][number - 1] for part, number in places]


def records_of_part(part: JsonlPart | HubPart | FilePart, last: int) -> Any:
    """Returns a block's records as they were written, at least up to the row `last`; row `id` is at
    place id - 1.
    """
    if isinstance(part, HubPart):
        from datasets import Dataset  # of the extra train

        split = load_split(part.id, part.split, part.subset, part.revision, part.streaming)
        if isinstance(split, Dataset):
            return split
        return list(split.take(part.count or 0))
    records = custom_records(part) if isinstance(part, FilePart) else read_table(part.path)
    return [record for _, record in islice(records, last)]  # a function may give rows without end
