"""PoSh's table 8 on a small file in the layout of its gold.json, counted by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.agreement.gold_graphs import Element, compare, measure_gold, read_gold
from tests.support.experiment_numbers import numbers_of

TEXT = "A tall man wears a red hat. He smiles."


def elements(**words: str) -> dict[str, dict[str, Any]]:
    found = {}
    for name, text in words.items():
        start = TEXT.index(text)
        found[name] = {"id": name, "start": start, "end": start + len(text), "text": text}
    return found


def edge(one: str, to: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"from_id": one, "to_id": to, "edge_type": kind, **more}


def record(**changes: Any) -> dict[str, Any]:
    """As people draw it: three mentions of two things, three attributes, one relation."""
    heads = [("t", "m"), ("r", "h"), ("s", "he")]
    whole = {
        "text": TEXT,
        "entities": elements(m="man", h="hat", he="He"),
        "attributes": elements(t="tall", r="red", s="smiles"),
        "relations": elements(w="wears"),
        "part_ofs": [],
        "corefs": [edge("he", "m", "coref")],
        "attribute_heads": [edge(*of, "attribute_head", is_poss=False) for of in heads],
        "relation_heads": [edge("w", "m", "relation_head")],
        "relation_tails": [edge("w", "h", "relation_tail")],
    }
    return {**whole, **changes}


def written(folder: Path, *records: Any) -> Path:
    (folder / "gold.json").write_text(json.dumps(list(records)))
    return folder / "gold.json"


def test_a_graph_as_people_drew_it(tmp_path: Path) -> None:
    rows = measure_gold(read_gold(written(tmp_path, record())))
    found = {row.kind: row for row in rows if row.mode == "published"}
    for kind in ("entities", "attributes", "relations"):
        row = found[kind]
        assert (row.precision, row.recall, row.f1) == (1, 1, 1)
    assert (found["entities"].coref, found["entities"].head) == (1, None)
    assert (found["attributes"].head, found["attributes"].tail) == (1, None)
    assert (found["relations"].head, found["relations"].tail) == (1, 1)


def test_what_differs_counts(tmp_path: Path) -> None:
    """People call "He" a thing of its own, drew no "red", and say that the hat wears the man."""
    differing = record(
        attributes=elements(t="tall", s="smiles"),
        corefs=[],
        relation_heads=[edge("w", "h", "relation_head")],
        relation_tails=[edge("w", "m", "relation_tail")],
    )
    rows = measure_gold(read_gold(written(tmp_path, record(), differing)))
    found = {row.kind: row for row in rows if row.mode == "published"}
    assert found["entities"].coref == pytest.approx((1 + 2 / 3) / 2)
    assert found["attributes"].precision == pytest.approx((1 + 2 / 3) / 2)
    assert found["attributes"].recall == 1
    assert found["attributes"].f1 == pytest.approx((1 + 4 / 5) / 2)
    assert found["attributes"].head == 1  # "smiles" is of "He", which is one of our man's mentions
    assert (found["relations"].head, found["relations"].tail) == (0.5, 0.5)


def test_elements_match_once() -> None:
    own = [Element((0, 4), ()), Element((5, 9), ())]
    assert compare(own, [Element((0, 9), ())])[:3] == (1 / 2, 1, 2 / 3)
    assert compare(own, []) == (0, None, 0, None, None)
    assert compare([], []) == (None, None, None, None, None)


BROKEN = [{"text": "A man."}, record(corefs=[edge("he", "nobody", "coref")]), record(relations=[])]


@pytest.mark.parametrize("broken", [*BROKEN, 5, "A man."])
def test_another_layout_is_refused_in_words(tmp_path: Path, broken: Any) -> None:
    with pytest.raises(ValueError, match=r"PoSh's gold\.json"):
        read_gold(written(tmp_path, broken))


def test_the_command_prints_table_8(tmp_path: Path) -> None:
    folder = tmp_path / "scene_graphs"
    folder.mkdir()
    written(folder, record())
    (step,) = numbers_of(tmp_path, "reproduce", "posh-8", "--data", tmp_path)["steps"]
    assert step["compared"]["published, relations: tail"] == {"paper": 0.926, "measured": 1.0}
    assert all(both["measured"] is not None for both in step["compared"].values())
