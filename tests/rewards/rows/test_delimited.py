"""CSV and TSV: no row is lost within a cell of another, and what is no row has its line."""

import logging
from pathlib import Path
from typing import Any

import pytest

from spanreward.rewards.rows import delimited
from spanreward.rewards.rows.lines import read_rows
from spanreward.rewards.rows.tables import read_table, table_rows

NAMES = "id,completion,reference\n"
TABS = NAMES.replace(",", "\t")
IN_TABS = [
    ('1\t"The\tA.\n2\tA boat.\tA.\n3\tA door."\tA.\n', ['"The', "A boat.", 'A door."']),
    ('1\t"The sign\tA.\n2\tA boat.\tA.\n', ['"The sign', "A boat."]),
    ('1\t" is an inch\tA.\n2\tA boat.\tA.\n', ['" is an inch', "A boat."]),
    ('1\t"The sign" hangs.\tA.\n', ['"The sign" hangs.']),
    ('1\tA sign\tA "\r\n2\t"A boat\tA "\r\n3\tA.\tA.\r\n', ["A sign", '"A boat', "A."]),
    ('1\t"The ""red"" sign,\n\thangs."\tA.\n', ['The "red" sign,\n\thangs.']),
]


def written(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_text(content, newline="")
    return path


@pytest.mark.parametrize(("content", "texts"), IN_TABS)
def test_tsv_is_read_without_marks_where_they_quote_no_cell(
    tmp_path: Path, content: str, texts: list[str]
) -> None:
    path = written(tmp_path, "rows.tsv", TABS + content)
    assert [row["completion"] for _, row in read_table(path)] == texts


SIGNS = NAMES + '1,"The sign,A.\n2,A boat.,A.\n3,A door.",A.\n'
UNKNOWN = [  # name, content, what is told
    ("rows.csv", SIGNS, r"\(lines 2 to 4\): write"),
    ("rows.csv", SIGNS.replace("2,A boat.,A.\n3", "2").replace(",", ";"), r"\(lines 2 to 3\)"),
    ("rows.csv", 'id,rank,completion\n1,5,"The sign\n2,6,A door."\n', r"\(lines 2 to 3\)"),
    ("rows.csv", NAMES + '1,A.,A.\n2,"B.,B.\n3,C.,C.\n', "begins in line 3: write"),
    ("rows.csv", NAMES + '1,"The sign" hangs.,A.\n', "begins in line 2"),
    ("rows.tsv", TABS + '1\t"The sign\tA.\n2\t"A boat."\tA.\n3\tA door."\tA.\n', "in line 2"),
    ("rows.csv", NAMES + "1,A\0.,A.\n", "line 2 .*NUL"),
    ("rows.csv", "id,text,text\n1,A.,B.\n", "one name .*give each"),
]


@pytest.mark.parametrize(("name", "content", "reason"), UNKNOWN, ids=range(len(UNKNOWN)))
def test_a_table_whose_rows_are_not_known_is_refused(
    tmp_path: Path, name: str, content: str, reason: str
) -> None:
    path = written(tmp_path, name, content)
    with pytest.raises(ValueError, match=reason) as error:
        list(table_rows(path))
    assert str(error.value).startswith(f"{path} cannot be read as {name[-3:].upper()}")
    assert "\n" not in str(error.value)


LINES = ["A red dog, asleep\non grass, wet", 'He said "stop, now".\r\nThen, he left.', "one\n\ntwo"]
LINES += ["1,000 people\n2,000 dogs, and more", 'a mark at the end\n"']


@pytest.mark.parametrize("text", LINES)
def test_a_text_of_several_lines_stays_one(tmp_path: Path, text: str) -> None:
    doubled = text.replace('"', '""')
    for content in (f'1,"{doubled}",A.\n2,B.,B.\n', f'1,A 5" disk.,"{doubled}"\n2,B.,B.\n'):
        rows = [row for _, row in read_table(written(tmp_path, "rows.csv", NAMES + content))]
        assert text in rows[0].values()
        assert rows[1:] == [{"id": "2", "completion": "B.", "reference": "B."}]


def test_a_row_of_another_shape_costs_itself_and_says_its_line(tmp_path: Path) -> None:
    content = NAMES + '1,"A\ndog.",A.\n2,B.\n' + NAMES + "\n3,C.,C.,C.\n4,D.,D.\n"
    rows = {number: row for number, _, row in table_rows(written(tmp_path, "rows.csv", content))}
    assert rows[1] == {"id": "1", "completion": "A\ndog.", "reference": "A."}
    for number, told in ((2, ("2 cells", "line 4")), (3, ("line 5",)), (4, ("4 cells", "line 7"))):
        assert all(word in rows[number] for word in (f"row {number}", *told)), rows[number]
    assert rows[5] == {"id": "4", "completion": "D.", "reference": "D."}


def test_what_pandas_writes_for_a_missing_value_is_missing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    content = "id,completion,caption,answers,place\n1,None,nan,None,nan\n2,B.,None,nan,x\n"
    content += "3,C.,C. or nan,null,x\nnan,nan,C.,x,x\n"
    path = written(tmp_path, "rows.csv", content)
    with caplog.at_level(logging.WARNING):
        rows: Any = list(read_rows(path, {"reference": "caption"}))
    (warning,) = caplog.messages
    assert str(path) in warning
    assert "2 of 'reference', 1 of 'answers'" in warning
    assert rows[-1].id == "4"
    first, second, third, last = (row.sample for row in rows)
    assert (first.completion, first.references) == ("None", ())
    assert (first.answers, first.columns["place"]) == (("None",), "nan")
    assert second.references == second.answers == ()
    assert (third.references, third.answers) == (("C. or nan",), ("null",))
    assert last.completion == "nan"


PIECES = [
    (b'\xef\xbb\xbfid,text\n1,\xe2\x82\xac\r\n2,"a\nb"\r\n', "\u20ac"),
    (b"\xef\xbb\xbfid,text\n1,\xe2\x82\xac\n2,\xff\n", "(invalid start byte at byte 16)"),
    (b"id,text\n1,\xe2\x82", "(unexpected end of data at byte 10)"),
    (b"id,text\n1,\xe2\x82\xac\n2,\x00\n3,\x00\n", "line 3 holds a NUL byte"),
    (b'id,text\n1,"a\n', "in the row that begins in line 2"),
    (b"", "[]"),
    (b"\xef\xbb", "(unexpected end of data at byte 0)"),
]


@pytest.mark.parametrize(("content", "fault"), PIECES)
def test_a_table_is_read_alike_in_pieces(
    tmp_path: Path, content: bytes, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(content)

    def read(piece: int) -> Any:
        monkeypatch.setattr(delimited, "PIECE_BYTES", piece)
        try:
            return list(table_rows(path))
        except ValueError as error:
            return str(error)

    whole = read(1 << 20)
    for piece in (1, 2, 3, 5):
        assert read(piece) == whole
    assert fault in str(whole)
