"""Checks trainer arguments by their types, a recipe's before anything is loaded: TRL's dataclasses
take them unread.
"""

from enum import Enum
from typing import Annotated, Any, Literal, get_args, get_type_hints

from pydantic import Field, TypeAdapter, ValidationError

COUNT = Annotated[int, Field(ge=1)]
AMOUNT = Annotated[float, Field(ge=0, allow_inf_nan=False)]
POSITIVE = Annotated[float, Field(gt=0, allow_inf_nan=False)]
SHARE = Annotated[float, Field(ge=0, le=1)]
# where the dataclass's annotation allows what cannot be, or forbids what TRL takes
TYPES: dict[str, Any] = {
    "per_device_train_batch_size": COUNT,
    "gradient_accumulation_steps": COUNT,
    "num_iterations": COUNT,
    "max_completion_length": COUNT | None,
    "steps_per_generation": COUNT | None,
    "generation_batch_size": COUNT | None,
    "learning_rate": AMOUNT,
    "beta": AMOUNT,
    "warmup_steps": AMOUNT,
    "weight_decay": AMOUNT,
    "num_train_epochs": POSITIVE,
    "temperature": POSITIVE,
    "max_steps": Literal[-1] | COUNT,
    "num_generations": Annotated[int, Field(ge=2)],
    "max_grad_norm": float | None,
    "scale_rewards": str | bool,
    "fsdp": str | bool | list[str] | None,
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
