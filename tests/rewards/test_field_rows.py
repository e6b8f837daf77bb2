"""The layouts of rows that users of other tools reported (shared/field/rows.jsonl), through
`score`.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from spanreward import LaveReward, MatchJudge, PoshReward, Sample
from spanreward.rewards.scoring import score_file
from tests.support.paths import DATA

FIELD = DATA.parent / "field" / "rows.jsonl"
CASES = {
    case["case"]: case["rows"]
    for case in map(json.loads, FIELD.read_text().splitlines() if FIELD.is_file() else [])
    if "rows" in case
}


@pytest.mark.skipif(not CASES, reason=f"the cases are not at {FIELD}")
@pytest.mark.parametrize("case", CASES or ["none"])
def test_rows_as_others_write_them(tmp_path: Path, case: str) -> None:
    rows = CASES[case]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    judge = MatchJudge()
    reward: Any = LaveReward(judge, rationale=False) if "answers" in rows[0] else PoshReward(judge)
    summary = score_file(reward, tmp_path / "rows.jsonl", tmp_path / "verdicts.jsonl", {})
    assert (summary.scored, summary.mean_score, summary.bad_lines) == (len(rows), 1.0, [])


def test_one_string_where_a_list_belongs() -> None:
    posh, lave = PoshReward(MatchJudge()), LaveReward(MatchJudge(), rationale=False)
    assert posh.assess([Sample("", "A red circle.", references="A red circle.")])[0].score == 1.0
    assert lave.assess([Sample("", "red", question="Which colour?", answers="red")])[0].score == 1.0
    assert Sample("", "", criteria="It names the colour.").criteria == ("It names the colour.",)
    said = ["A red circle.", [{"role": "assistant", "content": "A red circle."}]]
    for reference in (
        "A red circle.",
        ["A red circle."] * 2,
        ("A red circle.",) * 2,
        [["A red circle."]] * 2,
    ):
        assert posh(["", ""], said, reference=reference) == [1.0, 1.0]
