"""What people are handed: pairs mirrored, texts as they are, and nothing that tells the sides."""

import base64
import io
import json
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from experiments.blind.comparison import compared_prompts, read_answered
from experiments.blind.export import export, key_of
from experiments.blind.label_studio import interface
from experiments.blind.questions import ANSWERS, QUESTIONS
from spanreward.rewards.rows.fingerprint import sample_fingerprint
from spanreward.rewards.rows.sample import read_sample
from spanreward.training.evaluation.answers.same_row import ROW_KEY
from tests.support.blind import IDS, comparison, lines

HOSTILE = '</Text><script>alert(1)</script> "$image" &amp; \u202e {"pair": "x"} 😀'


def two(name: str, seed: int) -> tuple[str, str]:
    return f"dapo's of {name}, {seed}. {HOSTILE}", f"sft's of {name}, {seed}."


def test_pairs_are_mirrored_and_blind(tmp_path: Path) -> None:
    folder = comparison(tmp_path / "comparison", two, seeds=(0, 1))
    output = tmp_path / "blind"
    key = export(folder, ("dapo", "sft"), 6, output)
    tasks = [json.loads(line) for line in (output / "tasks.jsonl").read_text().splitlines()]
    assert [task["pair"] for task in tasks] == list(key["tasks"])
    assert len(tasks) == 12
    halves = tasks[:6], tasks[6:]
    for half in halves:
        firsts = [key["tasks"][task["pair"]]["first"] for task in half]
        assert firsts.count("dapo") == 3
        assert len({key["tasks"][task["pair"]]["id"] for task in half}) == 6  # of a prompt one seed
    one, other = ({frozenset((task["text1"], task["text2"])) for task in half} for half in halves)
    assert one == other
    ways = {(task["text1"], task["text2"]) for task in tasks}
    assert ways == {(second, first) for first, second in ways}
    for task in tasks:
        known = key["tasks"][task["pair"]]
        texts = two(known["id"], known["seed"])
        assert task["text1"] == texts[0 if known["first"] == "dapo" else 1]
        assert task["request"] == "Describe the picture."
        assert (task["rater"], task["overall"]) == ("", None)
        assert Image.open(output / task["image"]).size == (64, 64)
    handed_out = [path.read_text() for path in output.iterdir() if path.is_file()]
    names = "".join(handed_out).replace("dapo's of", "").replace("sft's of", "")
    assert "dapo" not in names
    assert '"seed"' not in names
    assert key_of(output) == tmp_path / "blind.key.json"
    assert json.loads(key_of(output).read_text()) == key


@pytest.fixture
def output(tmp_path: Path) -> Path:
    export(comparison(tmp_path / "comparison", two), ("dapo", "sft"), 3, tmp_path / "blind")
    return tmp_path / "blind"


def test_label_studio_gets_the_same_with_pictures_in_the_tasks(output: Path) -> None:
    tasks = json.loads((output / "tasks.json").read_text())
    plain = [json.loads(line) for line in (output / "tasks.jsonl").read_text().splitlines()]
    for task, row in zip(tasks, plain, strict=True):
        data = task["data"]
        for name in ("pair", "text1", "text2", "reference"):
            assert data[name] == row[name]
        start, content = data["image"].split(",")
        assert start == "data:image/png;base64"
        assert Image.open(io.BytesIO(base64.b64decode(content))).size == (64, 64)


def test_the_interface_has_the_tasks_keys_and_no_text_of_theirs(output: Path) -> None:
    view = ElementTree.fromstring((output / "labelling.xml").read_text())
    values = {element.get("value") for tag in ("Image", "Text") for element in view.iter(tag)}
    assert values == {"$image", "$request", "$reference", "$text1", "$text2"}
    choices = {one.get("name"): [each.get("value") for each in one] for one in view.iter("Choices")}
    assert choices == {name: list(ANSWERS) for name in QUESTIONS}
    names = {element.get("name") for element in view.iter("Text")}
    assert {element.get("toName") for element in view.iter("Choices")} <= names
    assert "alert" not in (output / "labelling.xml").read_text()


