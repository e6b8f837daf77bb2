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

TEXT = {"group": "g", "completion": "t", "references": "r"}
SEVERAL = {"group": "g", "completions": "c"}
LABELLED = {"group": "g", "completions": ["one", "two"], "preferences": {"overall": "label"}}
RATED = {**TEXT, "ratings": {"overall": "s"}}
MARKED = {**TEXT, "mistakes": "s"}


def a_map(columns: dict[str, Any], **others: Any) -> JudgedMap:
    return JudgedMap.model_validate(
        {"name": "Mine", "source": "", "seen": True, "columns": columns, **others}
    )


def test_a_pair_with_labels(tmp_path: Path) -> None:
    row = {"g": 7, "one": "A dog.", "two": "A cat.", "r": ["A dog.", "A pup."], "label": "second"}
    columns = a_map({**LABELLED, "references": "r"}, levels={"first": 2, "second": -2})
    (record,) = read_judgments(a_file(tmp_path, row), columns)
    assert [sample.completion for sample in record.samples] == ["A dog.", "A cat."]
    assert record.samples[1].references == ("A dog.", "A pup.")
    assert (record.group, record.preferences, record.slice) == ("7", {"overall": -2.0}, "")
    with pytest.raises(ValueError, match="first, second, got 'neither'"):
        read_judgments(a_file(tmp_path, {**row, "label": "neither"}), columns)


def test_several_texts_are_a_list_or_columns(tmp_path: Path) -> None:
    path = a_file(tmp_path, {"g": "a", "c": ["A dog.", "A pup."], "one": "A dog.", "two": "A pup."})
    (listed,) = read_judgments(path, a_map(SEVERAL))
    (named,) = read_judgments(path, a_map({"group": "g", "completions": ["one", "two"]}))
    assert listed == named
    assert [sample.completion for sample in listed.samples] == ["A dog.", "A pup."]


def test_entries_of_a_list_take_the_line_s_keys(tmp_path: Path) -> None:
    columns = a_map({**TEXT, "ratings": {"overall": "scores"}, "slice": ["task"]}, each="texts")
    texts = [{"t": "A dog.", "scores": [1, 2]}, {"t": "", "scores": 3}]
    row = {"g": "a", "r": "A dog.", "task": "ic", "texts": texts}
    first, second = read_judgments(a_file(tmp_path, row), columns)
    assert (first.ratings, second.ratings) == ({"overall": (1.0, 2.0)}, {"overall": (3.0,)})
    assert (first.slice, second.samples[0].completion, second.group) == ("ic", "", "a")


def test_spans_are_characters_or_words(tmp_path: Path) -> None:
    columns = a_map({**TEXT, "mistakes": "wrong", "omissions": "left_out"})
    row = {"g": 7, "t": "A red cat.", "r": "A blue cat.", "wrong": [[2, 5], "cat"]}
    (record,) = read_judgments(a_file(tmp_path, {**row, "left_out": ["blue"]}), columns)
    assert (record.mistakes, record.omissions) == (((2, 5), (6, 9)), ((2, 6),))


def test_a_picture_is_a_path_within_the_folder(tmp_path: Path) -> None:
    columns = a_map({"group": "g", "completion": "t", "image": "picture"})
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    row = {"g": "a", "t": "A dog.", "picture": "a.png"}
    (record,) = read_judgments(a_file(tmp_path, row), columns, tmp_path)
    assert record.samples[0].images == (str(tmp_path / "a.png"),)
    assert read_judgments(a_file(tmp_path, row), columns)[0].samples[0].images == ()
    for name, reason in (("b.png", "no picture"), ("../a.png", "path of a picture within")):
        with pytest.raises(ValueError, match=reason):
            read_judgments(a_file(tmp_path, {**row, "picture": name}), columns, tmp_path)


