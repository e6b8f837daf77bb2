"""Rows, tables, marks and pictures of meaning.jsonl: what a reader, or a judge class of one's own,
gets of each.

for case, outcome in meaning_row_cases(Path("../shared/field")):
    print(case, outcome)        # "placeholder in a sentence", "What stands behind the picture?"
"""

import base64
import io
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from spanreward.rewards import HarmonicReward, Judge, Question, Sample
from spanreward.rewards.judges.judge import Rating, rating_of
from spanreward.rewards.rows.lines import read_rows
from spanreward.rewards.rows.pictures import opened_picture
from spanreward.training.data.load import load_data
from spanreward.training.data.marks import read_marked
from spanreward.training.recipe import JsonlPart

SIDEWAYS = Image.linear_gradient("L").resize((6, 3)).convert("RGB")


def meaning_row_cases(folder: Path) -> Iterator[tuple[str, str]]:
    """Yields the name and the outcome of each case of a kind that is read here."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        SIDEWAYS.save(place / "a.png")
        for line in (folder / "meaning.jsonl").read_text("utf-8").splitlines():
            case = json.loads(line)
            read = _reader(case)
            if read is not None:
                outcome = _outcome(read, case, place)
                yield case["case"], outcome.replace(name, "FOLDER")


def _reader(case: dict[str, Any]) -> Callable[[dict[str, Any], Path], str] | None:
    if case["kind"] == "picture":
        return _pictured
    if "file" in case:
        return _table
    if "rows" not in case:
        return None
    row = case["rows"][0]
    if "mistakes" in row:
        return _marked
    if "image" in row:
        return _asked
    return None


def _outcome(read: Callable[[dict[str, Any], Path], str], case: dict[str, Any], place: Path) -> str:
    try:
        return read(case, place)
    except (ValueError, OSError) as error:
        return f"refused: {error}"


def _written(rows: Sequence[dict[str, Any]], place: Path) -> Path:
    path = place / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _asked(case: dict[str, Any], place: Path) -> str:
    """Returns what the policy is asked, and the question to the judge."""
    rows = [{**row, "image": "a.png", "completion": "x"} for row in case["rows"]]
    path = _written(rows, place)
    (judged,) = read_rows(path)
    if isinstance(judged.sample, str):
        raise ValueError(judged.sample)
    (row,) = load_data(JsonlPart(source="jsonl", path=str(path)))
    return f"policy {row['prompt'][0]['content']!r}, judge {judged.sample.question!r}"


def _table(case: dict[str, Any], place: Path) -> str:
    path = place / "rows.tsv"
    path.write_text(case["file"])
    rows = read_rows(path)
    return f"{len(rows)} rows, ids {', '.join(row.id for row in rows)}"


def _marked(case: dict[str, Any], place: Path) -> str:
    marked = []
    for sample, places in read_marked(_written(case["rows"], place)):
        marked += [sample.completion[start:end] for start, end in places]
    return ", ".join(marked)


class Camera(Judge):
    """A judge class of one's own, which writes what it is shown as PNG."""

    name = "camera"

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def rate_each(self, questions: Sequence[Question], scale: Sequence[str]) -> list[Rating]:
        for question in questions:
            for image in question.images:
                image.save(io.BytesIO(), "PNG")
                self.seen.append(image)
        return [rating_of(3, scale) for _ in questions]


def _pictured(case: dict[str, Any], place: Path) -> str:
    """Returns how the judge sees the case's picture, or the note of a row without a score."""
    judge = Camera()
    picture = _form(case["case"], place)
    (verdict,) = HarmonicReward(judge).assess([Sample("", "A.", images=(picture,))])
    if not judge.seen:
        return f"refused: {verdict.note}"
    seen = judge.seen[0]
    return f"seen: {seen.mode}, {seen.width} x {seen.height}"


def _form(name: str, place: Path) -> Any:
    """Returns the picture, of 6 x 3 pixels, in the form that the case names."""
    content = (place / "a.png").read_bytes()
    text = base64.b64encode(content).decode()
    if name.startswith("turned"):
        exif = Image.Exif()
        exif[0x0112] = 6
        SIDEWAYS.save(place / "turned.png", exif=exif)
        return opened_picture(place / "turned.png")
    if name.startswith("CMYK"):
        return SIDEWAYS.convert("CMYK")
    if name.startswith("bare base64"):
        return text
    if name.startswith("file:"):
        return f"file://{place}/a.png"
    if name.startswith("data:"):
        return f"data:application/octet-stream;base64,{text}"
    if name.startswith("{"):
        return {"bytes": list(content)}
    return str({"bytes": content})
