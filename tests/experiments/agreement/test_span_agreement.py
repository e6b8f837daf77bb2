"""Agreement of wrong words and of credit with the truth, by hand; and the command."""

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.agreement import span_agreement as of_spans
from experiments.scenes.referee import judge_description
from experiments.scenes.world import Scene, Thing, make_scenes
from spanreward.training.evaluation.statistics.span_reliability import (
    span_coef_advice,
    span_reliability,
)
from tests.support.command import experiments

STAR = Thing("star", "red", "small", "top", "left")
SCENE = Scene((STAR, Thing("square", "blue", "large", "bottom", "right")), "s")
TEXT = "A blue star in the top left corner."
# Of four claims three are right, and they are three of ten facts.
F1 = 2 * 0.75 * 0.3 / (0.75 + 0.3)
SPANS = [
    ("star", 1.0, 0.2, "entity"),
    ("blue", 0.0, -0.1, "attribute"),
    ("in", 0.0, -0.05, "relation"),
]
SPANS += [("corner", 1.0, 0.1, "entity"), ("top", 0.25, -0.02, "attribute")]


def span(text: str, word: str, score: float, credit: Any, kind: Any, component: Any) -> Any:
    start = text.index(word)
    place = {"start": start, "end": start + len(word), "note": "", "component": component}
    return {**place, "score": score, "credit": credit, "kind": kind}


def judged(model: str = "dapo", text: str = TEXT, spans: Any = SPANS, scene: Any = SCENE) -> Any:
    marked = tuple(span(text, *given, component=number) for number, given in enumerate(spans))
    return of_spans.Judged(model, text, marked, scene)


def test_words_by_hand() -> None:
    words = of_spans.judged_words(judged())
    assert [word.judge for word in words] == [False, True, False, True, False, True, False, False]
    assert [word.referee for word in words] == [False, True, *[False] * 6]
    assert [word.claim for word in words] == [False, True, True, False, False, True, True, False]
    kinds = ["".join(word.kinds) for word in words]  # none has two
    assert kinds == ["", "attribute", "entity", "relation", "", "attribute", "", "entity"]
    assert {word.model for word in words} == {"dapo"}


def test_agreement_on_words_by_hand() -> None:
    found = of_spans.summarise([judged()])["words"]
    # blue, in, top
    expected = {"precision": pytest.approx(1 / 3), "recall": 1.0, "f1": 0.5, "both": 1}
    assert found["all"] == {**expected, "judge_only": 2, "referee_only": 0, "neither": 5}
    assert found["by_model"] == {"dapo": found["all"]}
    assert found["claims"]["precision"] == 0.5  # blue, top
    assert found["claims"]["neither"] == 2  # star, left
    assert found["by_kind"]["attribute"] == {**found["claims"], "neither": 0}
    measures = ("precision", "recall", "f1")
    assert [found["by_kind"]["entity"][name] for name in measures] == [None] * 3
    assert [found["by_kind"]["relation"][name] for name in measures] == [0.0, None, 0.0]


def test_word_agreement_counts() -> None:
    def words(judge: Any, referee: Any, times: Any) -> Any:
        return [of_spans.JudgedWord("m", judge, referee, True, frozenset())] * times

    found = of_spans.word_agreement(
        [*words(1, 1, 3), *words(1, 0, 1), *words(0, 1, 2), *words(0, 0, 4)]
    )
    expected = (3, 1, 2, 4)
    assert (found["both"], found["judge_only"], found["referee_only"], found["neither"]) == expected
    assert (found["precision"], found["recall"], found["f1"]) == (0.75, 0.6, pytest.approx(2 / 3))
    assert of_spans.word_agreement([])["f1"] is None


def test_a_range_touches_the_words_it_shares_a_character_with() -> None:
    expected = [False, True, True, True, False]
    assert [
        of_spans.touches((3, 6), [one]) for one in ((0, 3), (0, 4), (4, 5), (5, 9), (6, 9))
    ] == expected
    assert not of_spans.touches((3, 6), [])


def test_a_score_of_one_half_is_not_wrong() -> None:
    words = of_spans.judged_words(judged(spans=[("blue", 0.5, 0.0, "attribute")]))
    assert not any(word.judge for word in words)


def test_effects_by_hand() -> None:
    assert judge_description(TEXT, SCENE).f1 == pytest.approx(F1) == pytest.approx(3 / 7)
    parts = of_spans.components(judged())
    expected = ["entity", "attribute", "relation", "entity", "attribute"]
    assert [part.kind for part in parts] == expected
    assert [part.credit for part in parts] == [0.2, -0.1, -0.05, 0.1, -0.02]
    effects = [
        3 / 7,  # without "star" nothing is said of any object
        3 / 7 - 6 / 13,  # without "blue" precision is 1
        0.0,
        0.0,
        3 / 7 - 4 / 13,  # without "top": two of three, two of ten
    ]
    assert [part.effect for part in parts] == pytest.approx(effects)


def test_agreement_of_signs_by_hand() -> None:
    found = of_spans.summarise([judged()])["credit"]
    assert found["all"] == {
        "equal_signs": pytest.approx(2 / 3),
        "plus_plus": 1,  # star
        "plus_minus": 0,
        "minus_plus": 1,  # top
        "minus_minus": 1,  # blue
        "spearman": pytest.approx(8 / 95**0.5),  # ranks (1, 1) (2, 2.5) (3, 4) (4, 2.5) (5, 5)
        "on_nothing": pytest.approx(
            (0.05**2 + 0.1**2) / (0.2**2 + 0.1**2 + 0.05**2 + 0.1**2 + 0.02**2)
        ),
        "components": 5,
        "without_credit": 0,
        "without_effect": 2,
    }
    assert found["by_kind"]["attribute"]["equal_signs"] == 0.5
    assert found["by_kind"]["relation"]["equal_signs"] is None
    assert found["by_kind"]["relation"]["spearman"] is None
    assert found["by_model"]["dapo"] == found["all"]


