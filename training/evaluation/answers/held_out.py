"""The rows that checkpoints are compared on: rows that the recipe does not train on, or a sentence
that says it does.

data, warnings = held_out_data(recipe, as_written)     # warnings: [] or what a reader must know

`as_written` is the recipe's file without the changes of the command line: data named there are the
user's choice.
"""

import math

from spanreward.training.recipe import DataPart, FilePart, HubPart, JsonlPart, MixedPart, Recipe

# what splits that are not for training are called; the first that a dataset has is taken
HELD_OUT = ("validation", "val", "valid", "dev", "test")


def held_out_data(recipe: Recipe, as_written: Recipe) -> tuple[DataPart, list[str]]:
    """Returns the recipe's `validation`, else its data with the validation or test split of each
    block, and a warning for each block that has neither. as_written: the recipe without the changes
    of the command line.
    """
    if recipe.validation_data is not None:
        return recipe.validation_data, []
    data = recipe.data
    trained = [rows_of(part) for part in as_written.data.parts]
    chosen: list[JsonlPart | HubPart | FilePart] = []
    warnings = []
    for part in data.parts:
        # rows that the command line names, such as data.split=val, stay as they are
        if rows_of(part) in trained:
            part = with_held_out_split(part)
        chosen.append(part)
        rows = rows_of(part)
        # still: no other split was found
        if rows in trained:
            where = " ".join(filter(None, rows))
            warnings.append(
                f"compared on rows that the recipe trains on ({where}), as "
                "no validation or test split is known: name others with --set "
                "validation.path=FILE, validation.split=SPLIT or validation.options.NAME=VALUE"
            )
    if isinstance(data, MixedPart):
        return data.model_copy(update={"parts": chosen}), warnings
    return chosen[0], warnings


def rows_of(part: JsonlPart | HubPart | FilePart) -> tuple[str, ...]:
    """Returns what says which rows a block reads, whatever their number: ("amitha/docent", "",
    "train") of a hub dataset.
    """
    if isinstance(part, HubPart):
        return part.id, part.subset or "", part.split
    if isinstance(part, FilePart):
        rows = [part.source]
        for name, value in sorted(part.options.items()):
            # the first 100 rows of a function are among its first 1,000
            if name != "count":
                rows.append(f"{name}={value}")
        return tuple(rows)
    return (part.path,)


def with_held_out_split(part: JsonlPart | HubPart | FilePart) -> JsonlPart | HubPart | FilePart:
    """Returns the block with a split that is not for training, where its dataset has one."""
    if not isinstance(part, HubPart):
        return part
    from spanreward.training.data.hub import split_names  # needs the extra train

    names = split_names(part)
    for name in HELD_OUT:
        if name in names and name != part.split:
            return part.model_copy(update={"split": name})
    return part


def held_out(data: DataPart, count: int) -> DataPart:
    """Returns the data with at most `count` prompts, equally many of each part. It does not look at
    whether they are held out.
    """
    if isinstance(data, MixedPart):
        part_count = math.ceil(count / len(data.parts))
        parts = [held_out(part, part_count) for part in data.parts]
        return data.model_copy(update={"parts": parts})
    return data.model_copy(update={"count": count})
