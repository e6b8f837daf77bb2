"""Do the judge's wrong words agree with the truth, and does credit point where the words really
help?

    completions = read_completions(Path("outputs/quickstart"), models=["base", "dapo"], count=500)
    agreement = summarise(completions)
    agreement["words"]["all"]["precision"], agreement["credit"]["all"]["equal_signs"]

It reads what `spanreward compare` wrote about Scenes, where an oracle knows the truth. Words are
runs of letters and digits; one is wrong when a wrong span (score below 0.5) or a wrong claim of the
referee touches it. A component's effect is the true F1 of the text less that of the text without
the component's first span.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy import stats

from experiments.scenes.referee import judge_description
from experiments.scenes.rows import scenes
from experiments.scenes.truth import scene_named
from experiments.scenes.world import Scene
from spanreward.rewards.base.verdict import Span
from spanreward.training.evaluation.statistics.span_reliability import Labelled

SOURCE = "experiments/scenes/rows.py:scenes"
WORD = re.compile(r"\w+")
WRONG = 0.5  # a span's score below which its words count as wrong
ZERO = 1e-9
KINDS = ("entity", "attribute", "relation")

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Judged:
    """One completion with the judge's spans (plain data, as compare.py writes them) and the scene
    it speaks of.
    """

    model: str
    text: str
    spans: tuple[Mapping[str, Any], ...]
    scene: Scene


@dataclass(frozen=True, slots=True)
class JudgedWord:
    """One word: does the judge, does the referee call it wrong? claim: the referee reads it as a
    statement at all.

    kinds: those of the spans that touch it.
    """

    model: str
    judge: bool
    referee: bool
    claim: bool
    kinds: frozenset[str]


@dataclass(frozen=True, slots=True)
class JudgedComponent:
    """One component: the credit the judge gives it, and the true effect of its words on F1."""

    model: str
    kind: str
    credit: float
    effect: float


def read_completions(
    folder: Path, models: Sequence[str] = (), count: int = 500
) -> tuple[list[Judged], int]:
    """`count` completions of `models` (all when empty), spread over models and seeds; and how many
    had no verdict.

    Raises ValueError for a missing file, data other than Scenes, or a model that was not compared.
    """
    results_file, completions_file = folder / "results.json", folder / "completions.jsonl"
    for path in (results_file, completions_file):
        if not path.is_file():
            raise ValueError(f"there is no {path}: give the output folder of `spanreward compare`.")
    data = json.loads(results_file.read_text())["data"]
    if data["source"] != SOURCE:
        raise ValueError(
            f"{folder} compares on {data['source']!r} data: only for Scenes is the truth known."
        )
    names = {
        str(number): row["scene"] for number, row in enumerate(scenes(**data["options"]), start=1)
    }
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for text in completions_file.read_text().splitlines():
        line = json.loads(text)
        groups.setdefault((line["model"], line["seed"]), []).append(line)
    present = list(dict.fromkeys(model for model, _ in groups))
    missing = [model for model in models if model not in present]
    if missing:
        raise ValueError(f"{completions_file} has no model {missing[0]!r}, only {present}.")
    wanted = [lines for (model, _), lines in groups.items() if not models or model in models]
    quotas = spread(count, len(wanted))
    chosen = [
        lines[i]
        for lines, quota in zip(wanted, quotas, strict=True)
        for i in evenly(quota, len(lines))
    ]
    judged = [
        Judged(
            line["model"],
            line["completion"],
            tuple(line["verdict"]["spans"]),
            scene_named(names[line["id"]]),
        )
        for line in chosen
        if line["verdict"]["score"] is not None
    ]
    return judged, len(chosen) - len(judged)


def labels_of(completions: Sequence[Judged]) -> list[Labelled]:
    """The completions with the referee's wrong words as labels; those about one scene are a
    group.
    """
    groups = {
        id: number for number, id in enumerate(dict.fromkeys(one.scene.seed for one in completions))
    }
    return [
        Labelled(
            one.text,
            tuple(Span(**span) for span in one.spans),
            judge_description(one.text, one.scene).wrong,
            groups[one.scene.seed],
        )
        for one in completions
    ]


def spread(count: int, groups: int) -> list[int]:
    """`count` shared out as evenly as can be, the first groups getting the rest."""
    return [count // groups + (number < count % groups) for number in range(groups)]


def evenly(count: int, total: int) -> list[int]:
    """`count` of the numbers 0 .. total - 1, evenly spaced from 0; all when there are not that
    many.
    """
    return (
        [number * total // count for number in range(count)]
        if count < total
        else list(range(total))
    )


def summarise(completions: Sequence[Judged]) -> dict[str, Any]:
    """Both agreements, over everything, per model and per kind of component.

    "claims" are the words that the referee reads as a statement, right or wrong: a judge that
    blames the "in" of a wrong place blames none of them. A kind's words are those that a span of
    that kind touches, so its recall says nothing of words no span touches.
    """
    words = [word for completion in completions for word in judged_words(completion)]
    parts = [part for completion in completions for part in components(completion)]
    models = list(dict.fromkeys(completion.model for completion in completions))
    return {
        "completions": len(completions),
        "words": {
            "all": word_agreement(words),
            "claims": word_agreement(word for word in words if word.claim),
            "by_model": {
                model: word_agreement(w for w in words if w.model == model) for model in models
            },
            "by_kind": {
                kind: word_agreement(w for w in words if kind in w.kinds) for kind in KINDS
            },
        },
        "credit": {
            "all": sign_agreement(parts),
            "by_model": {
                model: sign_agreement([p for p in parts if p.model == model]) for model in models
            },
            "by_kind": {
                kind: sign_agreement([p for p in parts if p.kind == kind]) for kind in KINDS
            },
        },
    }


def judged_words(completion: Judged) -> list[JudgedWord]:
    """The completion's words, from left to right."""
    wrong = [(span["start"], span["end"]) for span in completion.spans if span["score"] < WRONG]
    truth = judge_description(completion.text, completion.scene)
    return [
        JudgedWord(
            completion.model,
            judge=touches(word.span(), wrong),
            referee=touches(word.span(), truth.wrong),
            claim=touches(word.span(), (*truth.wrong, *truth.right)),
            kinds=frozenset(
                s["kind"]
                for s in completion.spans
                if touches(word.span(), [(s["start"], s["end"])])
            ),
        )
        for word in WORD.finditer(completion.text)
    ]


