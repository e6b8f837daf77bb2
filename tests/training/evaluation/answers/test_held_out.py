"""Which models a comparison takes, and rows: never those of the training unsaid."""

from pathlib import Path
from typing import Any

import pytest
from datasets.exceptions import DatasetNotFoundError

from experiments.scenes.parts import TINY, scenes_of, scenes_part
from experiments.scenes.world import make_scenes
from spanreward.rewards.rows.tables import is_table
from spanreward.training.data import hub
from spanreward.training.evaluation.answers.held_out import held_out, held_out_data
from spanreward.training.evaluation.answers.sides import read_answers, read_seeds, read_sides
from spanreward.training.recipe import JsonlPart, MixedPart, check_recipe, load_recipe
from tests.support.files import write_lines
from tests.support.paths import ROOT

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


THREE = ("train", "val", "test")  # DOCENT's
HELD_OUT = {"split": "test", "level": 2}


@pytest.mark.parametrize(
    ("data", "more", "taken"),
    [
        # validation, then test
        (DOCENT, {"splits": THREE}, {"split": "val", "id": "amitha/docent"}),
        (DOCENT, {"splits": ("train", "test", "validation")}, {"split": "validation"}),
        (DOCENT, {"splits": ("train", "test")}, {"split": "test"}),
        (DOCENT, {"splits": ("train", "testmini", "dev")}, {"split": "dev"}),
        # what the recipe says goes before
        (DOCENT, {"splits": THREE, "validation": {"split": "test"}}, {"split": "test"}),
        (FILE, {"validation": {"path": "held_out.jsonl"}}, {"path": "held_out.jsonl"}),
        (
            OWN,
            {"validation": {"options": {"split": "test"}}},
            {"source": "rows.py:rows", "options": HELD_OUT},
        ),
        # other data on the command line are the user's choice
        ({**FILE, "path": "mine.jsonl"}, {"written": FILE}, {"path": "mine.jsonl"}),
        ({**DOCENT, "split": "test"}, {"splits": THREE, "written": DOCENT}, {"split": "test"}),
        ({**OWN, "options": HELD_OUT}, {"written": OWN}, {"options": HELD_OUT}),
    ],
)
def test_held_out_rows_are_taken_silently(
    monkeypatch: pytest.MonkeyPatch, data: Any, more: Any, taken: dict[str, Any]
) -> None:
    found, told = chosen(monkeypatch, data, **more)
    assert told == []
    assert {name: getattr(found, name) for name in taken} == taken


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (DOCENT, "(amitha/docent train)"),
        (FILE, "(rows.jsonl)"),
        (OWN, "(rows.py:rows level=2 split=train)"),
    ],
)
def test_training_rows_are_never_taken_unsaid(
    monkeypatch: pytest.MonkeyPatch, data: Any, words: str
) -> None:
    taken, (sentence,) = chosen(monkeypatch, data)
    assert taken == recipe(data).data
    for said in ("the recipe trains on", words, "validation.path=", "validation.options."):
        assert said in sentence
    # fewer of the same
    assert chosen(monkeypatch, {**data, "count": 7}, written=data)[1] == [sentence]


def test_the_scenes_are_held_out_in_full() -> None:
    """The recipe's training leaves things out of its references."""
    recipe = load_recipe(ROOT / "recipes/quickstart/scenes-dapo.yaml")
    data, told = held_out_data(recipe, recipe)
    assert told == []
    assert data.options == {**recipe.data.options, "split": "test"}
    assert not {"keep_object", "keep_attribute", "unsure"} & set(data.options)
    trained = {scene.objects for scene in make_scenes("train", 1, 500)}
    assert trained.isdisjoint(scene.objects for scene in scenes_of(held_out(data, 6)))


def test_held_out_rows_are_the_first_ones() -> None:
    file = held_out(JsonlPart(source="jsonl", path="rows.jsonl"), 6)
    assert (file.path, file.count) == ("rows.jsonl", 6)
    mixed = held_out(MixedPart(source="mixed", parts=[scenes_part(count=9), file, file]), 7)
    assert [part.count for part in mixed.parts] == [3, 3, 3]


def test_a_dataset_whose_splits_are_not_known_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str, subset: Any, revision: Any) -> None:
        raise DatasetNotFoundError("not reached")

    monkeypatch.setattr(hub, "get_dataset_split_names", unknown)
    data, told = held_out_data(recipe(DOCENT), recipe(DOCENT))
    assert (data.split, len(told)) == ("train", 1)


def test_every_part_of_a_mix_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    mixed = {"source": "mixed", "parts": [OWN, DOCENT, FILE]}
    data, told = chosen(monkeypatch, mixed, ("train", "test"))
    assert [part.source for part in data.parts] == ["rows.py:rows", "hub", "jsonl"]
    assert data.parts[1].split == "test"
    assert ["(rows.py:rows " in told[0], "(rows.jsonl)" in told[1], len(told)] == [True, True, 2]


def test_answers_from_a_file_come_in_the_rows_order_and_count_as_they_do(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    assert (is_table(str(path)), is_table("outputs/dapo")) == (True, False)
    texts = {2: "Two.", "1": "", "9": "Other.", 0: "None."}
    write_lines(path, [{"id": name, "completion": text} for name, text in texts.items()])
    assert read_answers(str(path), [{"id": "0"}, {"id": "2"}]) == ["None.", "Two."]
    with pytest.raises(ValueError, match=r"from 0, .* from 1"):
        read_answers(str(path), [{"id": "1"}, {"id": "2"}])


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    """Policies, of which one is an adapter, and a file of answers."""
    for name in ("a0", "a2", "b0", "lora"):
        (tmp_path / name).mkdir()
        file = "adapter_config.json" if name == "lora" else "config.json"
        (tmp_path / name / file).write_text("{}")
    (tmp_path / "answers.jsonl").write_text("")
    return tmp_path


def test_a_single_run_stands_beside_every_seed(policies: Path) -> None:
    seeds = ",".join(str(policies / name) for name in ("a0", "lora", "a2"))
    sides = read_sides([f"b={policies / 'b0'}", f"a={seeds}", f"api={policies / 'answers.jsonl'}"])
    assert list(sides) == ["b", "a", "api"]
    assert sides["a"] == seeds.split(",")
    assert sides["b"] == [str(policies / "b0")] * 3
    assert sides["api"] == [str(policies / "answers.jsonl")] * 3
    assert read_seeds(None, sides) == [0, 1, 2]
    assert read_seeds([4, 4, 2], sides) == [4, 4, 2]
