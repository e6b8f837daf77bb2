"""Rows that make a training's figures worth little are named before the first step."""

from typing import Any

import pytest
from datasets import Dataset

from spanreward.training.data.row_cautions import reference_length, row_cautions, shared_rows
from tests.support.tokenizer import tokenizer

TOKENIZER = tokenizer()
PROMPT = [{"role": "user", "content": "Describe."}]


def rows(references: list[Any]) -> Dataset:
    count = len(references)
    columns = {"prompt": [PROMPT] * count, "reference": references, "count": [1] * count}
    return Dataset.from_dict(columns)


def tokens(text: str) -> int:
    return len(TOKENIZER(text)["input_ids"])


def test_a_limit_below_the_references_is_named_with_both_numbers() -> None:
    long, short = "the answer is 5 from 1 to 5 " * 9, "the answer"
    data = rows([[long], [short, long], [short]])
    assert reference_length(data, TOKENIZER) == tokens(long)
    (caution,) = row_cautions(data, None, TOKENIZER, tokens(long) - 1)
    assert f"may have {tokens(long) - 1} tokens" in caution
    assert f"Set it above {tokens(long)}" in caution
    assert list(row_cautions(data, None, TOKENIZER, tokens(long))) == []
    assert list(row_cautions(data, None, TOKENIZER, None)) == []


@pytest.mark.parametrize("references", [[None, ""], [[], [None]]])
def test_rows_without_references_have_no_length(references: list[Any]) -> None:
    assert reference_length(rows(references), TOKENIZER) == 0.0
    without = Dataset.from_dict({"prompt": ["Describe."]})
    assert reference_length(without, TOKENIZER) == 0.0
    assert shared_rows(without, without) == 0


def test_validation_rows_that_are_trained_on_are_counted() -> None:
    data = rows(["A kite.", "A boat.", "A dog."])
    validation = rows(["A boat.", "A cat.", "A kite."])
    assert shared_rows(data, validation) == 2
    (caution,) = row_cautions(data, validation, TOKENIZER, None)
    assert "2 of the 3 validation" in caution
    assert list(row_cautions(data, rows(["A cat."]), TOKENIZER, None)) == []


def test_rows_whose_pictures_alone_tell_them_apart_do_not_count() -> None:
    data = rows([None, None])
    assert shared_rows(data, data) == 0
