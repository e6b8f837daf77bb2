"""Rows from people's captions: two shown, three held back, no picture on both sides."""

import json
from pathlib import Path

import pytest

from experiments.captions import HELD_BACK, SETS, SHOWN, caption_parts, fact_parts, rows, write
from spanreward.training.data.load import load_data
from spanreward.training.recipe import JsonlPart
from tests.support.paths import ROOT

DATA = ROOT.parent / "shared" / "data"


def stored(folder: Path) -> Path:
    """Forty pictures a set with five captions, and one with four."""
    for file, (picture, keys) in SETS.items():
        (folder / file).parent.mkdir(parents=True)
        records = []
        for number in range(41):
            captions = [f"Caption {which}  of {number} ." for which in range(5 if number else 4)]
            both = {"references": captions[1:], "caption": captions[0]} if "caption" in keys else {}
            records.append({picture: f"{number}.jpg", **({"references": captions} | both)})
        (folder / file).write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


def read(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_what_is_shown_and_what_is_held_back(tmp_path: Path) -> None:
    found = [row for _, row in rows(stored(tmp_path))]
    assert len(found) == 3 * 40
    for row in found:
        number = row["picture"].rpartition("/")[2]
        captions = {f"Caption {which} of {number}." for which in range(5)}
        shown = {text for text in captions if f"\n- {text}\n" in row["prompt"]}
        assert (len(shown), len(row["reference"])) == (SHOWN, HELD_BACK)
        assert shown | set(row["reference"]) == captions
        assert all(text in row["context"] for text in captions)


def test_sides_share_no_picture_and_are_written_alike(tmp_path: Path) -> None:
    counts = write(caption_parts(stored(tmp_path / "data")), tmp_path / "one")
    assert write(caption_parts(tmp_path / "data"), tmp_path / "two") == counts
    train, test = (read(tmp_path / "one" / f"{part}.jsonl") for part in ("train", "test"))
    assert len(train) > len(test) > 0
    assert not {str(row["picture"]) for row in train} & {str(row["picture"]) for row in test}
    for part in counts:
        one, two = (tmp_path / folder / f"{part}.jsonl" for folder in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()
    part_ = JsonlPart(source="jsonl", path=str(tmp_path / "one" / "train.jsonl"))
    assert len(load_data(part_)) == counts["train"]


@pytest.mark.skipif(not DATA.is_dir(), reason="the caption sets are not in ../shared/data")
def test_people_s_captions(tmp_path: Path) -> None:
    counts = write(caption_parts(DATA), tmp_path)
    assert counts == {"train": 1030, "test": 280}
    assert not any(" ." in str(row["reference"]) for row in read(tmp_path / "train.jsonl"))


def test_facts_and_the_description_that_they_were_drawn_from(tmp_path: Path) -> None:
    (tmp_path / "discosg_graphs").mkdir()
    graph = "( flower , is , pink ) , ( leaves , surround , flower )"
    path = tmp_path / "discosg_graphs" / "discosg_human_graphs.jsonl"
    rows_ = [{"split": part, "caption": f"A {part}."} for part in ("train", "test")]
    path.write_text("".join(json.dumps({**row, "scene_graph": graph}) + "\n" for row in rows_))
    parts = fact_parts(tmp_path)
    assert write(parts, tmp_path) == {"facts-train": 1, "facts-test": 1}
    (row,) = read(tmp_path / "facts-test.jsonl")
    assert "\n- flower is pink\n- leaves surround flower\n" in str(row["prompt"])
    assert row["reference"] == ["A test."]
    assert row["context"] == "A test. flower is pink. leaves surround flower."
