"""PoSh's table 8 on a small file in the layout of its gold.json, counted by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.agreement.gold_graphs import Element, compare, measure_gold, read_gold
from tests.support.command import experiments

TEXT = "A tall man wears a red hat. He smiles."


def element(id: str, words: str) -> dict[str, Any]:
    start = TEXT.index(words)
    return {"id": id, "start": start, "end": start + len(words), "text": words}


def edge(one: str, to: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"from_id": one, "to_id": to, "edge_type": kind, **more}


def record(**changes: Any) -> dict[str, Any]:
    """As people draw it: three mentions of two things, three attributes, one relation."""
    whole = {
        "text": TEXT,
        "entities": {
            e["id"]: e for e in (element("m", "man"), element("h", "hat"), element("he", "He"))
        },
        "attributes": {
            e["id"]: e for e in (element("t", "tall"), element("r", "red"), element("s", "smiles"))
        },
        "relations": {"w": element("w", "wears")},
        "part_ofs": [],
        "corefs": [edge("he", "m", "coref")],
        "attribute_heads": [
            edge("t", "m", "attribute_head", is_poss=False),
            edge("r", "h", "attribute_head", is_poss=False),
            edge("s", "he", "attribute_head", is_poss=False),
        ],
        "relation_heads": [edge("w", "m", "relation_head")],
        "relation_tails": [edge("w", "h", "relation_tail")],
    }
    return {**whole, **changes}


def written(folder: Path, *records: Any) -> Path:
    (folder / "gold.json").write_text(json.dumps(list(records)))
    return folder / "gold.json"


def test_a_graph_as_people_drew_it(tmp_path: Path) -> None:
    found = {
        (row.mode, row.kind): row for row in measure_gold(read_gold(written(tmp_path, record())))
    }
    for kind in ("entities", "attributes", "relations"):
        row = found["published", kind]
        assert (row.precision, row.recall, row.f1) == (1, 1, 1)
    assert (found["published", "entities"].coref, found["published", "entities"].head) == (1, None)
    assert (found["published", "attributes"].head, found["published", "attributes"].tail) == (
        1,
        None,
    )
    assert (found["published", "relations"].head, found["published", "relations"].tail) == (1, 1)


def test_what_differs_counts(tmp_path: Path) -> None:
    """People call "He" a thing of its own, drew no "red", and say that the hat wears the man."""
    differing = record(
        attributes={e["id"]: e for e in (element("t", "tall"), element("s", "smiles"))},
        corefs=[],
        relation_heads=[edge("w", "h", "relation_head")],
        relation_tails=[edge("w", "m", "relation_tail")],
    )
    rows = measure_gold(read_gold(written(tmp_path, record(), differing)))
    found = {row.kind: row for row in rows if row.mode == "published"}
    assert found["entities"].coref == pytest.approx((1 + 2 / 3) / 2)
    assert (found["attributes"].precision, found["attributes"].recall) == (
        pytest.approx((1 + 2 / 3) / 2),
        1,
    )
    assert found["attributes"].f1 == pytest.approx((1 + 4 / 5) / 2)
    assert found["attributes"].head == 1  # "smiles" is of "He", which is one of our man's mentions
    assert (found["relations"].head, found["relations"].tail) == (0.5, 0.5)


def test_elements_match_once() -> None:
    own = [Element((0, 4), ()), Element((5, 9), ())]
    assert compare(own, [Element((0, 9), ())])[:3] == (1 / 2, 1, 2 / 3)
    assert compare(own, []) == (0, None, 0, None, None)
    assert compare([], []) == (None, None, None, None, None)


@pytest.mark.parametrize(
    "broken",
    [
        {"text": "A man."},
        record(corefs=[edge("he", "nobody", "coref")]),
        record(relations=[]),
        5,
        "A man.",
    ],
)
def test_another_layout_is_refused_in_words(tmp_path: Path, broken: Any) -> None:
    with pytest.raises(ValueError, match=r"PoSh's gold\.json"):
        read_gold(written(tmp_path, broken))


def test_files_that_cannot_be_used_are_one_sentence(tmp_path: Path) -> None:
    path = written(tmp_path)
    with pytest.raises(ValueError, match="holds no text"):
        read_gold(path)
    path.write_text("\ufeff" + json.dumps([record()]), encoding="utf-8")
    assert len(read_gold(path)) == 1
    for words, reason in (
        ((tmp_path / "none.json",), "there is no"),
        ((path, "--rules"), "for DiscoSG's folder"),
    ):
        done = experiments("agreement", "graphs", *words)
        assert (done.code, reason in done.err) == (1, True)
    assert (
        "are for gold.json" in experiments("agreement", "graphs", tmp_path, "--coref", "none").err
    )


def test_the_command_prints_table_8(tmp_path: Path) -> None:
    folder = tmp_path / "scene_graphs"
    folder.mkdir()
    written(folder, record())
    done = experiments("reproduce", "posh-8", "--data", tmp_path, "--json", tmp_path / "n.json")
    assert done.code == 0, done.err
    (step,) = json.loads((tmp_path / "n.json").read_text())["steps"]
    assert step["compared"]["published, relations: tail"] == {"paper": 0.926, "measured": 1.0}
    assert all(both["measured"] is not None for both in step["compared"].values())
