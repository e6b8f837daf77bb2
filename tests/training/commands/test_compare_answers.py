"""`spanreward compare` on files of answers: a ranking with only a metric, lengths, failures, and
bad input.
"""

import json
import random
import re
import sys
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from spanreward.rewards.judges.judge import HARMLESS_QUESTION
from spanreward.training.commands.compare import main

OWN = '''
"""A metric that only looks at length, and a judge that raises for one row."""
import json
from pathlib import Path

from spanreward.rewards.judges.judge import Judge, Rating
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.base.verdict import Verdict

FOLDER = Path({folder!r})


class LongReward(Reward):
    def assess(self, samples):
        return [Verdict(min(len(sample.completion.split()) / 100, 1.0)) for sample in samples]


class DyingJudge(Judge):
    name = "dying"

    def rate(self, questions, scale=("1", "2", "3", "4", "5")):
        asked = [question.messages[-1]["content"] for question in questions]
        log = FOLDER / "asked.jsonl"
        if any("number 70" in text for text in asked) and not (FOLDER / "alive").exists():
            raise RuntimeError("the engine is gone")
        with log.open("a") as file:
            file.writelines(json.dumps(text) + "\\n" for text in asked)
        return [Rating({{"1": 0.0, "2": 0.0, "3": 0.0, "4": 0.0, "5": 1.0}}) for _ in questions]

    def write(self, questions, max_tokens):
        raise NotImplementedError
'''


def compare(monkeypatch: pytest.MonkeyPatch, *arguments: Any) -> Any:
    """The exit code, None when all is well."""
    monkeypatch.setattr(sys, "argv", ["compare.py", *map(str, arguments)])
    try:
        main()
    except SystemExit as error:
        return error.code


def write(path: Path, lines: Any) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def answers(path: Path, texts: Any) -> Path:
    return write(
        path, [{"id": f"row {number}", "completion": text} for number, text in enumerate(texts)]
    )


def data(path: Path, count: int) -> Path:
    colours = ("red", "blue", "green", "black")
    lines = [
        {
            "id": f"row {number}",
            "reference": f"A {colours[number % 4]} dog and cat number {number}.",
            "level": 1 + number % 2,
        }
        for number in range(count)
    ]
    return write(path, lines)


def results_of(folder: Path) -> Any:
    return json.loads((folder / "results.json").read_text())


