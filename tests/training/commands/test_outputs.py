"""An output that exists is resumed, refused or overwritten, and an input never is one."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.judges.match.match_judge import MatchJudge
from spanreward.training.commands.main import COMMAND_MODULES
from tests.support.command import Done, spanreward
from tests.support.files import write_lines
from tests.support.paths import ROOT
from tests.training.commands.test_habit import RUNS, WRITER

COLOURS = ("red", "blue", "green", "black")
FIELDS = {"reference": "A red circle.", "mistakes": [], "context": "A."}
ROWS: list[dict[str, Any]] = [
    {"id": str(n), "completion": f"A {COLOURS[n % 4]} circle.", **FIELDS} for n in range(24)
]


@dataclass(frozen=True)
class Case:
    """outputs: the files that it writes. other: words that make it another output."""

    words: str
    outputs: str
    other: str = ""


TRAIN = f"train {ROOT}/recipes/quickstart/scenes-dapo.yaml output=out"
TEACH = f"judge train {ROOT}/recipes/judges/people.yaml output=out captions={{}} labels={{}}"
CASES = {
    "score": [Case(RUNS["score"], "v.jsonl p.html n.json", "score=recall")],
    "labels": [Case("labels spans rows.jsonl --json n.json", "n.json", "score=recall")],
    "compare": [
        Case(
            RUNS["compare"],
            "out/results.json out/report.html out/completions.jsonl n.json",
            "--limit 23",
        )
    ],
    "criteria": [Case(RUNS["criteria write"], "c.jsonl c.html n.json", "evidence=context")],
    "judge": [
        Case(RUNS["judge label"], "l.jsonl n.json", "coref=none"),
        Case(TEACH, "out/README.md out/checkpoints"),
        Case(f"{TEACH} --json n.json", "n.json"),
    ],
    "train": [
        Case(TRAIN, "out/README.md out/recipe.yaml out/checkpoint-1"),
        Case(f"{TRAIN} --dry-run --json n.json", "n.json"),
    ],
    "recipes": [Case("recipes recipes/judges/people.yaml", "recipes/judges/people.yaml")],
    "doctor": [Case("doctor --json n.json", "n.json")],
    "serve": [],  # writes nothing
}
EVERY = [case for cases in CASES.values() for case in cases]
OUTPUTS = [(case, output) for case in EVERY for output in case.outputs.split()]
READERS = ("score", "labels", "compare", "criteria", "judge")
LABEL = RUNS["judge label"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_lines("rows.jsonl", ROWS)
    for name in "ab":
        lines = [{"id": row["id"], "completion": f"A {name}."} for row in ROWS]
        write_lines(f"{name}.jsonl", lines)
    Path("own.py").write_text(WRITER)
    return tmp_path


def run(words: str, *more: str) -> Done:
    return spanreward(*words.split(), *(word for one in more for word in one.split()))


def told(done: Done) -> str:
    """The sentence at the end; there may be a bar of the progress before it."""
    assert "Traceback" not in done.err
    return done.err.strip().splitlines()[-1]


def contents(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_every_command_is_walked() -> None:
    assert CASES.keys() == COMMAND_MODULES.keys()


@pytest.mark.parametrize(
    ("case", "output"), OUTPUTS, ids=lambda one: one if isinstance(one, str) else one.words[:20]
)
def test_somebody_elses_file_is_left_alone(case: Case, output: str, folder: Path) -> None:
    (folder / output).parent.mkdir(parents=True, exist_ok=True)
    (folder / output).write_text('{"mine": 1}\n')
    before = contents(folder)
    done = run(case.words)
    assert done.code == 1
    assert "choose another" in told(done) or "give another" in told(done), done.err
    assert contents(folder) == before


PLACES = {". is a folder": ".", "rows.jsonl is a file": "rows.jsonl/n.json"}


@pytest.mark.parametrize("told_place", PLACES)
@pytest.mark.parametrize(
    "words", [*(CASES[name][-1].words for name in READERS), "doctor --json n.json"]
)
def test_a_place_where_no_file_can_be_is_refused_before_any_work(
    words: str, told_place: str, folder: Path
) -> None:
    before = contents(folder)
    for name in ("n.json", "c.html", "p.html"):
        if f" {name}" in words:
            done = run(words.replace(f" {name}", f" {PLACES[told_place]}"))
            assert (done.code, told_place in told(done)) == (1, True), done.err
    assert contents(folder) == before


def test_the_current_folder_is_a_comparison_s_output(folder: Path) -> None:
    done = run(RUNS["compare"].replace("--output out", "--output ."))
    assert done.code == 0, done.err
    assert (folder / "results.json").is_file()


def test_a_refused_comparison_leaves_an_earlier_one_as_it_was(folder: Path) -> None:
    assert run(RUNS["compare"]).code == 0
    before = contents(folder)
    assert run(RUNS["compare"], "--metric criteria --overwrite").code == 1
    assert contents(folder) == before


@pytest.mark.parametrize("command", READERS)
def test_an_input_is_never_an_output(command: str, folder: Path) -> None:
    (folder / "linked.jsonl").symlink_to("rows.jsonl")
    case, before = CASES[command][0], contents(folder)
    for output in ("v.jsonl", "p.html", "c.jsonl", "l.jsonl", "n.json"):
        for path in ("rows.jsonl", "linked.jsonl", str(folder / "rows.jsonl")):
            if f" {output}" in case.words:
                done = run(case.words.replace(f" {output}", f" {path}"), "--overwrite")
                assert f"{path} is an input of" in told(done)
                assert contents(folder) == before
    if command == "compare":
        done = run(case.words.replace("n.json", "a.jsonl"), "--overwrite")
        assert "a.jsonl is an input" in done.err


@pytest.mark.parametrize("case", [CASES[name][0] for name in READERS], ids=str)
def test_what_exists_is_resumed_refused_or_overwritten(case: Case, folder: Path) -> None:
    assert run(case.words).code == 0
    resumed = ("v.jsonl", "c.jsonl", "l.jsonl", "completions.jsonl", "settings.json")
    before = {name: text for name, text in contents(folder).items() if name.endswith(resumed)}
    assert run(case.words).code == 0
    assert contents(folder).items() >= before.items()
    before = contents(folder)
    done = run(case.words, case.other)
    assert (done.code, "choose another" in told(done)) == (1, True), done.err
    assert contents(folder) == before
    assert run(case.words, case.other, "--overwrite").code == 0
    assert contents(folder) != before


def numbers(rows: int, kept: int, without: int) -> None:
    found = json.loads(Path("n.json").read_text())
    assert found == {"rows": rows, "kept": kept, "rows without a verdict": without}


def test_labels_of_a_teacher_are_kept_and_added_to(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[str]()
    rate = MatchJudge.rate

    def watched(self: Any, questions: Any, scale: Any = ()) -> Any:
        asked.extend(question.probe.source for question in questions)
        failed = [Failure(Status.TIMEOUT, "down") for _ in questions]
        return failed if down else rate(self, questions)  # type: ignore[call-arg]

    monkeypatch.setattr(MatchJudge, "rate", watched)
    output = Path("l.jsonl")
    down = True
    write_lines("rows.jsonl", ROWS[:2])
    run(LABEL)
    assert output.read_text() == ""
    numbers(2, kept=0, without=2)
    down = False
    assert run(LABEL).code == 0
    first = output.read_text()
    assert first
    asked.clear()
    write_lines("rows.jsonl", ROWS[1:4])  # another file: the labels about other texts stay
    assert run(LABEL).code == 0
    assert output.read_text().startswith(first)
    assert ROWS[1]["completion"] not in asked
    numbers(3, kept=1, without=0)
    whole = output.read_text().splitlines()
    # killed while it wrote
    output.write_text("\n".join(whole[:-2]) + "\n" + whole[-2][:30])
    assert run(LABEL).code == 0
    again = output.read_text().splitlines()
    assert sorted(map(question, again)) == sorted(map(question, whole))


def question(line: str) -> str:
    return json.dumps({key: value for key, value in json.loads(line).items() if key != "rows"})
