"""`score`: rows in, and the same rows with their verdicts out, whatever the rows come from."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from datasets import Dataset

from spanreward import LaveReward, PoshReward, Sample, Verdict, score
from spanreward.rewards.scoring import score_file
from tests.support.files import write_lines
from tests.support.own_parts import overlap
from tests.support.paths import DATA

ROWS = [
    {"id": "a", "completion": "A red circle.", "reference": "A red circle.", "split": "val"},
    {"id": "b", "completion": "A dog.", "reference": ["A cat.", "A red dog."], "split": "val"},
    {"id": "c", "completion": 3, "reference": "A cat.", "split": "val"},
]
POSH, LAVE = PoshReward("match"), LaveReward("match", rationale=False)
FIELD = DATA.parent / "field" / "rows.jsonl"
LINES = FIELD.read_text().splitlines() if FIELD.is_file() else []
CASES = {case["case"]: case["rows"] for case in map(json.loads, LINES) if "rows" in case}


def test_the_rows_keep_what_they_hold_and_get_their_verdicts(tmp_path: Path) -> None:
    found = score(POSH, write_lines(tmp_path / "rows.jsonl", ROWS))
    assert found[:2] == score(POSH, ROWS)[:2]
    assert [{key: value for key, value in row.items() if "/" not in key} for row in found] == ROWS
    references = [row["reference"] for row in ROWS[:2]]
    scores = POSH([""] * 2, ["A red circle.", "A dog."], reference=references)
    assert [row["posh/score"] for row in found] == [*scores, None]
    assert [row["posh/status"] for row in found] == ["ok", "ok", "not_applicable"]
    assert found[0]["posh/precision"] == 1.0
    assert "row 3 needs the key 'completion'" in score(POSH, ROWS)[2]["posh/note"]


def test_a_frame_and_a_data_set_come_out_and_go_in() -> None:
    frame = pd.DataFrame(score(POSH, ROWS[:1]))
    assert frame["posh/f1"].mean() == 1.0
    data = Dataset.from_list(score(POSH, ROWS[:1]))
    again = score(overlap, data)
    assert (again[0]["posh/score"], again[0]["overlap/score"]) == (1.0, 1.0)
    assert score(overlap, frame.to_dict("records"))[0]["overlap/score"] == 1.0
    names = {"posh/score": "score", "posh/spans": "spans", "posh/parsed_by": "parsed_by"}
    held = {ours: frame.iloc[0][theirs] for theirs, ours in names.items()}
    assert Verdict.from_dict(held).score == 1.0


def test_columns_and_limit() -> None:
    renamed = [{"text": "A dog.", "caption": "A dog."}] * 3
    columns = {"completion": "text", "reference": "caption"}
    found = score(POSH, renamed, columns=columns, limit=2)
    assert [row["posh/score"] for row in found] == [1.0, 1.0]


@pytest.mark.skipif(not CASES, reason=f"the cases are not at {FIELD}")
@pytest.mark.parametrize("case", CASES or ["none"])
def test_rows_as_others_write_them(tmp_path: Path, case: str) -> None:
    """The layouts that users of other tools reported."""
    rows = CASES[case]
    reward: Any = LAVE if "answers" in rows[0] else POSH
    source = write_lines(tmp_path / "rows.jsonl", rows)
    summary = score_file(reward, source, tmp_path / "verdicts.jsonl", {})
    assert (summary.scored, summary.mean_score, summary.bad_lines) == (len(rows), 1.0, [])


def test_one_string_where_a_list_belongs() -> None:
    assert LAVE.assess([Sample("", "red", question="Which colour?", answers="red")])[0].score == 1.0
    text = "A red circle."
    said = [text, [{"role": "assistant", "content": text}]]
    for reference in (text, [text] * 2, (text,) * 2, [[text]] * 2):
        assert POSH(["", ""], said, reference=reference) == [1.0, 1.0]