def test_a_ranking_needs_only_answers_a_data_file_and_a_metric(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = data(tmp_path / "rows.jsonl", 24)
    references = [json.loads(line)["reference"] for line in rows.read_text().splitlines()]
    models = [
        f"poor={answers(tmp_path / 'poor.jsonl', ['A tree.'] * 24)}",
        f"good={answers(tmp_path / 'good.jsonl', references)}",
        f"same={answers(tmp_path / 'same.jsonl', references)}",
    ]
    asked = (
        f"--data {rows} --metric posh --judge match --output {tmp_path}/out --slice level".split()
    )
    assert compare(monkeypatch, *models, *asked) is None
    results = results_of(tmp_path / "out")
    assert results["leaderboard"]["metric"] == "posh_f1"
    ranks = {row["model"]: (row["rank"], row["tied"]) for row in results["leaderboard"]["rows"]}
    assert ranks == {"good": (1, ["same"]), "same": (1, ["good"]), "poor": (3, [])}
    assert results["referees"]["posh_f1"]["kind"] == "unknown"
    assert results["referees"]["overlap"] == {
        "kind": "judgeless",
        "by": ANY,
        "main": True,
    }
    assert {row["slice"] for row in results["slices"]["same_minus_poor"]} == {"level"}
    tie = results["difference"]["same_minus_good"]["posh_f1"]
    assert (tie["verdict"], tie["over_prompts"], tie["tie"]) == ("undecided", "undecided", 24)
    better = results["difference"]["good_minus_poor"]["posh_f1"]
    # fixed systems
    assert (better["verdict"], better["over_prompts"], better["why"]) == ("better", "higher", "")
    identical, constant = results["warnings"]
    assert identical.startswith("24 of 24 answers of good and same")
    assert re.match("poor .* 24 of 24 prompts: 'A tree.'", constant)
    assert results["compute"]["good"] == {"runs": 1, "tokens_written": None, "training": [{}]}
    printed = capsys.readouterr().out
    assert (
        len(printed.splitlines()) == 3 + 1 + 2 + 2
    )  # a sentence on each pair, a note, where the rest is, the warnings
    assert re.search(r"good against poor: .*PoSh F1 \+", printed)
    assert "a judge that" not in printed  # nobody was trained here
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Ranking by PoSh F1" in page
    assert page.index("same against good") < page.index("Ranking by PoSh F1")


def test_a_judge_that_only_likes_length_is_exposed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The longer model wins three quarters of the answers, and one half at equal length, by both
    ways.
    """
    generator = random.Random(0)
    rows = data(tmp_path / "rows.jsonl", 240)
    (tmp_path / "own.py").write_text(OWN.format(folder=str(tmp_path)))
    texts = {
        name: [" ".join(["word"] * max(3, round(generator.gauss(mean, 12)))) for _ in range(240)]
        for name, mean in (("short", 40), ("long", 52))
    }
    models = [f"{name}={answers(tmp_path / f'{name}.jsonl', of)}" for name, of in texts.items()]
    asked = f"--data {rows} --metric {tmp_path}/own.py:LongReward --output {tmp_path}/out".split()
    assert compare(monkeypatch, *models, *asked) is None
    entry = results_of(tmp_path / "out")["difference"]["long_minus_short"]["long_score"]
    rate = entry["win_rate"]
    assert entry["over_prompts"] == "higher"
    assert rate["raw"] > 0.7
    assert rate["raw_interval"]["low"] > 0.65
    assert rate["controlled"] == pytest.approx(0.5, abs=0.03)
    assert rate["controlled_interval"]["low"] <= 0.5 <= rate["controlled_interval"]["high"]
    assert "Is it length?" in (tmp_path / "out" / "report.html").read_text()


def test_a_comparison_whose_judge_raises_goes_on_and_asks_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = data(tmp_path / "rows.jsonl", 80)  # two batches
    (tmp_path / "own.py").write_text(OWN.format(folder=str(tmp_path)))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("spanreward.rewards.judges.cache.cached_judge.CACHE", tmp_path / "cache")
    texts = {
        "one": [f"A dog number {n}." for n in range(80)],
        "two": [f"A cat number {n}." for n in range(80)],
    }
    models = [f"{name}={answers(tmp_path / f'{name}.jsonl', of)}" for name, of in texts.items()]
    judge = f"{tmp_path / 'own.py'}:DyingJudge"
    asked = f"--data {rows} --metric posh --judge {judge} --output {tmp_path}/out --cache".split()
    assert compare(monkeypatch, *models, *asked) is None
    died = results_of(tmp_path / "out")
    # the row for which it raises, and none beside it
    assert [died["models"][name]["posh_f1"]["failed"] for name in texts] == [1, 1]
    entry = died["difference"]["two_minus_one"]["posh_f1"]
    assert (entry["failed"], entry["counted"], entry["win"] + entry["tie"] + entry["loss"]) == (
        1,
        79,
        79,
    )
    assert entry["worst_case"] == pytest.approx(
        [79 / 80 * entry["mean"] - 1 / 80, 79 / 80 * entry["mean"] + 1 / 80]
    )
    assert "1 pair not judged" in (tmp_path / "out" / "report.html").read_text()
    (tmp_path / "alive").write_text("")
    assert compare(monkeypatch, *models, *asked) is None
    whole = results_of(tmp_path / "out")
    assert [whole["models"][name]["posh_f1"]["failed"] for name in texts] == [0, 0]
    lines = (tmp_path / "asked.jsonl").read_text().splitlines()
    harmless = json.dumps(HARMLESS_QUESTION.messages[-1]["content"])
    questions = [line for line in lines if line != harmless]
    assert len(questions) == len(set(questions)) > 160
    again = len(lines)
    assert compare(monkeypatch, *models, *asked) is None
    assert len((tmp_path / "asked.jsonl").read_text().splitlines()) == again


def test_one_prompt_is_undecided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = data(tmp_path / "rows.jsonl", 1)
    models = [
        f"a={answers(tmp_path / 'a.jsonl', ['A tree.'])}",
        f"b={answers(tmp_path / 'b.jsonl', ['A red dog.'])}",
    ]
    asked = ["--data", rows, "--metric", "posh", "--output", tmp_path / "out"]
    assert compare(monkeypatch, *models, *asked) is None
    results = results_of(tmp_path / "out")
    assert {entry["verdict"] for entry in results["difference"]["b_minus_a"].values()} == {
        "undecided"
    }
    assert "1 prompt, 6 or more" in results["difference"]["b_minus_a"]["posh_f1"]["why"]
    assert json.loads(json.dumps(results, allow_nan=False)) == results


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            [{"id": "row 0", "completion": "A."}],
            "1 of the 2 rows",
        ),
        (
            [{"id": f"row {number}", "completion": "A."} for number in (0, 0, 1)],
            "'row 0' and 1 to 'row 1'",
        ),
        ([{"id": "row 0", "text": "A."}], "needs an id and a completion"),
    ],
)
def test_a_file_that_does_not_answer_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: Any, message: str
) -> None:
    rows = data(tmp_path / "rows.jsonl", 2)
    models = [
        f"a={write(tmp_path / 'a.jsonl', lines)}",
        f"b={answers(tmp_path / 'b.jsonl', ['A.', 'B.'])}",
    ]
    code = compare(
        monkeypatch, *models, "--data", rows, "--metric", "posh", "--output", tmp_path / "out"
    )
    assert code.startswith("compare.py: ")
    assert message in code
    assert "\n" not in code


def test_a_metric_and_a_data_file_go_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(monkeypatch, "a=a", "b=b", "--data", "rows.jsonl", "--output", tmp_path) == 2
    assert "--data needs --metric" in capsys.readouterr().err
    assert (
        compare(
            monkeypatch,
            *f"a=a b=b --recipe r.yaml --metric posh --output {tmp_path}".split(),
        )
        == 2
    )
    assert compare(monkeypatch, "a=a", "b=b", "--output", tmp_path) == 2


def test_ctrl_c_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("spanreward.training.commands.compare.run_comparison", interrupted)
    code = compare(monkeypatch, "a=a", "b=b", "--recipe", "r.yaml", "--output", tmp_path)
    assert code == 130
    assert re.fullmatch(
        rf"compare.py: interrupted; .* {tmp_path}/answers\.\n", capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("told", "differ"),
    [
        ({"reference": "A red dog and cat number 0."}, ""),
        (
            {
                "reference": ["A red dog and cat number 0."],
                "prompt": " <image>\n Describe  the picture.",
            },
            "",
        ),
        ({"prompt": None, "question": None, "reference": None, "level": 9}, ""),
        ({"prompt": [{"role": "user", "content": "Describe the picture."}]}, ""),
        ({"reference": "A blue dog and cat number 1."}, "reference"),
        ({"reference": ["A red dog and cat number 0.", "A dog."]}, "reference"),
        ({"prompt": "What is it?"}, "prompt"),
        ({"row_fingerprint": "0123456789abcdef"}, "row_fingerprint"),
    ],
    ids=str,
)
def test_an_answer_to_another_row_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: Any, differ: str
) -> None:
    """Lines in another order, of an earlier version of the data, or of other data with the same
    ids.
    """
    rows, good = data(tmp_path / "rows.jsonl", 2), answers(tmp_path / "good.jsonl", ["A.", "B."])
    lines = [
        {"id": "row 1", "completion": "B."},
        {"id": "row 0", "completion": "A.", **told},
        {"id": "row 9", **told},
    ]
    other = write(tmp_path / "other.jsonl", [{"completion": "C.", **line} for line in lines])
    arguments = ("--data", rows, "--metric", "posh", "--output", tmp_path / "out")
    code = compare(monkeypatch, f"one={good}", f"two={other}", *arguments)
    refused = rf"compare.py: {other} line 2 .* 'row 0': .* {differ}\."
    assert re.fullmatch(refused, code) if differ else code is None


def test_a_changed_input_is_another_comparison(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data, answers and settings decide it; the page's title does not."""
    rows, good = data(tmp_path / "rows.jsonl", 4), answers(tmp_path / "good.jsonl", ["A."] * 4)
    other = answers(tmp_path / "other.jsonl", ["B."] * 4)
    asked = f"one={good} two={other} --data {rows} --metric posh --output {tmp_path}/out".split()
    assert compare(monkeypatch, *asked) is None
    assert compare(monkeypatch, *asked, "--title", "Mine") is None
    before = (tmp_path / "out" / "results.json").read_bytes()
    for key, change in (
        (
            "data",
            lambda: write(rows, [{"id": f"row {n}", "reference": "A cat."} for n in range(4)]),
        ),
        ("versions", lambda: answers(other, ["C."] * 4)),
    ):
        kept = {path: path.read_bytes() for path in (rows, other)}
        change()
        told = compare(monkeypatch, *asked)
        assert told.startswith(f"compare.py: {tmp_path}/out was made with {{'{key}': ")
        for path, content in kept.items():
            path.write_bytes(content)
    assert "'seeds': [0]" in compare(monkeypatch, *asked, "--seeds", 5)
    assert (tmp_path / "out" / "results.json").read_bytes() == before
    assert compare(monkeypatch, *asked, "--seeds", 5, "--overwrite") is None


VQA = [
    {
        "id": f"row {n}",
        "question": f"What is number {n}?",
        "answers": ["a dog"],
        "reference": f"A red dog and cat {n}.",
    }
    for n in range(8)
]


def sides(folder: Path, count: int = 8) -> list[str]:
    texts = {"a": "A red dog.", "b": "A blue cat."}
    return [
        f"{name}={answers(folder / f'{name}.jsonl', [text] * count)}"
        for name, text in texts.items()
    ]


def test_several_metrics_with_their_own_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, asked = (
        write(tmp_path / "rows.jsonl", VQA),
        ["--output", tmp_path / "out", "--metric", "posh"],
    )
    own = ["--set", "posh.mode=published", "--set", "lave.rationale=false", "judge.coref=none"]
    data = ["--data", rows, "--metric", "lave", "--judge", "match"]
    assert compare(monkeypatch, *sides(tmp_path), *asked, *data, *own) is None
    made = json.loads((tmp_path / "out" / "comparison.settings.json").read_text())["metrics"]
    judge = {"name": "match", "cache": False, "options": {"coref": "none"}, "cascade": None}
    assert made == [
        {"metric": "posh", "judge": judge, "options": {"mode": "published"}, "weight": 1.0},
        {"metric": "lave", "judge": judge, "options": {"rationale": False}, "weight": 1.0},
    ]
    results = results_of(tmp_path / "out")
    assert {"posh_f1", "lave_rating"} <= results["referees"].keys() or {"posh_f1"} <= results[
        "referees"
    ].keys()
    assert results["title"] == "Which model is better?"
    assert (
        "What is number"
        in (tmp_path / "out" / "report.html").read_text().partition('class="three"')[2][:4000]
    )


def test_an_option_without_a_metric_is_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = write(tmp_path / "rows.jsonl", VQA)
    asked = ["--data", rows, "--metric", "posh", "--metric", "lave", "--output", tmp_path / "out"]
    assert compare(monkeypatch, *sides(tmp_path), *asked, "--set", "mode=published") is None
    made = json.loads((tmp_path / "out" / "comparison.settings.json").read_text())["metrics"]
    assert [metric["options"] for metric in made] == [{"mode": "published"}] * 2


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            ["--set", "harmonic.gamma=1"],
            "unknown metric of --set 'harmonic.gamma'",
        ),
        (["--set", "mod=published"], "unknown option of posh 'mod'"),
        (["--set", "mode"], "an option is written key=value"),
        (
            ["--set", "judge.coreff=none"],
            "unknown option of the judge",
        ),
        (
            ["--max-tokens", 5],
            "--max-tokens is for models",
        ),
        (["--limit", 0], "--limit is above 0"),
        (
            ["--columns", "reference"],
            "--columns is written OURS=THEIRS",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_obeyed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: Any, message: str
) -> None:
    rows = write(tmp_path / "rows.jsonl", VQA)
    asked = ["--data", rows, "--metric", "posh", "--output", tmp_path / "out"]
    assert compare(monkeypatch, *sides(tmp_path), *asked, *more).startswith(
        f"compare.py: {message}"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "more", [["--judge", "match"], ["--set", "judge.a=1"], ["--columns", "a=b"]], ids=str
)
def test_what_a_recipe_has_of_its_own_is_refused_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], more: Any
) -> None:
    assert (
        compare(monkeypatch, "a=a", "b=b", "--recipe", "r.yaml", "--output", tmp_path, *more) == 2
    )
    flag = "--set judge.KEY" if more[0] == "--set" else more[0]
    assert f"{flag} goes with --data" in capsys.readouterr().err


