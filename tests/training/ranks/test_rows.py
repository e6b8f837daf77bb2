"""Rows by fingerprint: what tells them apart, what does not, and what is said of the first
difference.
"""

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


def marks(data: Dataset) -> list[bytes]:
    return list(row_marks(data))


def test_equal_rows_have_equal_marks_whatever_the_order_of_their_columns() -> None:
    columns: dict[str, Any] = {"reference": [["a"], ["b"], []], "prompt": PROMPTS}
    first = marks(data(PROMPTS, reference=columns["reference"]))
    assert first == marks(Dataset.from_dict(columns))
    assert len(set(first)) == len(first) == 3
    assert marks(Dataset.from_dict(columns).select([2, 0])) == [first[2], first[0]]


def test_a_value_of_any_column_counts() -> None:
    first, other = (marks(data(PROMPTS, reference=list(texts))) for texts in ("abc", "aBc"))
    assert [one == two for one, two in zip(first, other, strict=True)] == [True, False, True]


@pytest.mark.parametrize("several", [False, True])
def test_a_picture_counts_by_its_files_name_in_any_folder(several: bool) -> None:
    first = marks(pictured("/one/a.png", "/one/b.png", several=several))
    assert first == marks(pictured("/two/a.png", "/two/b.png", several=several))
    assert first != marks(pictured("/one/b.png", "/one/a.png", several=several))


@pytest.mark.parametrize(
    ("name", "kind", "pictures"),
    [
        # in memory it counts by its bytes
        ("image", Image(), [Picture.effect_noise((size, size), 50) for size in (8, 30)]),
        ("images", List(Image()), [None, [], [{"bytes": b"abc", "path": None}] * 2]),
    ],
)
def test_other_pictures_and_none_are_other_rows(name: str, kind: Any, pictures: Any) -> None:
    features = Features({"prompt": Value("string"), name: kind})
    columns = {"prompt": ["Look."] * len(pictures), name: pictures}
    assert len(set(marks(Dataset.from_dict(columns, features)))) == len(pictures)


def test_a_transform_is_not_called() -> None:
    def refuse(batch: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError

    assert marks(data(PROMPTS).with_transform(refuse)) == marks(data(PROMPTS))


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
        row = [repr(prompt) for prompt in PROMPTS].index(value["prompt"])
        return [value, *(rows.texts_of_row(other, row) for other in self.others)]

    def fingerprint(self, dataset: Dataset) -> tuple[int, bytes]:
        own = marks(dataset)
        return len(own), rows.hashlib.blake2b(b"".join(own)).digest()


def checked(monkeypatch: pytest.MonkeyPatch, first: Dataset, *others: Dataset) -> None:
    ranks = Ranks(*others)
    monkeypatch.setattr(rows, "PartialState", lambda: ranks)
    monkeypatch.setattr(rows, "gather_object", ranks.gather)
    check_same_rows("train_dataset", {"a": first})


LONG = data(["What " * 1000, *PROMPTS[1:]])


@pytest.mark.parametrize(
    ("others", "told"),
    [
        (
            [data(PROMPTS), data([PROMPTS[0], PROMPTS[2], PROMPTS[1]])],
            r"train_dataset\['a'\]: the prompt of row 2 is 'How many\?' on rank 0 and "
            r"'Which colour\?' on rank 2 \(ranks 0 and 2 differ\), .*: make the same rows",
        ),
        (
            [data(PROMPTS[:2])] * 2,
            r"train_dataset.* 3 on rank 0 and 2 on rank 1 \(ranks 0, 1 and 2 differ\)",
        ),
        (
            [data(PROMPTS, id=["1", "2", "3"]), data(PROMPTS)],
            "id of row 1 is missing on rank 0 and '1' on rank 1",
        ),
        ([LONG, LONG], "on rank 1"),  # shortened
    ],
    ids=["order", "number", "column", "long"],
)
def test_the_first_difference(monkeypatch: pytest.MonkeyPatch, others: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told) as error:
        checked(monkeypatch, data(PROMPTS), *others)
    assert len(str(error.value)) < 500


def test_equal_rows_pass_and_one_process_gathers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        checked(patched, *[data(PROMPTS)] * 3)
    monkeypatch.setattr(rows, "gather_object", None)
    check_same_rows("train_dataset", data(PROMPTS))
    check_same_rows("train_dataset", None)