def test_what_has_no_credit_or_no_effect_has_no_sign() -> None:
    parts = [
        of_spans.JudgedComponent("m", "entity", *pair)
        for pair in ((1e-12, 0.5), (0.5, -1e-12), (0.5, 0.1), (-0.5, 0.1), (0.1, -0.2))
    ]
    found = of_spans.sign_agreement(parts)
    assert (found["plus_plus"], found["plus_minus"]) == (1, 1)
    assert (found["minus_plus"], found["minus_minus"]) == (1, 0)
    assert (found["components"], found["without_credit"], found["without_effect"]) == (5, 1, 1)
    assert found["equal_signs"] == pytest.approx(1 / 3)
    assert found["on_nothing"] == pytest.approx(0.25 / (3 * 0.25 + 0.01))
    assert (
        of_spans.sign_agreement([])["spearman"] is of_spans.sign_agreement([])["on_nothing"] is None
    )


def test_the_first_mention_stands_for_a_component() -> None:
    text = "A red star in the top left corner. A square."
    first, second = (span(text, word, 1.0, 0.1, "entity", 0) for word in ("star", "square"))
    of = ((second, first), (first,), (second,))
    both, only_first, only_second = (
        of_spans.components(of_spans.Judged("m", text, one, SCENE)) for one in of
    )
    assert both == only_first
    # 5 of 5 claims and of 10 facts; without "star" 1 of 4 and 1 of 10, without "square" 4 of 4 and
    # 4 of 10
    assert only_first[0].effect == pytest.approx(2 / 3 - 2 * 0.25 * 0.1 / 0.35)
    assert only_second[0].effect == pytest.approx(2 / 3 - 2 * 0.4 / 1.4)


@pytest.mark.parametrize(
    ("word", "left"),
    [
        ("blue", "A star\n here."),
        ("A", "blue star\n here."),
        ("here", "A blue star\n ."),
        ("star", "A blue  here."),
    ],
)
def test_taking_words_out_leaves_one_space(word: str, left: str) -> None:
    text = "A blue star\n here."
    assert of_spans.without(text, text.index(word), text.index(word) + len(word)) == left


def test_completions_are_spread() -> None:
    assert [of_spans.spread(7, 3), of_spans.spread(6, 3), of_spans.spread(1, 3)] == [
        [3, 2, 2],
        [2, 2, 2],
        [1, 0, 0],
    ]
    expected = [[0, 3, 6], [0, 1, 3, 4], [0, 1, 2, 3, 4, 5], [0, 1], []]
    assert [
        of_spans.evenly(3, 9),
        of_spans.evenly(4, 6),
        of_spans.evenly(6, 6),
        of_spans.evenly(9, 2),
        of_spans.evenly(0, 5),
    ] == expected


@pytest.fixture
def folder(tmp_path: Path) -> Any:
    """Two models, two seeds, four prompts; the last verdict of every seed has failed."""
    data = {"source": of_spans.SOURCE, "options": {"split": "test", "count": 4, "level": 2}}
    (tmp_path / "results.json").write_text(json.dumps({"data": data}))
    lines = []
    for model in ("base", "dapo"):
        for seed in (3, 5):
            for number in range(4):
                one = judged(model, text=f"{TEXT} {model} {seed} {number}")
                verdict = {"score": 0.5, "spans": list(one.spans)}
                if number == 3:
                    verdict = {"score": None, "spans": []}
                line = {"model": model, "seed": seed, "id": str(number + 1)}
                lines.append({**line, "completion": one.text, "verdict": verdict})
    (tmp_path / "completions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def test_reads_what_compare_wrote(folder: Path) -> None:
    completions, skipped = of_spans.read_completions(folder, count=99)
    assert (len(completions), skipped) == (12, 4)
    assert [completion.scene for completion in completions] == make_scenes("test", 2, 4)[:3] * 4
    texts = [one.text[len(TEXT) + 1 :] for one in of_spans.read_completions(folder, count=7)[0]]
    expected = ["base 3 0", "base 3 2", "base 5 0", "base 5 2", "dapo 3 0", "dapo 3 2", "dapo 5 0"]
    assert texts == expected
    assert {
        completion.model for completion in of_spans.read_completions(folder, ["dapo"], 6)[0]
    } == {"dapo"}


def test_the_command_prints_what_it_writes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    words = f"spans {folder} --models base --count 8 --json {folder}/new/a.json".split()
    done = experiments("agreement", *words)
    assert done.code == 0, done.err
    written = json.loads((folder / "new" / "a.json").read_text())
    completions, skipped = of_spans.read_completions(folder, ["base"], 8)
    found = span_reliability(of_spans.labels_of(completions))
    assert written == {
        **{**of_spans.summarise(completions), "skipped": skipped},
        **{"reliability": found, "advice": span_coef_advice(found["all"])},
    }
    assert (written["completions"], written["skipped"]) == (6, 2)
    assert list(written["words"]["by_model"]) == ["base"]
    out = done.out
    assert "6 completions, 2 without a" in out
    assert f"{written['words']['all']['precision']:.3f}" in out
    assert f"{written['credit']['all']['spearman']:.3f}" in out
    assert "No advice from 6 completions: label 20 or more." in out