def test_a_metric_that_asks_nobody_takes_no_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = write(tmp_path / "rows.jsonl", VQA)
    (tmp_path / "own.py").write_text(OWN.format(folder=str(tmp_path)))
    asked = f"--data {rows} --metric {tmp_path}/own.py:LongReward --output {tmp_path}/out".split()
    told = compare(monkeypatch, *sides(tmp_path), *asked, "--judge", "server:http://a/v1#b")
    assert told.startswith("compare.py: long asks no judge")


def test_match_is_said_to_be_no_published_metric(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = data(tmp_path / "rows.jsonl", 24)
    references = [json.loads(line)["reference"] for line in rows.read_text().splitlines()]
    files = {"poor": ["A tree."] * 24, "good": references}
    models = [
        f"{name}={answers(tmp_path / f'{name}.jsonl', texts)}" for name, texts in files.items()
    ]
    asked = ["--data", rows, "--metric", "posh", "--output", tmp_path / "out"]
    assert compare(monkeypatch, *models, *asked) is None
    results = results_of(tmp_path / "out")
    told = r"good is better than poor by PoSh F1 and overlap \(.* no published metric\)\."
    assert re.fullmatch(told, results["headlines"]["good_minus_poor"])
    assert "no published metric)" in results["sentences"]["good_minus_poor"]
    assert results["title"] == "Which model is better?"


FAILED = {
    "litellm.RateLimitError: Error code: 429 - slow down": "named like an exception",
    "Failed to obtain answer via API.": "one text for 8 rows that differ",
    "$ERROR$": "named like an exception",
    "nan": "in place of no value",
    '{"error": {"message": "overloaded"}}': "an object with the key error",
}


@pytest.mark.parametrize("failure", FAILED)
def test_failures_of_an_api_are_no_answers(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    failure: str,
) -> None:
    """A third of the rows of a perfect model: no verdict, until these rows are dropped."""
    rows = data(tmp_path / "rows.jsonl", 24)
    lines = [json.loads(line) for line in rows.read_text().splitlines()]
    references = [line["reference"] for line in lines]
    mixed = [failure if number % 3 == 0 else text for number, text in enumerate(references)]
    close = [text.replace("dog", "hound") for text in references]
    models = [
        f"plain={answers(tmp_path / 'plain.jsonl', close)}",
        f"api={answers(tmp_path / 'api.jsonl', mixed)}",
    ]
    asked = ["--metric", "posh", "--slice", "level", "--output"]
    assert compare(monkeypatch, *models, "--data", rows, *asked, tmp_path / "out", "--strict") == 2
    results = results_of(tmp_path / "out")
    for text in (results["sentences"]["api_minus_plain"], results["headlines"]["api_minus_plain"]):
        assert re.match("api against plain: .* of api, 8 of 24 answers", text)
        assert FAILED[failure] in text
        assert "(8, such as row 'row 0': " in text
        assert not {"better", "worse", "higher", "lower"} & set(text.replace(",", "").split())
    assert "Ask these rows again" in results["sentences"]["api_minus_plain"]
    outcomes = [*results["difference"]["api_minus_plain"].values()]
    outcomes += results["slices"]["api_minus_plain"]
    assert {(one["verdict"], one["over_prompts"]) for one in outcomes} == {
        ("undecided", "undecided")
    }
    found = results["no_answers"]["api"]
    assert found["answers"] == 24
    assert [one["text"] for one in found["found"]] == [failure]
    assert found["found"][0]["rows"] == [f"row {number}" for number in range(0, 24, 3)]
    assert {row["model"]: row["rank"] for row in results["leaderboard"]["rows"]}["api"] is None
    printed = capsys.readouterr().out
    assert "WARNING: api: 8 of 24 answers" in printed
    page = (tmp_path / "out" / "report.html").read_text()
    assert "the verdict waits" in page

    kept = [line for number, line in enumerate(lines) if number % 3]
    fewer = write(tmp_path / "fewer.jsonl", kept)
    assert compare(monkeypatch, *models, "--data", fewer, *asked, tmp_path / "fewer") is None
    results = results_of(tmp_path / "fewer")
    assert results["difference"]["api_minus_plain"]["overlap"]["verdict"] == "better"
    assert "no_answers" not in results


def test_a_difference_in_markup_is_not_taken_for_one_in_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = data(tmp_path / "rows.jsonl", 12)
    references = [json.loads(line)["reference"] for line in rows.read_text().splitlines()]
    bold = [f"<b>{text}</b></s>" for text in references]
    models = [
        f"plain={answers(tmp_path / 'plain.jsonl', references)}",
        f"bold={answers(tmp_path / 'bold.jsonl', bold)}",
    ]
    out = tmp_path / "out"
    asked = ["--data", rows, "--metric", "posh", "--output", out, "--strict"]
    compare(monkeypatch, *models, *asked)
    results = results_of(out)
    characters = sum(map(len, references))
    assert results["not_read"]["plain"] == {"characters": characters, "unread": {}}
    found = results["not_read"]["bold"]
    assert (found["characters"], sum(found["unread"].values())) == (characters + 132, 132)
    assert results["difference"]["bold_minus_plain"]["posh_f1"]["mean"] == 0
    (note,) = [note for note in results["notes"] if "not read" in note]
    assert note.startswith(f"bold: not read: 132 of {characters + 132} characters: HTML 84, ")
    page = (out / "report.html").read_text()
    assert f"0 of {characters} characters" in page
    assert 'title="not read: HTML">&lt;b&gt;</s>' in page


def sampled(path: Path, *passes: Any) -> Path:
    """Writes a file with several answers to each row, one of each of these."""
    lines = []
    for texts in passes:
        for number, text in enumerate(texts):
            lines.append({"id": f"row {number}", "completion": text})
    return write(path, lines)


def test_several_answers_of_a_prompt_count_by_their_mean_and_their_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = data(tmp_path / "rows.jsonl", 8)
    right = [json.loads(line)["reference"] for line in rows.read_text().splitlines()]
    wrong = ["A tree."] * 8
    models = [
        f"wrong={sampled(tmp_path / 'wrong.jsonl', wrong, wrong)}",
        f"half={sampled(tmp_path / 'half.jsonl', right, wrong)}",
    ]
    asked = ["--data", rows, "--metric", "posh", "--output", tmp_path / "out"]
    assert compare(monkeypatch, *models, *asked) is None
    results = results_of(tmp_path / "out")
    low = results["models"]["wrong"]["posh_f1"]["mean"]
    half = results["models"]["half"]
    assert half["posh_f1"]["mean"] == pytest.approx((1 + low) / 2)
    assert half["posh_f1_best"]["mean"] == pytest.approx(1)
    # prompts are counted, and not their samples
    assert half["posh_f1"]["counted"] == 8
    entry = results["difference"]["half_minus_wrong"]["posh_f1"]
    assert entry["mean"] == pytest.approx((1 - low) / 2)
    assert any("(2 of wrong, 2 of half)" in note for note in results["notes"])
    lines = [
        json.loads(line)
        for line in (tmp_path / "out" / "completions.jsonl").read_text().splitlines()
    ]
    assert len(lines) == 2 * 8 * 2
    of_row = [
        (line["sample"], line["completion"], line["scores"]["posh_f1"])
        for line in lines
        if (line["model"], line["id"]) == ("half", "row 3")
    ]
    assert of_row == [(1, right[3], pytest.approx(1)), (2, "A tree.", pytest.approx(low))]
    assert "several sampled answers" in (tmp_path / "out" / "report.html").read_text()


def test_no_best_is_told_where_a_side_has_more_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = data(tmp_path / "rows.jsonl", 3)
    models = [
        f"one={answers(tmp_path / 'one.jsonl', ['A tree.'] * 3)}",
        f"two={sampled(tmp_path / 'two.jsonl', ['A tree.'] * 3, ['A red dog.'] * 3)}",
    ]
    asked = ["--data", rows, "--metric", "posh", "--output", tmp_path / "out"]
    assert compare(monkeypatch, *models, *asked) is None
    results = results_of(tmp_path / "out")
    assert "posh_f1_best" not in results["models"]["two"]
    assert any("grows with their number" in note for note in results["notes"])
