"""`spanreward compare` on files of answers: rankings, lengths, failures, and bad input."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from spanreward.rewards.judges.judge import HARMLESS_QUESTION
from tests.support.comparing import compare, page_of, results_of
from tests.support.files import read_lines, write_lines

OWN = '''
"""A metric of length, and a judge that raises for one row until there is a file `alive`."""
import json
from pathlib import Path

from spanreward import Judge, Rating, Reward, Verdict


class LongReward(Reward):
    def assess(self, samples):
        return [Verdict(min(len(sample.completion.split()) / 100, 1.0)) for sample in samples]


class DyingJudge(Judge):
    name = "dying"

    def rate(self, questions, scale=("1", "2", "3", "4", "5")):
        asked = [question.messages[-1]["content"] for question in questions]
        if any("number 70" in text for text in asked) and not Path("alive").exists():
            raise RuntimeError("the engine is gone")
        with Path("asked.jsonl").open("a") as file:
            file.writelines(json.dumps(text) + "\\n" for text in asked)
        return [Rating({entry: float(entry == "5") for entry in scale}) for _ in questions]
'''
ROWS = ("--data", "rows.jsonl", "--output", "out")
POSH = (*ROWS, "--metric", "posh")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(OWN)
    return tmp_path


def data(count: int) -> list[str]:
    """Writes rows.jsonl, and returns the references."""
    colours = ("red", "blue", "green", "black")
    references = [f"A {colours[n % 4]} dog and cat number {n}." for n in range(count)]
    rows = []
    for n, text in enumerate(references):
        rows.append({"id": f"row {n}", "reference": text, "level": 1 + n % 2})
    write_lines("rows.jsonl", rows)
    return references


def questions() -> None:
    asked = {"answers": ["a dog"], "reference": "A red dog and cat."}
    rows = [{"id": f"row {n}", "question": f"What is number {n}?", **asked} for n in range(8)]
    write_lines("rows.jsonl", rows)


def sides(count: int, **answers: str | Sequence[str]) -> list[str]:
    """Writes each side's answers, of which a text answers every row, and names their files."""
    for name, given in answers.items():
        texts = [given] * count if isinstance(given, str) else given
        lines = [{"id": f"row {n % count}", "completion": text} for n, text in enumerate(texts)]
        write_lines(f"{name}.jsonl", lines)
    return [f"{name}={name}.jsonl" for name in answers]


def test_a_ranking_needs_only_answers_a_data_file_and_a_metric(
    capsys: pytest.CaptureFixture[str],
) -> None:
    right = data(24)
    models = sides(24, poor="A tree.", good=right, same=right)
    assert compare(*models, *POSH, "--judge", "match", "--slice", "level") is None
    results = results_of("out")
    assert results["leaderboard"]["metric"] == "posh_f1"
    ranks = {row["model"]: (row["rank"], row["tied"]) for row in results["leaderboard"]["rows"]}
    assert ranks == {"good": (1, ["same"]), "same": (1, ["good"]), "poor": (3, [])}
    assert results["referees"]["posh_f1"]["kind"] == "unknown"
    assert results["referees"]["overlap"] == {"kind": "judgeless", "by": ANY, "main": True}
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
    assert results["title"] == "Which model is better?"
    told = r"good is better than poor by PoSh F1 and overlap \(.* no published metric\)\."
    assert re.fullmatch(told, results["headlines"]["good_minus_poor"])
    assert "no published metric)" in results["sentences"]["good_minus_poor"]
    printed = capsys.readouterr().out
    # a sentence on each pair, a note, where the rest is, the warnings
    assert len(printed.splitlines()) == 3 + 1 + 2 + 2
    assert re.search(r"good against poor: .*PoSh F1 \+", printed)
    assert "a judge that" not in printed  # nobody was trained here
    page = page_of("out")
    assert page.index("same against good") < page.index("Ranking by PoSh F1")
    assert "Is it length?" in page


