"""`compare --export`: the differences for a paper."""

import csv
import json
from pathlib import Path

from tests.support.command import spanreward

REFERENCE = "A brown dog sleeps on a green sofa."
SIDES = {"old": "A brown cat sleeps on a red sofa.", "new_{1}": "A brown dog sleeps on a <b>red</b> sofa."}


def test_the_exported_files_hold_the_differences(tmp_path: Path) -> None:
    rows = [{"id": f"row {n}", "reference": REFERENCE} for n in range(8)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, text in SIDES.items():
        answers = [{"id": row["id"], "completion": text + " It is night." * n} for n, row in enumerate(rows)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    sides = [f"{name}={tmp_path / name}.jsonl" for name in SIDES]
    asked = ["--data", tmp_path / "rows.jsonl", "--metric", "posh", "--export", "tex", "csv"]
    output = tmp_path / "paper"
    done = spanreward("compare", *sides, *asked, "--output", output)
    assert done.code == 0
    assert done.out.count("Export:") == 2
    entries = json.loads((output / "results.json").read_text())["difference"]["new_{1}_minus_old"]
    with (output / "differences.csv").open() as file:
        found = {row["metric"]: row for row in csv.DictReader(file)}
    assert set(found) == {"posh_f1", "overlap"}
    for metric, row in found.items():
        assert float(row["mean"]) == entries[metric]["mean"]
        assert row["verdict"] == entries[metric]["verdict"]
    tex = (output / "differences.tex").read_text()
    assert f"{entries['posh_f1']['mean']:+.3f}" in tex
    assert r"new\_\{1\}" in tex
    assert r"\toprule" in tex
    assert r"[95 \%]" in tex  # a bare one begins a comment
    assert "$<$ .001" in tex