@pytest.mark.parametrize(
    ("changes", "columns", "reason"),
    [
        ({"t": 3}, TEXT, "'t' must hold a text, got 3"),
        ({"r": 3}, TEXT, "'r' must hold .*, got 3"),
        ({"g": None}, TEXT, "'g' must hold .*, got None"),
        ({"t": "\ud800"}, TEXT, "is not JSON"),
        ({}, {**TEXT, "completion": "u"}, "has no column 'u', only g, t, r: copy .* Mine"),
        ({"label": None, "one": "x", "two": "y"}, LABELLED, "must hold a number or a list"),
        ({"s": []}, RATED, "must hold a number"),
        ({"s": 10**400}, RATED, "must hold a number"),
        ({"s": float("nan")}, RATED, "a number or a list"),
        ({"s": [[0, 2]]}, MARKED, "text of 1 characters"),
        ({"s": "x"}, MARKED, r"a list of \[start, end\] or of words"),
        ({"r": [], "s": []}, {**TEXT, "omissions": "s"}, "omissions and no reference"),
        ({"c": []}, SEVERAL, "no text to judge"),
        ({"c": "x"}, SEVERAL, "'c' must hold .*, got 'x'"),
        ({"c": ["x", 1]}, SEVERAL, r"'c' must hold .*, got \['x', 1\]"),
        ({"c": ["x", "y"], "b": 2}, {**SEVERAL, "best": "b"}, "one of 2 texts, got 2"),
        ({"c": ["x"], "m": ["y", "z"]}, {**SEVERAL, "systems": "m"}, "2 systems for 1"),
        ({"c": ["x"], "p": 1}, {**SEVERAL, "preferences": {"overall": "p"}}, "has 1"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(
    tmp_path: Path, changes: Any, columns: Any, reason: str
) -> None:
    row = {"g": "a", "t": "x", "r": "x", **changes}
    with pytest.raises(ValueError, match=reason) as error:
        read_judgments(a_file(tmp_path, row), a_map(columns))
    assert "labels.jsonl line 1" in str(error.value)
    assert "\n" not in str(error.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no input file .*nothing\.jsonl"):
        read_judgments(tmp_path / "nothing.jsonl", a_map(TEXT))
    for text, reason in (("\n", "no judgment"), ("\n{", "line 2"), ("[1]\n", r"got \[1\]")):
        (tmp_path / "broken.jsonl").write_text(text)
        with pytest.raises(ValueError, match=rf"broken\.jsonl.* {reason}"):
            read_judgments(tmp_path / "broken.jsonl", a_map(TEXT))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_packaged_map_is_one_and_names_its_source(path: Path) -> None:
    columns = load_map(path.stem)
    assert columns.source
    assert columns.seen == (columns.status != UNSEEN)
    assert columns.seen or columns.note


def test_maps_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"map 'thum': did you mean 'thumb'\?"):
        load_map("thum")
    wrong = tmp_path / "mine.yaml"
    wrong.write_text("name: Mine\nsource: here\nseen: true\ncolumns: {group: g, picture: p}\n")
    with pytest.raises(ValueError, match=r"mine\.yaml .* columns\.picture"):
        load_map(str(wrong))
    wrong.write_text("name: [")
    with pytest.raises(ValueError, match=r"mine\.yaml is not YAML"):
        load_map(str(wrong))


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({}, "give either completion or completions"),
        ({"completion": "t", "completions": "c"}, "give either completion or completions"),
        ({"completions": "c", "ratings": {"overall": "s"}}, "ratings and omissions"),
        ({"completions": "c", "mistakes": "s"}, "mistakes are of"),
        ({"completion": "t", "best": "b"}, "preferences and best"),
        ({"completion": "t", "omissions": "o"}, "omissions are of"),
    ],
)
def test_a_map_that_no_file_can_have(columns: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        a_map({"group": "g", **columns})


def test_flagged_words_are_spans(tmp_path: Path) -> None:
    flags = [["A", False], ["dark", True], ["red", True], ["cat.", False]]
    row = {"image_path": "p", "caption": "A dark red cat.", "references": ["A cat."]}
    row |= {"word_flags": flags, "contains_hallucination": True}
    (record,) = read_hat(a_file(tmp_path, row))
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
