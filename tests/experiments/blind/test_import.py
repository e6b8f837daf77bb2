"""People's answers: the same from every form of file, by hand, and files that were edited."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments.blind.answers import read_answers, read_key
from experiments.blind.comparison import read_answered
from experiments.blind.export import export, key_of
from experiments.blind.results import measure
from tests.support.blind import IDS, comparison, filled, label_studio, lines
from tests.support.command import experiments
from tests.support.experiment_numbers import measured

SIDES = ("dapo", "sft")


def two(name: str, seed: int) -> tuple[str, str]:
    return f"dapo of {name}", f"sft of {name}"


def lengths(name: str, seed: int) -> tuple[dict[str, float | None], dict[str, float | None]]:
    """Metrics: one prefers dapo in six rows, one never decides, one fails."""
    better = name in IDS[:6]
    sft: dict[str, float | None] = {"good": float(not better), "same": 1.0, "dead": 1.0}
    return {"good": float(better), "same": 1.0, "dead": None}, sft


def likes_dapo(text1: str, text2: str, question: str) -> int:
    """dapo is much better in the first six rows, but for omissions; sft slightly in the others."""
    name = text1.split(" of ")[1]
    level = (2 if question != "omissions" else 0) if name in IDS[:6] else -1
    return level if text1.startswith("dapo") else -level


def exported(tmp_path: Path, count: int = 8) -> tuple[Path, Path]:
    folder = comparison(tmp_path / "comparison", two, lengths)
    export(folder, SIDES, count, tmp_path / "blind")
    return folder, tmp_path / "blind"


def test_the_same_answers_from_every_form_of_file(tmp_path: Path) -> None:
    _, output = exported(tmp_path)
    key = read_key(key_of(output))
    rows = filled(output, likes_dapo)
    minimal = [{**row, "annotator": row["rater"]} for row in rows]
    for row in minimal:
        del row["rater"]
    answers, told = read_answers(lines(tmp_path / "plain.jsonl", rows), key)
    for form in (label_studio(rows), minimal):
        (tmp_path / "studio.json").write_text(json.dumps(form))
        assert read_answers(tmp_path / "studio.json", key) == (answers, told)
    assert told == []
    assert len(answers) == 3 * 16
    assert {answer.preference for answer in answers if answer.prompt == IDS[0]} == {2, 0}


def test_measured_by_hand(tmp_path: Path) -> None:
    folder, output = exported(tmp_path)
    path = lines(tmp_path / "a.jsonl", filled(output, likes_dapo))
    answers, _ = read_answers(path, read_key(key_of(output)))
    results = measure(answers, read_answered(folder, SIDES))
    overall = results["questions"]["overall"]
    assert overall["preference"] == pytest.approx((6 * 2 - 2) / 8)
    assert overall["interval"]["low"] < 1.25 < overall["interval"]["high"]
    assert (overall["win_rate"], overall["prompts"]) == (0.75, 8)
    assert (overall["answers"], overall["raters"]) == (16, 1)
    counts = {name: count for name, count in overall["counts"].items() if count}
    assert counts == {"much_better": 12, "slightly_worse": 4}
    assert (overall["orders_agree"], overall["first_slot"], overall["alpha"]) == (1.0, 0.5, None)
    assert results["questions"]["omissions"]["preference"] == pytest.approx(-0.25)
    good = results["metrics"]["good"]
    wanted = {"with_ties": 1.0, "without_ties": 1.0, "spearman": pytest.approx(1.0), "pairs": 8}
    assert good["agreement"]["overall"] == wanted
    assert good["agreement"]["omissions"]["with_ties"] == 0.25
    assert good["win_rate"] == 0.75
    assert good["note"].startswith("a correction needs 3")
    same, dead = results["metrics"]["same"], results["metrics"]["dead"]
    assert same["agreement"]["overall"]["with_ties"] == 0.0
    assert same["agreement"]["overall"]["spearman"] is None
    assert (dead["failed"], dead["win_rate"], dead["agreement"]["overall"]["pairs"]) == (8, None, 0)


def test_a_rater_who_chooses_a_slot_prefers_nobody(tmp_path: Path) -> None:
    folder, output = exported(tmp_path)
    rows = filled(output, lambda text1, text2, question: 1)
    answers, _ = read_answers(lines(tmp_path / "a.jsonl", rows), read_key(key_of(output)))
    overall = measure(answers, read_answered(folder, SIDES))["questions"]["overall"]
    assert (overall["preference"], overall["win_rate"]) == (0.0, 0.5)
    assert (overall["orders_agree"], overall["first_slot"]) == (0.0, 1.0)


@pytest.mark.parametrize("agree", [True, False])
def test_two_raters_who_agree_and_who_do_not(tmp_path: Path, agree: bool) -> None:
    folder, output = exported(tmp_path)
    rows = filled(output, likes_dapo)
    rows += filled(output, lambda *one: likes_dapo(*one) * (1 if agree else -1), "bob")
    answers, _ = read_answers(lines(tmp_path / "a.jsonl", rows), read_key(key_of(output)))
    overall = measure(answers, read_answered(folder, SIDES))["questions"]["overall"]
    assert overall["raters"] == 2
    assert overall["alpha"] == pytest.approx(1.0) if agree else overall["alpha"] < 0


def test_a_win_rate_is_corrected_by_people(tmp_path: Path) -> None:
    """Three hundred prompts, of a sixth of which both wrote the same. The metric always says dapo,
    people prefer it in 60 % of the others: the metric alone says .92, with people it is .5 + 5/6 *
    .1."""
    generator = random.Random(0)
    ids = [f"row {number}" for number in range(300)]
    liked = {name: generator.random() < 0.6 for name in ids}

    def texts(name: str, seed: int) -> tuple[str, str]:
        return ("alike", "alike") if ids.index(name) % 6 == 0 else two(name, seed)

    def scores(name: str, seed: int) -> tuple[dict[str, float | None], dict[str, float | None]]:
        one = float(ids.index(name) % 6 != 0)
        return {"judge": one}, {"judge": 0.0}

    def says(text1: str, text2: str, question: str) -> int:
        better = text1.startswith("dapo") == liked[text1.split(" of ")[1]]
        return 1 if better else -1

    folder = comparison(tmp_path / "comparison", texts, scores, ids)
    output = tmp_path / "blind"
    export(folder, SIDES, 100, output, texts_only=True)
    path = lines(tmp_path / "a.jsonl", filled(output, says))
    answers, _ = read_answers(path, read_key(key_of(output)))
    judge = measure(answers, read_answered(folder, SIDES))["metrics"]["judge"]
    true = (sum(liked[name] for name in ids if ids.index(name) % 6) + 25) / 300
    assert judge["win_rate"] == pytest.approx(11 / 12)
    assert judge["interval"]["low"] > true
    assert judge["corrected_interval"]["low"] < true < judge["corrected_interval"]["high"]
    assert judge["corrected"] == pytest.approx(true, abs=0.08)


def edit(rows: list[dict[str, Any]], **changes: Any) -> list[dict[str, Any]]:
    return [{**rows[0], **changes}, *rows[1:]]


Rows = list[dict[str, Any]]
EDITS: dict[str, Callable[[Rows], Rows]] = {
    "line 1: .* no pair 'abc'": lambda rows: edit(rows, pair="abc"),
    "line 1: overall is answered '3 is better'": lambda rows: edit(rows, overall="3 is better"),
    "line 1: mistakes is answered 2": lambda rows: edit(rows, mistakes=2),
    "line 1: text 1": lambda rows: edit(rows, text1="something else"),
    "line 17: rater 'ann'": lambda rows: [*rows, rows[0]],
}


@pytest.mark.parametrize("sentence", EDITS)
def test_a_file_edited_by_hand_is_one_sentence(tmp_path: Path, sentence: str) -> None:
    _, output = exported(tmp_path)
    path = lines(tmp_path / "a.jsonl", EDITS[sentence](filled(output, likes_dapo)))
    done = experiments("blind", "import", path, "--key", key_of(output))
    assert done.code == 1
    assert re.search(sentence, done.err)
    assert done.err.count("\n") == 1


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    _, output = exported(tmp_path)
    rows = edit(filled(output, likes_dapo), omissions="", overall=" 2 IS  much better")[:-3]
    rows.append({**rows[1], "rater": "bob", "mistakes": None, "omissions": None, "overall": None})
    answers, told = read_answers(lines(tmp_path / "a.jsonl", rows), read_key(key_of(output)))
    for sentence, words in zip(told, ("3 of 16 ", "1 rows are ", "1 of 13 rows"), strict=True):
        assert sentence.startswith(words)
    assert len(answers) == 3 * 13 - 1


def test_the_command_from_export_to_numbers(tmp_path: Path) -> None:
    folder = comparison(tmp_path / "comparison", two, lengths)
    output = tmp_path / "blind"
    words = f"blind export {folder} --sides dapo sft --count 9 --output {output}".split()
    done = experiments(*words)
    assert done.code == 0, done.err
    assert "16 tasks, 8 pairs mirrored" in done.out
    assert "no 9 pairs" in done.out
    path = lines(tmp_path / "a.jsonl", filled(output, likes_dapo))
    words = ["blind", "import", str(path), "--key", str(key_of(output))]
    out, written = measured(tmp_path, *words)
    assert "1.25" in out
    assert written["questions"]["overall"]["preference"] == 1.25
    folder.rename(tmp_path / "moved")
    assert experiments(*words).code == 1
    assert experiments(*words, "--comparison", tmp_path / "moved").code == 0
