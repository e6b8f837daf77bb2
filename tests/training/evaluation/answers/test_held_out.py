"""Which rows a comparison takes: validation, then test, and never those of the training unsaid."""

import json
from pathlib import Path
from typing import Any

import pytest
from datasets.exceptions import DatasetNotFoundError

from experiments.scenes.parts import TINY
from spanreward.rewards.rows.tables import is_table
from spanreward.training.data import hub
from spanreward.training.evaluation.answers.held_out import held_out_data
from spanreward.training.evaluation.answers.sides import read_answers
from spanreward.training.recipe import check_recipe

DOCENT = {"source": "hub", "id": "amitha/docent", "split": "train"}
FILE = {"source": "jsonl", "path": "rows.jsonl"}
OWN = {"source": "rows.py:rows", "options": {"split": "train", "level": 2}}


def recipe(data: Any, validation: Any = None) -> Any:
    rewards = [{"metric": "posh", "judge": "match"}]
    rest = {"algorithm": "dapo", "output": "unused", "policy": {"model": TINY}, "rewards": rewards}
    return check_recipe({**rest, "data": data, "validation": validation})


def chosen(
    monkeypatch: pytest.MonkeyPatch,
    data: Any,
    splits: Any = ("train",),
    written: Any = None,
    validation: Any = None,
) -> Any:
    monkeypatch.setattr(hub, "get_dataset_split_names", lambda name, subset, revision: list(splits))
    return held_out_data(recipe(data, validation), recipe(written or data))


@pytest.mark.parametrize(
    ("splits", "taken"),
    [
        (("train", "val", "test"), "val"),  # DOCENT's
        (("train", "test", "validation"), "validation"),
        (("train", "test"), "test"),
        (("train", "testmini", "dev"), "dev"),
    ],
)
def test_validation_then_test(monkeypatch: pytest.MonkeyPatch, splits: Any, taken: str) -> None:
    data, told = chosen(monkeypatch, DOCENT, splits)
    assert (data.split, data.id, told) == (taken, "amitha/docent", [])


def test_what_the_recipe_says_goes_before(monkeypatch: pytest.MonkeyPatch) -> None:
    data, told = chosen(monkeypatch, DOCENT, ("train", "val", "test"), validation={"split": "test"})
    assert (data.split, told) == ("test", [])
    data, told = chosen(monkeypatch, FILE, validation={"path": "held_out.jsonl"})
    assert (data.path, told) == ("held_out.jsonl", [])
    data, told = chosen(monkeypatch, OWN, validation={"options": {"split": "test"}})
    assert (data.source, data.options, told) == ("rows.py:rows", {"split": "test", "level": 2}, [])


def test_training_rows_are_never_taken_unsaid(monkeypatch: pytest.MonkeyPatch) -> None:
    for data, words in (
        (DOCENT, "(amitha/docent train)"),
        (FILE, "(rows.jsonl)"),
        (OWN, "(rows.py:rows level=2 split=train)"),
    ):
        taken, (sentence,) = chosen(monkeypatch, data)
        assert taken == recipe(data).data
        assert "the recipe trains on" in sentence
        assert words in sentence
        assert "--set validation.path=FILE" in sentence
        assert "validation.options.NAME=VALUE" in sentence
        # fewer of the same
        assert chosen(monkeypatch, {**data, "count": 7}, written=data)[1] == [sentence]


def test_a_dataset_whose_splits_are_not_known_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str, subset: Any, revision: Any) -> None:
        raise DatasetNotFoundError("not reached")

    monkeypatch.setattr(hub, "get_dataset_split_names", unknown)
    data, told = held_out_data(recipe(DOCENT), recipe(DOCENT))
    assert (data.split, len(told)) == ("train", 1)


def test_other_data_on_the_command_line_are_the_user_s_choice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert chosen(monkeypatch, {**FILE, "path": "mine.jsonl"}, written=FILE)[1] == []
    data, told = chosen(
        monkeypatch, {**DOCENT, "split": "test"}, ("train", "val", "test"), written=DOCENT
    )
    assert (data.split, told) == ("test", [])
    data, told = chosen(monkeypatch, {**OWN, "options": {"split": "test", "level": 2}}, written=OWN)
    assert (data.options["split"], told) == ("test", [])


def test_every_part_of_a_mix_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    mixed = {"source": "mixed", "parts": [OWN, DOCENT, FILE]}
    data, told = chosen(monkeypatch, mixed, ("train", "test"))
    assert [part.source for part in data.parts] == ["rows.py:rows", "hub", "jsonl"]
    assert data.parts[1].split == "test"
    assert ["(rows.py:rows " in told[0], "(rows.jsonl)" in told[1], len(told)] == [True, True, 2]


def test_answers_from_a_file_come_in_the_rows_order(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    lines = [
        {"id": 2, "completion": "Two."},
        {"id": "1", "completion": ""},
        {"id": "9", "completion": "Other."},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert is_table(str(path))
    assert not is_table("outputs/dapo")
    assert read_answers(str(path), [{"id": "1"}, {"id": "2"}]) == ["", "Two."]
