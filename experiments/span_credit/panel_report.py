"""The figures of a panel: how right each source of spans is, and what each rule makes of it.

figures = write_up(panel, judges=["match"], flipped=[0.3])
figures["sources"]["posh:match"]["phrases"]["all"]["r"]
figures["rules"]["posh:match"]["add_centred 0.5"]["difference"]
"""

import json
from collections.abc import Sequence
from typing import Any

from rich.table import Table

from experiments.scenes.referee import judge_description
from experiments.scenes.truth_reward import TruthReward
from experiments.span_credit.panel import (
    JudgedPanel,
    Panel,
    Rule,
    agreement_of_phrases,
    agreement_of_tokens,
    alignment,
    judge_panel,
    panel_data,
    panel_scenes,
    score_agreement,
    token_advantages,
)
from experiments.span_credit.withhold import withhold
from spanreward.rewards import PoshReward
from spanreward.rewards.judges import closing, load_judge
from spanreward.training.data.load import load_data
from spanreward.training.evaluation.statistics.span_reliability import Labelled, span_reliability
from spanreward.training.grpo.span_rules import add_centred

COEFFICIENTS = (0.1, 0.25, 0.5, 1.0)
RULES: dict[str, Rule] = {"add_centred": add_centred, "withhold": withhold}


def write_up(panel: Panel, judges: Sequence[str], flipped: Sequence[float]) -> dict[str, Any]:
    """judges: of PoSh, by name. flipped: shares of the truth's claims that are called what they are
    not.
    """
    rows = load_data(panel_data(panel.level, panel.pictures))
    scenes = dict(zip(map(str, rows["id"]), panel_scenes(panel), strict=True))
    truth = judge_panel(panel, TruthReward(scenes))
    sources = {"truth": truth}
    sources |= {
        f"truth, {share:.0%} flipped": judge_panel(panel, TruthReward(scenes, share))
        for share in flipped
    }
    sources["truth, permuted"] = judge_panel(panel, TruthReward(scenes, permuted=True))
    for name in judges:
        judge = load_judge(name)
        with closing([judge]):
            sources[f"posh:{name}"] = judge_panel(panel, PoshReward(judge))
    figures = {
        "base": panel.base,
        "level": panel.level,
        "pictures": panel.pictures,
        "completions": len(panel.written),
        "with_monte_carlo": sum(one.monte_carlo is not None for one in panel.written),
        "rollouts": panel.rollouts,
        "tokens": sum(len(one.ids) for one in panel.written) / len(panel.written),
        "truth_f1": float(truth.scores.mean()),
        "sources": {name: source_figures(judged, truth, panel) for name, judged in sources.items()},
        "rules": {name: rule_figures(judged, truth, panel) for name, judged in sources.items()},
    }
    content: dict[str, Any] = json.loads(json.dumps(figures).replace("NaN", "null"))
    return content


def source_figures(judged: JudgedPanel, truth: JudgedPanel, panel: Panel) -> dict[str, Any]:
    return {
        "phrases": agreement_of_phrases(judged, truth, panel),
        "labels": span_reliability(labelled(judged, panel)),
        "tokens": agreement_of_tokens(judged, truth, panel),
        "scores": score_agreement(judged, truth, panel),
    }


def labelled(judged: JudgedPanel, panel: Panel) -> list[Labelled]:
    """The panel as a person would label it who knows what is wrong."""
    scenes = panel_scenes(panel)
    return [
        Labelled(
            one.text,
            verdict.spans,
            judge_description(one.text, scenes[one.picture]).wrong,
            one.picture,
        )
        for one, verdict in zip(panel.written, judged.verdicts, strict=True)
    ]


def rule_figures(judged: JudgedPanel, truth: JudgedPanel, panel: Panel) -> dict[str, Any]:
    """`alignment` of the scalar and of every rule with every coefficient."""
    advantages = {"scalar": token_advantages(judged, panel, add_centred, 0.0)}
    for name, rule in RULES.items():
        for coefficient in COEFFICIENTS:
            advantages[f"{name} {coefficient:g}"] = token_advantages(
                judged, panel, rule, coefficient
            )
    return alignment(advantages, panel, truth.scores)


def tables_of(figures: dict[str, Any]) -> list[Table]:
    """How right the spans are; and the rules, as differences to the scalar."""
    spans = Table(
        title=f"Credit of phrases, and the truth's on the same words: level {figures['level']}"
    )
    for heading in (
        "spans of",
        "kind",
        "phrases",
        "share of credit",
        "blamed",
        "r",
        "r, by size",
        "r, Monte Carlo",
        "r, labels",
    ):
        spans.add_column(heading, justify="left" if heading in ("spans of", "kind") else "right")
    for name, source in figures["sources"].items():
        for kind, row in source["phrases"].items():
            values = (
                f"{row['share']:.2f}",
                f"{row['blamed']:.0%}",
                *map(number, (row["r"], row["weighted"])),
            )
            others = (number(row["monte_carlo"]), number(source["labels"][kind]["r"]))
            spans.add_row(
                name if kind == "all" else "", kind, f"{row['phrases']:,}", *values, *others
            )
    rules = Table(
        title="Cosine with the Monte Carlo advantages: the scalar's, and what a rule adds [95 %]"
    )
    rules.add_column("rule")
    for name in figures["rules"]:
        rules.add_column(name, justify="right")
    for rule in next(iter(figures["rules"].values())):
        rows = [of_source[rule] for of_source in figures["rules"].values()]
        rules.add_row(
            rule,
            *(
                number(row["cosine"], ".3f") if rule == "scalar" else difference(row)
                for row in rows
            ),
        )
    return [spans, rules]


def number(value: float | None, form: str = ".2f") -> str:
    return "" if value is None else f"{value:{form}}"


def difference(row: dict[str, float | None]) -> str:
    found, low, high = (number(row[name], "+.3f") for name in ("difference", "low", "high"))
    return f"{found} [{low}, {high}]" if found else ""
