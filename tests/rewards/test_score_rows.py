"""`score`: rows in, and the same rows with their verdicts out, whatever the rows come from."""

import json
from pathlib import Path

import pandas as pd
from datasets import Dataset

from spanreward import PoshReward, Verdict, score
from tests.support.own_parts import overlap

ROWS = [
    {"id": "a", "completion": "A red circle.", "reference": "A red circle.", "split": "val"},
    {"id": "b", "completion": "A dog.", "reference": ["A cat.", "A red dog."], "split": "val"},
    {"id": "c", "completion": 3, "reference": "A cat.", "split": "val"},
]


def test_the_rows_keep_what_they_hold_and_get_their_verdicts(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    found = score(PoshReward("match"), tmp_path / "rows.jsonl")
    assert found[:2] == score(PoshReward("match"), ROWS)[:2]
    assert [{key: value for key, value in row.items() if "/" not in key} for row in found] == ROWS
    scores = PoshReward("match")(
        [""] * 2, ["A red circle.", "A dog."], reference=[row["reference"] for row in ROWS[:2]]
    )
    assert [row["posh/score"] for row in found] == [*scores, None]
    assert [row["posh/status"] for row in found] == ["ok", "ok", "not_applicable"]
    assert found[0]["posh/precision"] == 1.0
    assert "row 3 needs the key 'completion'" in score(PoshReward("match"), ROWS)[2]["posh/note"]


def test_a_frame_and_a_data_set_come_out_and_go_in() -> None:
    frame = pd.DataFrame(score(PoshReward("match"), ROWS[:1]))
    assert frame["posh/f1"].mean() == 1.0
    data = Dataset.from_list(score(PoshReward("match"), ROWS[:1]))
    again = score(overlap, data)
    assert (again[0]["posh/score"], again[0]["overlap/score"]) == (1.0, 1.0)
    assert score(overlap, frame.to_dict("records"))[0]["overlap/score"] == 1.0
    names = {"posh/score": "score", "posh/spans": "spans", "posh/parsed_by": "parsed_by"}
    assert (
        Verdict.from_dict({ours: frame.iloc[0][theirs] for theirs, ours in names.items()}).score
        == 1.0
    )


def test_columns_and_limit() -> None:
    renamed = [{"text": "A dog.", "caption": "A dog."}] * 3
    columns = {"completion": "text", "reference": "caption"}
    found = score(PoshReward("match"), renamed, columns=columns, limit=2)
    assert [row["posh/score"] for row in found] == [1.0, 1.0]