def test_texts_only(tmp_path: Path) -> None:
    folder = comparison(tmp_path / "comparison", two)
    (folder / "results.json").unlink()
    with pytest.raises(ValueError, match="with --texts-only people"):
        export(folder, ("dapo", "sft"), 3, tmp_path / "no")
    export(folder, ("dapo", "sft"), 3, tmp_path / "blind", texts_only=True)
    task = json.loads((tmp_path / "blind/tasks.json").read_text())[0]
    assert set(task["data"]) == {"pair", "text1", "text2"}
    assert interface(set()).count("<Text ") == 2


def test_the_same_seed_draws_the_same(tmp_path: Path) -> None:
    folder = comparison(tmp_path / "comparison", two)
    keys = []
    for number, seed in enumerate((0, 0, 1)):
        keys.append(export(folder, ("dapo", "sft"), 4, tmp_path / f"{number}", seed)["tasks"])
    assert keys[0] == keys[1] != keys[2]


def test_equal_texts_are_not_asked_about(tmp_path: Path) -> None:
    unlike = dict.fromkeys(IDS[:2], "b")
    folder = comparison(tmp_path / "comparison", lambda name, _: ("a", unlike.get(name, "a")))
    key = export(folder, ("dapo", "sft"), 5, tmp_path / "blind")
    assert {task["id"] for task in key["tasks"].values()} == set(IDS[:2])
    alike = comparison(tmp_path / "alike", lambda name, seed: ("a", "a"))
    with pytest.raises(ValueError, match="wrote the same for"):
        export(alike, ("dapo", "sft"), 5, tmp_path / "nothing")


def test_of_two_runs_of_one_seed_the_first_is_shown(tmp_path: Path) -> None:
    folder = comparison(tmp_path / "comparison", two)
    path = folder / "completions.jsonl"
    first = [json.loads(line) for line in path.read_text().splitlines()]
    again = [{**row, "run": 2, "completion": "Of another environment."} for row in first]
    lines(path, [*({**row, "run": 1} for row in first), *again])
    found = read_answered(folder, ("dapo", "sft"))
    assert [pair.texts for pair in found] == [two(name, 0) for name in IDS]


def test_rows_that_have_changed_since_they_were_answered_are_refused(tmp_path: Path) -> None:
    folder = comparison(tmp_path / "comparison", two)
    path = folder / "completions.jsonl"
    answers = [json.loads(line) for line in path.read_text().splitlines()]
    rows = compared_prompts(json.loads((folder / "results.json").read_text())).rows
    marks = {row["id"]: sample_fingerprint(read_sample(row, "", row["prompt"])) for row in rows}
    lines(path, [{**answer, ROW_KEY: marks[answer["id"]]} for answer in answers])
    export(folder, ("dapo", "sft"), 3, tmp_path / "blind")
    lines(path, [{**answer, ROW_KEY: marks[IDS[0]]} for answer in answers])
    with pytest.raises(ValueError, match="the row '2' has changed"):
        export(folder, ("dapo", "sft"), 3, tmp_path / "other")
    lines(path, [{**answer, ROW_KEY: answer["model"]} for answer in answers])
    with pytest.raises(ValueError, match=r"another row under .* '1'"):
        read_answered(folder, ("dapo", "sft"))


@pytest.mark.parametrize(
    ("kept", "sentence"),
    [
        ([*range(16), 0], r"line 17 .* '1', seed 0, of 'dapo'"),
        (range(15), "1 rows have one only"),
    ],
)
def test_answers_that_are_twice_or_missing_are_refused(
    tmp_path: Path, kept: Sequence[int], sentence: str
) -> None:
    folder = comparison(tmp_path / "comparison", two)
    rows = (folder / "completions.jsonl").read_text().splitlines()
    (folder / "completions.jsonl").write_text("\n".join(rows[number] for number in kept))
    with pytest.raises(ValueError, match=sentence):
        read_answered(folder, ("dapo", "sft"))


def test_what_people_work_on_is_not_overwritten(output: Path) -> None:
    with pytest.raises(ValueError, match="is there already"):
        export(output.parent / "comparison", ("dapo", "sft"), 3, output)