def test_a_comparison_whose_judge_raises_goes_on_and_asks_nothing_twice(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data(80)  # two batches
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setattr(
        "spanreward.rewards.judges.cache.cached_judge.CACHE_FOLDER", folder / "cache"
    )
    texts = {}
    for name, animal in (("one", "dog"), ("two", "cat")):
        texts[name] = [f"A {animal} number {n}." for n in range(80)]
    asked = (*sides(80, **texts), *POSH, "--judge", "own.py:DyingJudge", "--cache")
    assert compare(*asked) is None
    died = results_of("out")
    # the row for which it raises, and none beside it
    assert [died["models"][name]["posh_f1"]["failed"] for name in texts] == [1, 1]
    entry = died["difference"]["two_minus_one"]["posh_f1"]
    assert (entry["failed"], entry["counted"]) == (1, 79)
    assert entry["win"] + entry["tie"] + entry["loss"] == 79
    rest = 79 / 80 * entry["mean"]
    assert entry["worst_case"] == pytest.approx([rest - 1 / 80, rest + 1 / 80])
    assert "1 pair not judged" in page_of("out")
    Path("alive").touch()
    assert compare(*asked) is None
    whole = results_of("out")
    assert [whole["models"][name]["posh_f1"]["failed"] for name in texts] == [0, 0]
    lines = read_lines("asked.jsonl")
    harmless = HARMLESS_QUESTION.messages[-1]["content"]
    put = [line for line in lines if line != harmless]
    assert len(put) == len(set(put)) > 160
    assert compare(*asked) is None
    assert read_lines("asked.jsonl") == lines


def test_one_prompt_is_undecided() -> None:
    data(1)
    assert compare(*sides(1, a="A tree.", b="A red dog."), *POSH) is None
    found = results_of("out")["difference"]["b_minus_a"]
    assert {entry["verdict"] for entry in found.values()} == {"undecided"}


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ([("row 0", {}), ("row 0", {}), ("row 1", {})], "2 answers to the row 'row 0' and 1 to"),
        ([("row 1", {}), ("row 0", {"prompt": "What is it?"})], "line 2 .* 'row 0': .* prompt"),
    ],
)
def test_a_file_that_does_not_answer_the_rows_is_refused(answers: Any, told: str) -> None:
    """Before any work. Answers that do not fit their rows are in test_same_row.py."""
    data(2)
    models = sides(2, a="A.", b="B.")
    write_lines("a.jsonl", [{"id": name, "completion": "A.", **more} for name, more in answers])
    assert re.fullmatch(rf"compare.py: a.jsonl .*{told}.*\.", compare(*models, *POSH))
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--data rows.jsonl", "--data needs --metric"),
        ("--recipe r.yaml --metric posh", ""),
        ("", ""),
        ("--recipe r.yaml --judge match", "--judge goes with --data"),
        ("--recipe r.yaml --set judge.a=1", "--set judge.KEY goes with --data"),
        ("--recipe r.yaml --columns a=b", "--columns goes with --data"),
    ],
)
def test_a_file_of_rows_and_a_recipe_have_flags_of_their_own(
    words: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare("a=a", "b=b", "--output", "out", *words.split()) == 2
    assert told in capsys.readouterr().err


def test_ctrl_c_says_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("spanreward.training.commands.compare.run_comparison", interrupted)
    assert compare("a=a", "b=b", "--recipe", "r.yaml", "--output", "out") == 130
    assert re.fullmatch(r"compare.py: interrupted; .* out/answers\.\n", capsys.readouterr().err)


def test_a_changed_input_is_another_comparison() -> None:
    """Data, answers and settings decide it; the page's title does not."""
    data(4)
    asked = (*sides(4, one="A.", two="B."), *POSH)
    assert compare(*asked) is None
    assert compare(*asked, "--title", "Mine") is None
    before = Path("out/results.json").read_bytes()
    cats = [{"id": f"row {n}", "reference": "A cat."} for n in range(4)]
    others = [{"id": f"row {n}", "completion": "C."} for n in range(4)]
    for name, key, lines in (("rows", "data", cats), ("two", "versions", others)):
        path = Path(f"{name}.jsonl")
        kept = path.read_bytes()
        write_lines(path, lines)
        assert compare(*asked).startswith(f"compare.py: out was made with {{'{key}': ")
        path.write_bytes(kept)
    assert "'seeds': [0]" in compare(*asked, "--seeds", 5)
    assert Path("out/results.json").read_bytes() == before
    assert compare(*asked, "--seeds", 5, "--overwrite") is None


@pytest.mark.parametrize(
    ("given", "of_judge", "of_metrics"),
    [
        (
            "posh.mode=published --set lave.rationale=false judge.coref=none",
            {"coref": "none"},
            ({"mode": "published"}, {"rationale": False}),
        ),
        ("mode=published", {}, ({"mode": "published"}, {"mode": "published"})),  # for all
    ],
)
def test_several_metrics_with_their_own_options(
    given: str, of_judge: Any, of_metrics: tuple[Any, Any]
) -> None:
    questions()
    words = (*POSH, "--metric", "lave", "--judge", "match", "--set", *given.split())
    assert compare(*sides(8, a="A red dog.", b="A blue cat."), *words) is None
    judge = {"name": "match", "cache": False, "options": of_judge, "cascade": None}
    made = json.loads(Path("out/comparison.settings.json").read_text())["metrics"]
    posh, lave = ({"judge": judge, "options": options, "weight": 1.0} for options in of_metrics)
    assert made == [{"metric": "posh", **posh}, {"metric": "lave", **lave}]
    assert "posh_f1" in results_of("out")["referees"]
    assert "What is number" in page_of("out").partition('class="three"')[2][:4000]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("--set harmonic.gamma=1", "unknown metric of --set 'harmonic.gamma'"),
        ("--set mode", "an option is written key=value"),
        ("--set judge.coreff=none", "unknown option of the judge"),
        ("--max-tokens 5", "--max-tokens is for models"),
        ("--metric own.py:LongReward --judge server:http://a/v1#b", "long asks no judge"),
        ("--metric criteria", "criteria needs the dataset column 'criteria'"),
    ],
)
def test_what_cannot_be_obeyed_is_refused(more: str, message: str) -> None:
    questions()
    words = more if "--metric" in more else f"--metric posh {more}"
    told = compare(*sides(8, a="A red dog.", b="A blue cat."), *ROWS, *words.split())
    assert told.startswith(f"compare.py: {message}")
    assert not Path("out").exists()


