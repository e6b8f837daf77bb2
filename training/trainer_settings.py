"""Checks trainer arguments by their types, a recipe's before anything is loaded: TRL's dataclasses
take them unread.
"""

from enum import Enum
from typing import Annotated, Any, Literal, get_args, get_type_hints

from pydantic import Field, TypeAdapter, ValidationError

COUNT = Annotated[int, Field(ge=1)]
AMOUNT = Annotated[float, Field(ge=0, allow_inf_nan=False)]
SHARE = Annotated[float, Field(ge=0, le=1)]
# where the dataclass's annotation allows what cannot be, or forbids what TRL takes
TYPES: dict[str, Any] = {
    **dict.fromkeys(
        ("per_device_train_batch_size", "gradient_accumulation_steps", "num_iterations"), COUNT
    ),
    **dict.fromkeys(
        ("max_completion_length", "steps_per_generation", "generation_batch_size"), COUNT | None
    ),
    **dict.fromkeys(("learning_rate", "beta", "warmup_steps", "weight_decay"), AMOUNT),
    **dict.fromkeys(
        ("num_train_epochs", "temperature"), Annotated[float, Field(gt=0, allow_inf_nan=False)]
    ),
    **{"max_steps": Literal[-1] | COUNT, "num_generations": Annotated[int, Field(ge=2)]},
    **{
        "max_grad_norm": float | None,
        "scale_rewards": str | bool,
        "fsdp": str | bool | list[str] | None,
    },
}


def fault(config: type, key: str, value: Any) -> str:
    """Returns what the dataclass's field `key` takes, in place of the value; "" if it takes the
    value.

    Texts are no numbers, and 1 is no truth value, for TRL would get them as they are. Names in an
    Enum are texts.
    """
    wanted = TYPES.get(key) or get_type_hints(config, include_extras=True)[key]
    enums = [one for one in get_args(wanted) if isinstance(one, type) and issubclass(one, Enum)]
    try:
        TypeAdapter(enums[0] if enums else wanted).validate_python(value, strict=not enums)
    except ValidationError as error:
        return " or ".join(dict.fromkeys(one["msg"] for one in error.errors())).replace(
            "or Input should be", "or"
        )
    return ""
