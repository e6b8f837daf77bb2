"""Which rows checkpoints are compared on: such as the recipe does not train on, or a sentence that says that it does.

data, told = held_out_data(recipe, as_written)     # told: [] or what a reader must know

`as_written` is the recipe's file with nothing changed on the command line: whoever names other data there chooses it.
"""

from collections.abc import Sequence

from training.data.hub import split_names
from training.recipe import DataPart, HubPart, JsonlPart, MixedPart, Recipe, ScenesPart

HELD_OUT = ("validation", "val", "valid", "dev", "test")  # what splits are called, the first that there is


def held_out_data(recipe: Recipe, as_written: Recipe) -> tuple[DataPart, list[str]]:
    """The recipe's `validation`, else of its data the split that is called so, else `test`; and a sentence for every
    block that has neither and is trained on. Scenes has a test split, which the comparison takes by itself.
    """
    if recipe.validation_data is not None:
        return recipe.validation_data, []
    data = recipe.policy_data
    trained = [rows_of(part) for part in parts_of(as_written.policy_data)]
    chosen = [instead(part) if rows_of(part) in trained else part for part in parts_of(data)]
    told = [
        f"compared on rows that the recipe trains on ({' '.join(filter(None, rows_of(part)))}), as no validation or "
        "test split is known: name others with --set validation.path=FILE or validation.split=SPLIT"
        for part in chosen
        if not isinstance(part, ScenesPart) and rows_of(part) in trained
    ]
    return data.model_copy(update={"parts": chosen}) if isinstance(data, MixedPart) else chosen[0], told


def parts_of(data: DataPart) -> Sequence[ScenesPart | JsonlPart | HubPart]:
    return data.parts if isinstance(data, MixedPart) else [data]


def rows_of(part: ScenesPart | JsonlPart | HubPart) -> tuple[str, ...]:
    """What says which rows a block reads, whatever their number."""
    if isinstance(part, HubPart):
        return part.id, part.subset or "", part.split
    return (part.path,) if isinstance(part, JsonlPart) else (part.source, part.split)


def instead(part: ScenesPart | JsonlPart | HubPart) -> ScenesPart | JsonlPart | HubPart:
    """The block with a split that is not for training, where its dataset has one."""
    if not isinstance(part, HubPart):
        return part
    there = split_names(part)
    found = next((name for name in HELD_OUT if name in there and name != part.split), part.split)
    return part.model_copy(update={"split": found})


def held_out(data: DataPart, count: int) -> DataPart:
    """What to compare on, `count` prompts: for Scenes pictures no training has seen, with full references.

    Of anything else the first rows, so whether they are held out is for whoever names the data to see to. Of several
    parts equally many each.
    """
    if isinstance(data, MixedPart):
        each = -(-count // len(data.parts))
        return data.model_copy(update={"parts": [held_out(part, each) for part in data.parts]})
    if isinstance(data, ScenesPart):
        return data.model_copy(
            update={"split": "test", "count": count, "keep_object": 1.0, "keep_attribute": 1.0, "unsure": 0.0}
        )
    return data.model_copy(update={"count": count})
