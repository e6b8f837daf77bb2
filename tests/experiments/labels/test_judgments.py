"""People's judgments out of files of any layout, and one sentence for each that cannot be used."""

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from experiments.agreement.known_sets import read_hat
from experiments.labels.column_map import FOLDER, UNSEEN, JudgedMap, load_map
from experiments.labels.judgments import read_judgments
from tests.support.files import a_file
from tests.support.paths import DATA

PAIR = {"group": "g", "completions": ["one", "two"], "references": "r"}
PAIR |= {"preferences": {"overall": "label"}}
TEXT = {"group": "g", "completion": "t", "references": "r"}


def a_map(columns: dict[str, Any], **others: Any) -> JudgedMap:
    return JudgedMap.model_validate(
        {"name": "Mine", "source": "", "seen": True, "columns": columns, **others}
    )


def test_a_pair_with_labels(tmp_path: Path) -> None:
    row = {"g": 7, "one": "A dog.", "two": "A cat.", "r": ["A dog.", "A pup."], "label": "second"}
    (record,) = read_judgments(
        a_file(tmp_path, row), a_map(PAIR, levels={"first": 2, "second": -2})
    )
    assert [sample.completion for sample in record.samples] == ["A dog.", "A cat."]
    assert record.samples[1].references == ("A dog.", "A pup.")
    assert (record.group, record.preferences, record.slice) == ("7", {"overall": -2.0}, "")


def test_entries_of_a_list_take_the_line_s_keys(tmp_path: Path) -> None:
    columns = a_map({**TEXT, "ratings": {"overall": "scores"}, "slice": ["task"]}, each="texts")
    row = {"g": "a", "r": "A dog.", "task": "ic"}
    row |= {"texts": [{"t": "A dog.", "scores": [1, 2]}, {"t": "", "scores": 3}]}
    first, second = read_judgments(a_file(tmp_path, row), columns)
    assert (first.ratings, second.ratings) == ({"overall": (1.0, 2.0)}, {"overall": (3.0,)})
    assert (first.slice, second.samples[0].completion, second.group) == ("ic", "", "a")


def test_spans_are_characters_or_words(tmp_path: Path) -> None:
    columns = a_map({**TEXT, "mistakes": "wrong", "omissions": "left_out"})
    row = {"g": "a", "t": "A red cat.", "r": "A blue cat.", "wrong": [[2, 5]], "left_out": ["blue"]}
    (record,) = read_judgments(a_file(tmp_path, row), columns)
    assert (record.mistakes, record.omissions) == (((2, 5),), ((2, 6),))


def test_a_picture_is_a_path_within_the_folder(tmp_path: Path) -> None:
    columns = a_map({"group": "g", "completion": "t", "image": "picture"})
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    path = a_file(tmp_path, {"g": "a", "t": "A dog.", "picture": "a.png"})
    (record,) = read_judgments(path, columns, tmp_path)
    assert record.samples[0].images == (str(tmp_path / "a.png"),)
    assert read_judgments(path, columns)[0].samples[0].images == ()
    for name, reason in (
        ("b.png", "there is no picture"),
        ("../a.png", "the path of a picture within"),
    ):
        with pytest.raises(ValueError, match=reason):
            read_judgments(
                a_file(tmp_path, {"g": "a", "t": "", "picture": name}), columns, tmp_path
            )


@pytest.mark.parametrize(
    ("row", "columns", "reason"),
    [
        (
            {"g": "a", "one": "x", "two": "y", "r": "x", "label": None},
            PAIR,
            "must hold a number or a list of numbers",
        ),
        (
            {"g": "a", "t": "x", "r": "x", "s": []},
            {**TEXT, "ratings": {"overall": "s"}},
            "must hold a number",
        ),
        (
            {"g": "a", "t": "x", "r": [], "s": []},
            {**TEXT, "omissions": "s"},
            "has omissions and no reference",
        ),
        (
            {"g": "a", "c": ["x", "y"], "b": 2},
            {"group": "g", "completions": "c", "best": "b"},
            "one of 2 texts, got 2",
        ),
        (
            {"g": "a", "t": "x", "r": "x", "s": 10**400},
            {**TEXT, "ratings": {"overall": "s"}},
            "must hold a number",
        ),
        (
            {"g": "a", "t": "x", "r": "x", "s": float("nan")},
            {**TEXT, "ratings": {"overall": "s"}},
            "a number or a list",
        ),
        (
            {"g": "a", "c": ["x"], "m": ["y", "z"]},
            {"group": "g", "completions": "c", "systems": "m"},
            "2 systems for 1",
        ),
        (
            {"g": "a", "c": ["x"], "p": 1},
            {"group": "g", "completions": "c", "preferences": {"overall": "p"}},
            "has 1",
        ),
    ],
)
def test_what_cannot_be_used_is_one_sentence(
    tmp_path: Path, row: Any, columns: Any, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason) as error:
        read_judgments(a_file(tmp_path, row), a_map(columns))
    assert "labels.jsonl line 1" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_label_that_the_map_does_not_know(tmp_path: Path) -> None:
    path = a_file(tmp_path, {"g": "a", "one": "x", "two": "y", "r": "x", "label": "neither"})
    with pytest.raises(ValueError, match="first, second, got 'neither'"):
        read_judgments(path, a_map(PAIR, levels={"first": 1, "second": -1}))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_packaged_map_is_one_and_names_its_source(path: Path) -> None:
    columns = load_map(path.stem)
    assert columns.source
    assert columns.seen == (columns.status != UNSEEN)
    assert columns.seen or columns.note


def test_a_map_that_is_not_packaged() -> None:
    with pytest.raises(ValueError, match=r"map 'lav': did you mean 'lave'\?"):
        load_map("lav")


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"group": "g"}, "give either completion or completions"),
        (
            {"group": "g", "completions": "c", "ratings": {"overall": "s"}},
            "ratings and omissions are of a",
        ),
        ({"group": "g", "completion": "t", "best": "b"}, "preferences and best of completions"),
        (
            {"group": "g", "completion": "t", "omissions": "o"},
            "omissions are of the first of the references",
        ),
    ],
)
def test_a_map_that_no_file_can_have(columns: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        a_map(columns)


def test_flagged_words_are_spans(tmp_path: Path) -> None:
    flags = [["A", False], ["dark", True], ["red", True], ["cat.", False]]
    row = {"image_path": "p", "caption": "A dark red cat.", "references": ["A cat."]}
    row |= {"word_flags": flags}
    (record,) = read_hat(a_file(tmp_path, {**row, "contains_hallucination": True}))
    assert (record.mistakes, record.ratings) == (((2, 10),), {"mistakes": (0.0,)})


@pytest.mark.skipif(not (DATA / "thumb").is_dir(), reason=f"people's judgments are not at {DATA}")
def test_the_data_beside_the_repository() -> None:
    files = {
        "thumb": ("thumb/thumb_mscoco.jsonl", 1210),
        "flickr8k_expert": ("flickr8k_expert/flickr8k_expert.jsonl", 1500),
        "pascal50s": ("pascal50s/pascal50s.jsonl", 1200),
        "sugarcrepe": ("sugarcrepe/sugarcrepe.jsonl", 1020),
        "discourse_foil": ("discosg_foil/discourse_foil.jsonl", 108),
    }
    for name, (file, count) in files.items():
        assert len(read_judgments(DATA / file, load_map(name))) == count, name
    assert len(read_hat(DATA / "hat_aloha/hat_trainval.jsonl")) == 194
