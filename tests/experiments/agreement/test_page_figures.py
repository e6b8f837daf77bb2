"""A page of docs/evidence has the figures that its command gives today, to the digit."""

import re
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from experiments.hacking import held_out
from tests.support.command import experiments
from tests.support.experiment_numbers import measured
from tests.support.paths import DATA, ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not DATA.is_dir(),
        reason="people's judgments are not beside the repository (../shared/data)",
    ),
]
LINES = re.compile(r"│ (.+?) +│ (0\.\d{3}) +│$", re.MULTILINE)
MINUS = "\N{MINUS SIGN}"


def page(name: str) -> str:
    """The page in one line, with white space as single spaces."""
    return " ".join((ROOT / "docs" / "evidence" / name).read_text(encoding="utf-8").split())


def numbers_of(tmp_path: Path, *words: str) -> Any:
    """What `python -m experiments agreement` writes."""
    kind, *options = words
    return measured(tmp_path, "agreement", kind, DATA, *options)[1]


def short(value: float) -> str:
    """Without the zero, and with a true minus sign."""
    return f"{value:.3f}".replace("0.", ".").replace("-", MINUS)


def within(row: Mapping[str, Any], value: str) -> str:
    """A value with its interval: .477 [.441, .512]."""
    low, high = row["interval"]["low"], row["interval"]["high"]
    return f"{short(row[value])} [{short(low)}, {short(high)}]"


def test_the_lists_of_answers_get_what_the_page_says() -> None:
    done = experiments("agreement", "lists", DATA)
    assert done.code == 0, done.err
    found = LINES.findall(done.out.partition("Right answers")[0])
    of = {text: value.removeprefix("0") for text, value in found}
    restated = "the question, and A on B with C by D"
    pairs = ("It is A, B.", "It is A or B.", "What is shown there is A, B.")
    two = {text: of[text] for text in pairs}
    others = {*two, "the right choice", "a random choice", restated}
    four = [price for text, price in of.items() if text not in others]
    assert (
        f"A-OKVQA's right choice gets {of['the right choice']}, a random one "
        f"{of['a random choice']}, lists of all four choices {min(four)} to {max(four)}, lists of "
        f"two {min(two.values())} to {max(two.values())}."
    ) in page("filler.md")


def test_frames_that_nobody_tuned_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["held_out"])
    held_out.main()
    pattern = r"(\d+) of (\d+) frames .*; the truth pays \+0(\.\d+)"
    said = re.search(pattern, capsys.readouterr().out)
    assert said is not None
    for told in (
        f"On terse texts **{said[1]} of {said[2]}** pay more than .02",
        f"the truth pays {said[3]}. Those left",
        f"- With `match` {said[1]} of {said[2]} frames that were never tuned on pay",
    ):
        assert told in page("filler.md")


def test_harmonic_on_thumb(tmp_path: Path) -> None:
    rows = numbers_of(tmp_path, "people", "--metric", "harmonic")
    of = {row["measure"]: row for row in rows if row["note"] == "all captions"}

    def pair(what: str) -> str:
        return f"{short(of[f'{what}, Pearson']['ours'])} / {short(of[f'{what}, tau-c']['ours'])}"

    def floor(what: str) -> str:
        return short(of[f"{what}, Pearson"]["floor"])

    total, right, whole = "overall ~ human_score", "correctness ~ P", "completeness ~ R"
    assert (
        f"`match` has {pair(total)} with people's total (bag of words {floor(total)}), correctness "
        f"{pair(right)} with P ({floor(right)}), completeness {pair(whole)} with R ({floor(whole)})"
    ) in page("agreement.md")


def test_words_and_spans(tmp_path: Path) -> None:
    rows = {row["measure"]: row for row in numbers_of(tmp_path, "people", "--judge", "match")}

    def cells(measure: str) -> str:
        row = rows[measure]
        return (
            f"{row['ours']:.3f} [{row['interval']['low']:.3f}, {row['interval']['high']:.3f}] "
            f"| {row['floor']:.3f} |"
        )

    captions, foil = rows["AUROC of captions, 1 - precision"], rows["pair accuracy, f1"]
    tokens = rows["macro F1 of tokens, as PoSh's table 2"]
    for said in (
        f"the three spans with the lowest scores | {cells('hallucination in 3 worst spans')}",
        f"finding the hallucinated content words, F1 | {cells('F1 of hallucinated content words')}",
        f"accurate captions by precision, AUROC | {cells('AUROC of accurate captions, precision')}",
        f"HAT, captions with a hallucination, AUROC | 194 | {within(captions, 'ours')} |",
        f"DiscourseFOIL, pairs | 108 | {within(foil, 'ours')} |",
        f"gets {within(tokens, 'ours')} on HAT",
    ):
        assert said in page("agreement.md")


def test_answers(tmp_path: Path) -> None:
    rows = numbers_of(tmp_path, "answers", "--judge", "match")
    of = {(row["set"], row["group"], row["measure"]): row for row in rows}
    agreed = [row for row in rows if row["measure"] == "agreement"]
    systems = {row["group"]: row["metrics"] for row in agreed}
    by_system = ", ".join(f"{group} {lave_of(one)}" for group, one in systems.items())
    chosen = of["aokvqa", "choices", "right above wrong"]
    nlvr = of["nlvr", "all", "right above wrong"]
    text = page("agreement.md")
    names = {"LAVE": "lave", "exact match": "exact_match", "containment": "contains"}
    for name, metric in names.items():
        pooled = fmean(one[metric]["value"] for one in systems.values())
        assert f"{name} {short(pooled)} / " in text
    assert f"LAVE's agreement by system: {by_system}." in text
    assert f"above a wrong one in {lave_of(chosen['metrics'])}" in text
    assert f"(VQA accuracy {short(chosen['metrics']['vqa_accuracy']['value'])})" in text
    assert f"on NLVR in {short(nlvr['metrics']['lave']['value'])} of {nlvr['n']} questions" in text


def lave_of(metrics: Mapping[str, Any]) -> str:
    return within(metrics["lave"], "value")


def test_scene_graphs(tmp_path: Path) -> None:
    found = numbers_of(tmp_path, "graphs")
    rows = {(row["mode"], row["split"], row["match"]): row for row in found}

    def cells(mode: str, *splits: str) -> str:
        columns: list[list[str]] = [[], [], [], []]
        for split in splits:
            row, lenient = rows[mode, split, "exact"], rows[mode, split, "lenient"]
            low, high = row["interval"]["low"], row["interval"]["high"]
            of_split = [f"{row['precision']:.3f}", f"{row['recall']:.3f}"]
            of_split += [f"{row['f1']:.3f} [{low:.3f}, {high:.3f}]", f"{lenient['f1']:.3f}"]
            for column, cell in zip(columns, of_split, strict=True):
                column.append(cell)
        return " | ".join("; ".join(column) for column in columns)

    for mode in ("default", "published"):
        assert f"| {mode} | all | {cells(mode, 'all')} |" in page("graph_rules.md")
        assert f"| | train; test | {cells(mode, 'train', 'test')} |" in page("graph_rules.md")