def test_failures_of_an_api_are_no_answers(capsys: pytest.CaptureFixture[str]) -> None:
    """A third of the rows of a perfect model: no verdict, until these rows are dropped."""
    failure = "litellm.RateLimitError: Error code: 429 - slow down"
    right = data(24)
    mixed = [failure if number % 3 == 0 else text for number, text in enumerate(right)]
    close = [text.replace("dog", "hound") for text in right]
    asked = (*sides(24, plain=close, api=mixed), "--metric", "posh", "--slice", "level")
    assert compare(*asked, *ROWS, "--strict") == 2
    results = results_of("out")
    for text in (results["sentences"]["api_minus_plain"], results["headlines"]["api_minus_plain"]):
        assert re.match("api against plain: .* of api, 8 of 24 answers", text)
        assert "named like an exception" in text
        assert "(8, such as row 'row 0': " in text
        assert not {"better", "worse", "higher", "lower"} & set(text.replace(",", "").split())
    assert "Ask these rows again" in results["sentences"]["api_minus_plain"]
    outcomes = [*results["difference"]["api_minus_plain"].values()]
    outcomes += results["slices"]["api_minus_plain"]
    verdicts = {(one["verdict"], one["over_prompts"]) for one in outcomes}
    assert verdicts == {("undecided", "undecided")}
    found = results["no_answers"]["api"]
    assert found["answers"] == 24
    assert [one["text"] for one in found["found"]] == [failure]
    assert found["found"][0]["rows"] == [f"row {number}" for number in range(0, 24, 3)]
    assert {row["model"]: row["rank"] for row in results["leaderboard"]["rows"]}["api"] is None
    assert "WARNING: api: 8 of 24 answers" in capsys.readouterr().out
    assert "the verdict waits" in page_of("out")

    lines = read_lines("rows.jsonl")
    write_lines("fewer.jsonl", [line for number, line in enumerate(lines) if number % 3])
    assert compare(*asked, "--data", "fewer.jsonl", "--output", "fewer") is None
    results = results_of("fewer")
    assert results["difference"]["api_minus_plain"]["overlap"]["verdict"] == "better"
    assert "no_answers" not in results


def test_a_difference_in_markup_is_not_taken_for_one_in_content() -> None:
    plain = data(12)
    bold = [f"<b>{text}</b></s>" for text in plain]
    compare(*sides(12, plain=plain, bold=bold), *POSH, "--strict")
    results = results_of("out")
    characters = sum(map(len, plain))
    assert results["not_read"]["plain"] == {"characters": characters, "unread": {}}
    found = results["not_read"]["bold"]
    assert (found["characters"], sum(found["unread"].values())) == (characters + 132, 132)
    assert results["difference"]["bold_minus_plain"]["posh_f1"]["mean"] == 0
    (note,) = [note for note in results["notes"] if "not read" in note]
    assert note.startswith(f"bold: not read: 132 of {characters + 132} characters: HTML 84, ")
    page = page_of("out")
    assert f"0 of {characters} characters" in page
    assert 'title="not read: HTML">&lt;b&gt;</s>' in page


def test_several_answers_of_a_prompt_count_by_their_mean_and_their_best() -> None:
    right, wrong = data(8), ["A tree."] * 8
    assert compare(*sides(8, wrong=wrong + wrong, half=right + wrong), *POSH) is None
    results = results_of("out")
    low = results["models"]["wrong"]["posh_f1"]["mean"]
    half = results["models"]["half"]
    assert half["posh_f1"]["mean"] == pytest.approx((1 + low) / 2)
    assert half["posh_f1_best"]["mean"] == pytest.approx(1)
    # prompts are counted, and not their samples
    assert half["posh_f1"]["counted"] == 8
    entry = results["difference"]["half_minus_wrong"]["posh_f1"]
    assert entry["mean"] == pytest.approx((1 - low) / 2)
    assert any("(2 of wrong, 2 of half)" in note for note in results["notes"])
    lines = read_lines("out/completions.jsonl")
    assert len(lines) == 2 * 8 * 2
    of_row = [line for line in lines if (line["model"], line["id"]) == ("half", "row 3")]
    texts = [(line["sample"], line["completion"]) for line in of_row]
    assert texts == [(1, right[3]), (2, "A tree.")]
    assert [line["scores"]["posh_f1"] for line in of_row] == pytest.approx([1, low])
    assert "several sampled answers" in page_of("out")


def test_no_best_is_told_where_a_side_has_more_samples() -> None:
    data(3)
    two = ["A tree."] * 3 + ["A red dog."] * 3
    assert compare(*sides(3, one="A tree.", two=two), *POSH) is None
    results = results_of("out")
    assert "posh_f1_best" not in results["models"]["two"]
    assert any("grows with their number" in note for note in results["notes"])
