"""Data that cannot be loaded."""

from typing import Any

import pytest

from spanreward.training.data.load import load_data
from spanreward.training.recipe import RecipeError


def refused(data: Any, **options: Any) -> str:
    """Returns the one line that load_data says of this data."""
    with pytest.raises(RecipeError) as error:
        load_data(data, **options)
    assert "\n" not in str(error.value)
    return str(error.value)
