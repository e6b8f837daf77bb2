"""Rows by fingerprint: what tells them apart, what does not, and what is said of the first
difference.
"""

import re
from typing import Any

import pytest
from datasets import Dataset, Features, Image, List, Value
from PIL import Image as Picture

from spanreward.training.ranks import rows
from spanreward.training.ranks.rows import check_same_rows, row_marks

PROMPTS = ["What is here?", "How many?", "Which colour?"]


def data(prompts: list[str], **columns: list[Any]) -> Dataset:
    return Dataset.from_dict({"prompt": prompts, **columns})


def pictured(*paths: str, several: bool = False) -> Dataset:
    """Files that are not there: no test decodes them."""
    images: list[Any] = [{"bytes": None, "path": path} for path in paths]
    kind: Any = Image()
    if several:
        images = [[image] for image in images]
        kind = List(Image())
    features = Features({"prompt": Value("string"), "image": kind})
    return Dataset.from_dict({"prompt": ["Look."] * len(paths), "image": images}, features)


def test_equal_rows_have_equal_marks() -> None:
    first = list(row_marks(data(PROMPTS, reference=[["a"], ["b"], []])))
    assert first == list(row_marks(data(PROMPTS, reference=[["a"], ["b"], []])))
    assert len(set(first)) == len(first) == 3


def test_the_order_of_columns_does_not_count() -> None:
    columns = {"id": ["1", "2", "3"], "prompt": PROMPTS}
    assert list(row_marks(Dataset.from_dict(columns))) == list(
        row_marks(data(PROMPTS, id=columns["id"]))
    )


def test_a_value_of_any_column_counts() -> None:
    first = list(row_marks(data(PROMPTS, reference=["a", "b", "c"])))
    other = list(row_marks(data(PROMPTS, reference=["a", "B", "c"])))
    assert [one == two for one, two in zip(first, other, strict=True)] == [True, False, True]


def test_rows_of_a_selection_are_those_selected() -> None:
    whole = data(PROMPTS)
    marks = list(row_marks(whole))
    assert list(row_marks(whole.select([2, 0]))) == [marks[2], marks[0]]


@pytest.mark.parametrize("several", [False, True])
def test_a_picture_counts_by_its_files_name_in_any_folder(several: bool) -> None:
    first = list(row_marks(pictured("/one/a.png", "/one/b.png", several=several)))
    assert first == list(row_marks(pictured("/two/a.png", "/two/b.png", several=several)))
    assert first != list(row_marks(pictured("/one/b.png", "/one/a.png", several=several)))


def test_a_picture_in_memory_counts_by_its_bytes() -> None:
    def drawn(*sizes: int) -> list[bytes]:
        images = [Picture.effect_noise((size, size), 50) for size in sizes]
        features = Features({"prompt": Value("string"), "image": Image()})
        return list(
            row_marks(Dataset.from_dict({"prompt": PROMPTS[:2], "image": images}, features))
        )

    assert len(set(drawn(8, 30))) == 2


def test_rows_without_a_picture_are_rows() -> None:
    features = Features({"prompt": Value("string"), "images": List(Image())})
    image = {"bytes": b"abc", "path": None}
    rows_of_lists = {"prompt": PROMPTS, "images": [None, [], [image, image]]}
    assert len(set(row_marks(Dataset.from_dict(rows_of_lists, features)))) == 3


def test_a_transform_is_not_called() -> None:
    def refuse(batch: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError

    assert list(row_marks(data(PROMPTS).with_transform(refuse))) == list(row_marks(data(PROMPTS)))


class Ranks:
    """This rank is rank 0 of three. What each would gather is given, one call after another."""

    num_processes = 3

    def __init__(self, *others: Dataset) -> None:
        self.others = others

    def gather(self, values: list[Any]) -> list[Any]:
        (value,) = values
        if isinstance(value, tuple):
            return [value, *(self.fingerprint(other) for other in self.others)]
        if isinstance(value, bytes):
            return [value, *(b"".join(row_marks(other)) for other in self.others)]
        row = next(
            number for number, prompt in enumerate(PROMPTS) if repr(prompt) == value["prompt"]
        )
        return [value, *(rows.texts_of_row(other, row) for other in self.others)]

    def fingerprint(self, dataset: Dataset) -> tuple[int, bytes]:
        marks = list(row_marks(dataset))
        return len(marks), rows.hashlib.blake2b(b"".join(marks)).digest()


def checked(monkeypatch: pytest.MonkeyPatch, first: Dataset, *others: Dataset) -> None:
    ranks = Ranks(*others)
    monkeypatch.setattr(rows, "PartialState", lambda: ranks)
    monkeypatch.setattr(rows, "gather_object", ranks.gather)
    check_same_rows("train_dataset", {"a": first})


def test_the_first_other_row_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    same, shuffled = data(PROMPTS), data([PROMPTS[0], PROMPTS[2], PROMPTS[1]])
    checked(monkeypatch, same, same, same)
    with pytest.raises(ValueError, match="train_dataset") as error:
        checked(monkeypatch, same, same, shuffled)
    assert re.fullmatch(
        r"the ranks .* train_dataset\['a'\]: the prompt of row 2 is 'How many\?' on rank 0 and "
        r"'Which colour\?' on rank 2 \(ranks 0 and 2 differ\), .*: make the same rows .*",
        str(error.value),
    )


def test_so_is_another_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="train_dataset") as error:
        checked(monkeypatch, data(PROMPTS), data(PROMPTS[:2]), data(PROMPTS[:2]))
    assert "3 on rank 0 and 2 on rank 1 (ranks 0, 1 and 2 differ)" in str(error.value)


def test_a_column_that_one_rank_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    more = data(PROMPTS, id=["1", "2", "3"])
    with pytest.raises(ValueError, match="the id of row 1 is missing on rank 0 and '1' on rank 1"):
        checked(monkeypatch, data(PROMPTS), more, data(PROMPTS))


def test_a_long_prompt_is_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    long = data(["What " * 1000, *PROMPTS[1:]])
    with pytest.raises(ValueError, match="on rank 1") as error:
        checked(monkeypatch, data(PROMPTS), long, long)
    assert len(str(error.value)) < 500


def test_one_process_gathers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "gather_object", None)
    check_same_rows("train_dataset", data(PROMPTS))
    check_same_rows("train_dataset", None)