def touches(word: Range, ranges: Iterable[Range]) -> bool:
    """True when a range has a character in common with the word."""
    return any(start < word[1] and word[0] < end for start, end in ranges)


def word_agreement(words: Iterable[JudgedWord]) -> dict[str, Any]:
    """precision: share of the judge's wrong words that are; recall: share of the wrong words that
    it finds; f1; counts.

    None where there is nothing to take a share of.
    """
    counts = [(word.judge, word.referee) for word in words]
    both, judge_only, referee_only = (
        counts.count(c) for c in ((True, True), (True, False), (False, True))
    )
    return {
        "precision": share(both, both + judge_only),
        "recall": share(both, both + referee_only),
        "f1": share(2 * both, 2 * both + judge_only + referee_only),
        "both": both,
        "judge_only": judge_only,
        "referee_only": referee_only,
        "neither": counts.count((False, False)),
    }


def components(completion: Judged) -> list[JudgedComponent]:
    """Every component of the verdict, by its first span in the text."""
    whole = judge_description(completion.text, completion.scene).f1
    first: dict[int, Mapping[str, Any]] = {}
    for span in sorted(completion.spans, key=lambda span: span["start"]):
        first.setdefault(span["component"], span)
    return [
        JudgedComponent(
            completion.model,
            span["kind"],
            span["credit"],
            whole
            - judge_description(
                without(completion.text, span["start"], span["end"]), completion.scene
            ).f1,
        )
        for _, span in sorted(first.items())
    ]


def without(text: str, start: int, end: int) -> str:
    """The text less its characters [start, end), and less one of the two spaces that this would
    leave side by side.
    """
    before, after = text[:start], text[end:]
    doubled = after[:1].isspace() and (not before or before[-1].isspace())
    return before + (after[1:] if doubled else after)


def sign_agreement(parts: Sequence[JudgedComponent]) -> dict[str, Any]:
    """equal_signs: the share of components whose credit and effect point the same way, of those
    where neither is 0.

    The four counts are that table, named by the sign of credit, then of effect. spearman: the rank
    correlation of credit and effect over all components with credit, those without effect included;
    None when it is not defined. on_nothing: the share of all squared credit that components without
    effect have: noise, to a policy.
    """
    credited = [part for part in parts if abs(part.credit) > ZERO]
    moving = [(part.credit > 0, part.effect > 0) for part in credited if abs(part.effect) > ZERO]
    table = {
        "plus_plus": moving.count((True, True)),
        "plus_minus": moving.count((True, False)),
        "minus_plus": moving.count((False, True)),
        "minus_minus": moving.count((False, False)),
    }
    credits, effects = (
        [part.credit for part in credited],
        [round(part.effect, 9) for part in credited],
    )
    defined = len(set(credits)) > 1 and len(set(effects)) > 1
    return {
        "equal_signs": share(table["plus_plus"] + table["minus_minus"], len(moving)),
        **table,
        "spearman": float(stats.spearmanr(credits, effects).statistic) if defined else None,
        "on_nothing": share(
            sum(part.credit**2 for part in credited if abs(part.effect) <= ZERO),
            sum(part.credit**2 for part in credited),
        ),
        "components": len(parts),
        "without_credit": len(parts) - len(credited),
        "without_effect": sum(abs(part.effect) <= ZERO for part in parts),
    }


def share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
