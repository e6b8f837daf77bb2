"""Chooses the rows that checkpoints are compared on: rows that the recipe does not train on.

data, warnings = held_out_data(recipe, as_written)  # warnings: sentences, or []

If no such rows are known, a warning says that the checkpoints are compared on rows of their
training. `as_written` is the recipe's file without the changes of the command line. Data that the
command line names are the user's choice, so they are used as they are.
"""

import math

from spanreward.training.recipe import DataPart, FilePart, HubPart, JsonlPart, MixedPart, Recipe

# names of splits that are not for training; the first name that a dataset has is used
HELD_OUT = ("validation", "val", "valid", "dev", "test")


def held_out_data(recipe: Recipe, as_written: Recipe) -> tuple[DataPart, list[str]]:
    """Returns the data to compare on, and a warning for each data block that is trained on.

    The data are the recipe's `validation`. Without `validation`, each block of the recipe's `data`
    gets the validation or test split of its dataset. If the dataset has no such split, the block
    keeps its training rows, with a warning.

    recipe: the recipe with the changes of the command line. as_written: the recipe without these
    changes, whose rows are the training rows.
    """
    if recipe.validation_data is not None:
        return recipe.validation_data, []
    data = recipe.data
    trained = [names_of_block(part) for part in as_written.data.parts]
    chosen: list[JsonlPart | HubPart | FilePart] = []
    warnings = []
    for part in data.parts:
        # A block without training rows stays as it is: the user has chosen it on the command line,
        # such as by data.split=val.
        if names_of_block(part) not in trained:
            chosen.append(part)
            continue
        held_out_part = with_held_out_split(part)
        chosen.append(held_out_part)
        held_out_names = names_of_block(held_out_part)
        if held_out_names in trained:  # no other split was found
            where = " ".join(filter(None, held_out_names))
            warnings.append(
                f"compared on rows that the recipe trains on ({where}), as "
                "no validation or test split is known: name others with --set "
                "validation.path=FILE, validation.split=SPLIT or validation.options.NAME=VALUE"
            )
    if isinstance(data, MixedPart):
        return data.model_copy(update={"parts": chosen}), warnings
    return chosen[0], warnings


def names_of_block(part: JsonlPart | HubPart | FilePart) -> tuple[str, ...]:
    """Returns the names by which two data blocks are compared. Blocks with equal names have the
    same rows, or the first rows of the same rows.

    A hub dataset gives its id, subset and split, such as ("amitha/docent", "", "train"). A JSONL
    file gives its path. A function of a Python file gives its name and options.
    """
    if isinstance(part, HubPart):
        return part.id, part.subset or "", part.split
    if isinstance(part, FilePart):
        names = [part.source]
        for name, value in sorted(part.options.items()):
            # the first 100 rows of a function are among its first 1,000
            if name != "count":
                names.append(f"{name}={value}")
        return tuple(names)
    return (part.path,)


def with_held_out_split(part: JsonlPart | HubPart | FilePart) -> JsonlPart | HubPart | FilePart:
    """Returns the block with the first split of HELD_OUT that its hub dataset has, other than the
    block's own split.

    Example: if a dataset has the splits "train", "validation" and "test", a block of "train" gets
    "validation". A block of "validation" gets "test": the block's own split is skipped, because its
    rows are trained on.

    A block stays as it is if it is no hub dataset, or has no such split. part: a block of a
    recipe's training data.
    """
    if not isinstance(part, HubPart):
        return part
    from spanreward.training.data.hub import split_names  # needs the extra train

    names = split_names(part)
    for name in HELD_OUT:
        if name in names and name != part.split:
            return part.model_copy(update={"split": name})
    return part


def held_out(data: DataPart, count: int) -> DataPart:
    """Returns the data cut to `count` prompts.

    Each part of a mixture gets an equal share of `count`, rounded up. Whether the rows are held out
    is not checked here.
    """
    if isinstance(data, MixedPart):
        part_count = math.ceil(count / len(data.parts))
        parts = [held_out(part, part_count) for part in data.parts]
        return data.model_copy(update={"parts": parts})
    return data.model_copy(update={"count": count})
