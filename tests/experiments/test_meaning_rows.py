"""The field's rows, tables, marks and pictures: each case has its outcome, and others are left."""

import json
from pathlib import Path

from experiments.field.meaning_rows import meaning_row_cases

ONE = {"question": "What stands on <image>?", "answers": ["a cup"], "image": "one"}
TWO = {"question": "Is <image 1> like <image 2>?", "answers": ["no"], "image": "one"}
UNITS = {"completion": "🚢🚢 A green cup.", "reference": "A.", "mistakes": [[7, 12]]}
CASES = [
    {"case": "placeholder", "kind": "rows", "rows": [ONE]},
    {"case": "two", "kind": "rows", "rows": [TWO]},
    {"case": "mark", "kind": "rows", "file": 'id\tcompletion\n1\t"A sign\n2\tA cup."\n'},
    {"case": "units", "kind": "rows", "rows": [UNITS]},
    {"case": "turned by EXIF", "kind": "picture"},
    {"case": "CMYK", "kind": "picture"},
    {"case": "file:///path/a.png", "kind": "picture"},
    {"case": "\"{'bytes': b'x'}\" in a CSV", "kind": "picture"},
    {"case": "template", "kind": "rows", "rows": [{"prompt": "x", "completion": "x"}]},
    {"case": "minus", "kind": "apart", "metric": "lave"},
]


def test_each_case_has_its_outcome(tmp_path: Path) -> None:
    lines = "".join(json.dumps(case) + "\n" for case in CASES)
    (tmp_path / "meaning.jsonl").write_text(lines)
    outcomes = dict(meaning_row_cases(tmp_path))
    asked = "'What stands on the picture?'"
    assert outcomes["placeholder"] == f"policy {asked}, judge {asked}"
    assert "placeholders of 2 pictures" in outcomes["two"]
    assert outcomes["mark"] == "2 rows, ids 1, 2"
    assert "the characters [5, 10] = 'green'" in outcomes["units"]
    assert outcomes["turned by EXIF"] == "seen: RGB, 3 x 6"
    assert outcomes["CMYK"] == outcomes["file:///path/a.png"] == "seen: RGB, 6 x 3"
    assert "was written as text" in outcomes["\"{'bytes': b'x'}\" in a CSV"]
    assert not outcomes.keys() & {"template", "minus"}
