"""Every command and what it writes: an output that exists is resumed, refused or overwritten, an
input never is one.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.judges.match.match_judge import MatchJudge
from spanreward.training.commands.main import COMMANDS
from tests.support.command import Done, spanreward
from tests.support.paths import ROOT
from tests.training.commands.test_habit import WRITER

ROWS = [
    {
        "id": str(number),
        "completion": f"A {colour} circle.",
        "reference": "A red circle.",
        "mistakes": [],
        "context": "A.",
    }
    for number, colour in enumerate(("red", "blue", "green", "black") * 6)
]
TRAIN = f"{ROOT}/recipes/quickstart/scenes-dapo.yaml"
JUDGE = f"{ROOT}/recipes/judges/people.yaml"


@dataclass(frozen=True)
class Case:
    """words: of the command line, in a folder with rows.jsonl. outputs: what it writes, {name: what
    is asked for by this word}. other: words that decide the output and are others. overwrite: the
    word that begins it anew.
    """

    words: str
    outputs: tuple[str, ...] = ()
    other: str = ""
    overwrite: str = "--overwrite"


SCORE = "score posh --judge match --input rows.jsonl --output verdicts.jsonl --json numbers.json"
COMPARE = (
    "compare a=a.jsonl b=b.jsonl --data rows.jsonl --metric posh --output out --json numbers.json"
)
CASES = {
    "score": [Case(SCORE, ("verdicts.jsonl", "numbers.json"), "score=recall")],
    "labels": [
        Case("labels spans rows.jsonl --json numbers.json", ("numbers.json",), "score=recall")
    ],
    "compare": [
        Case(
            COMPARE,
            ("out/results.json", "out/report.html", "out/completions.jsonl", "numbers.json"),
            "--limit 23",
        )
    ],
    "criteria": [
        Case(
            "criteria write rows.jsonl --judge own.py:Writer --output out.jsonl --html c.html "
            "--json n.json",
            ("out.jsonl", "c.html", "n.json"),
            "evidence=context",
        )
    ],
    "judge": [
        Case(
            "judge label rows.jsonl --judge match --output out.jsonl --json n.json",
            ("out.jsonl", "n.json"),
            "coref=none",
        ),
        Case(
            f"judge train {JUDGE} output=out captions={{}} labels={{}}",
            ("out/README.md", "out/checkpoints"),
        ),
        Case(
            f"judge train {JUDGE} output=out captions={{}} labels={{}} --json n.json", ("n.json",)
        ),
    ],
    "train": [
        Case(f"train {TRAIN} output=out", ("out/README.md", "out/recipe.yaml", "out/checkpoint-1")),
        Case(f"train {TRAIN} output=out --dry-run --json n.json", ("n.json",)),
    ],
    "recipes": [Case("recipes recipes/judges/people.yaml", ("recipes/judges/people.yaml",))],
    "doctor": [Case("doctor --json n.json", ("n.json",))],
    "serve": [],  # writes nothing
}
EVERY = [(case, output) for cases in CASES.values() for case in cases for output in case.outputs]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tmp_path / "rows.jsonl", ROWS)
    for name in "ab":
        write(
            tmp_path / f"{name}.jsonl",
            [{"id": row["id"], "completion": f"A {name}."} for row in ROWS],
        )
    (tmp_path / "own.py").write_text(WRITER)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def run(words: str, *more: str) -> Done:
    return spanreward(*words.split(), *(word for one in more for word in one.split()))


def told(done: Done) -> str:
    """The sentence at the end; there may be a bar of the progress before it."""
    assert "Traceback" not in done.err
    return done.err.strip().splitlines()[-1]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_every_command_is_walked() -> None:
    assert CASES.keys() == COMMANDS.keys()


@pytest.mark.parametrize(
    ("case", "output"), EVERY, ids=lambda one: one if isinstance(one, str) else one.words[:20]
)
@pytest.mark.parametrize("content", ["mine\n", '{"mine": 1}\n'])
def test_somebody_elses_file_is_left_alone(
    case: Case, output: str, content: str, folder: Path
) -> None:
    (folder / output).parent.mkdir(parents=True, exist_ok=True)
    (folder / output).write_text(content)
    before = contents(folder)
    done = run(case.words)
    assert done.code == 1
    assert "choose another" in told(done) or "give another" in told(done), done.err
    assert contents(folder) == before


@pytest.mark.parametrize("command", ["score", "labels", "compare", "criteria", "judge"])
def test_an_input_is_never_an_output(command: str, folder: Path) -> None:
    (folder / "linked.jsonl").symlink_to("rows.jsonl")
    case, before = CASES[command][0], contents(folder)
    for output in ("verdicts.jsonl", "numbers.json", "out.jsonl", "n.json"):
        for path in ("rows.jsonl", "linked.jsonl", str(folder / "rows.jsonl")):
            if f" {output}" in case.words:
                done = run(case.words.replace(f" {output}", f" {path}"), "--overwrite")
                assert f"{path} is an input of" in told(done)
                assert contents(folder) == before
    if command == "compare":
        assert (
            "a.jsonl is an input"
            in run(case.words.replace("numbers.json", "a.jsonl"), "--overwrite").err
        )


@pytest.mark.parametrize(
    "case",
    [CASES[name][0] for name in ("score", "labels", "compare", "criteria", "judge")],
    ids=str,
)
def test_what_exists_is_resumed_refused_or_overwritten(case: Case, folder: Path) -> None:
    assert run(case.words).code == 0
    before = contents(folder)
    assert run(case.words).code == 0
    kept = [
        name
        for name in before
        if name.endswith(("verdicts.jsonl", "out.jsonl", "completions.jsonl", "settings.json"))
    ]
    assert {name: contents(folder)[name] for name in kept} == {name: before[name] for name in kept}
    before = contents(folder)
    done = run(case.words, case.other)
    assert (done.code, "choose another" in told(done)) == (1, True), done.err
    assert contents(folder) == before
    assert run(case.words, case.other, case.overwrite).code == 0
    assert contents(folder) != before


def test_labels_of_a_teacher_are_kept_and_added_to(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    label = "judge label rows.jsonl --judge match --output out.jsonl --json n.json"
    asked = list[str]()
    rate = MatchJudge.rate

    def watched(self: MatchJudge, questions: list, scale: tuple = ()) -> list:  # type: ignore[type-arg]
        asked.extend(question.probe.source for question in questions)
        return (
            [Failure(Status.TIMEOUT, "down") for one in questions]
            if down
            else rate(self, questions)
        )  # type: ignore[call-arg,arg-type,misc]

    monkeypatch.setattr(MatchJudge, "rate", watched)
    down = True
    write(folder / "rows.jsonl", ROWS[:2])
    run(label)
    assert (folder / "out.jsonl").read_text() == ""
    assert json.loads((folder / "n.json").read_text()) == {
        "rows": 2,
        "kept": 0,
        "rows without a verdict": 2,
    }
    down = False
    assert run(label).code == 0
    first = (folder / "out.jsonl").read_text()
    assert first
    asked.clear()
    write(folder / "rows.jsonl", ROWS[1:4])  # another file: the labels about other texts stay
    assert run(label).code == 0
    assert (folder / "out.jsonl").read_text().startswith(first)
    assert ROWS[1]["completion"] not in asked
    assert json.loads((folder / "n.json").read_text()) == {
        "rows": 3,
        "kept": 1,
        "rows without a verdict": 0,
    }
    whole = (folder / "out.jsonl").read_text().splitlines()
    # killed while it wrote
    (folder / "out.jsonl").write_text("\n".join(whole[:-2]) + "\n" + whole[-2][:30])
    assert run(label).code == 0
    again = (folder / "out.jsonl").read_text().splitlines()
    assert sorted(map(question, again)) == sorted(map(question, whole))


def question(line: str) -> str:
    return json.dumps({key: value for key, value in json.loads(line).items() if key != "rows"})
