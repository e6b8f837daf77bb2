"""The page of coloured completions: the right rows, nothing let through, and no end of the training
by it.
"""

import errno
import json
import logging
import re
import sys
from copy import copy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO

import pytest
from hypothesis import given, strategies as st
from transformers import TrainerControl, TrainerState, TrainingArguments

from spanreward.rewards import Sample, Span, Status, Verdict
from spanreward.rewards.base.verdict_html import legible
from spanreward.rewards.files import outputs
from spanreward.training.callbacks import span_table
from spanreward.training.callbacks.span_table import (
    ShownRow,
    SpanTableCallback,
    lead_of,
    log_page,
    of_different_groups,
    page_rows,
    recorded_rows,
    write_page,
)
from spanreward.training.grpo.recorder import Recorder
from tests.support.hostile_row import HOSTILE, hostile_row
from tests.support.page import Page
from tests.support.tiny_trainer import Scored, make_trainer, scenes

TIMES = "\N{MULTIPLICATION SIGN}"


def shown(
    *scores: float | None, group: int = 1, most: int = 2, padded: tuple[bool, ...] = ()
) -> list[tuple[str, int]]:
    return page_rows(scores, padded, group, most)


def test_degenerate_completions_come_first_whatever_their_reward() -> None:
    assert shown(0.5, 0.1, None, 0.9, 0.3, padded=(False, False, True, True, False)) == [
        ("degenerate", 3),
        ("best", 0),
        ("best", 4),
        ("worst", 1),
        ("not judged", 2),
    ]
    everyone = shown(0.1, 0.2, 0.3, 0.4, padded=(True,) * 4)
    # as many as of the worst
    assert [row[0] for row in everyone] == ["degenerate", "degenerate", "best", "best"]


def test_the_best_and_the_worst_in_order() -> None:
    assert shown(0.5, 0.1, None, 0.9, 0.3) == [
        ("best", 3),
        ("best", 0),
        ("worst", 1),
        ("worst", 4),
        ("not judged", 2),
    ]
    assert [kind for kind, _ in shown(None, None, None)] == ["not judged", "not judged"]


@given(st.lists(st.sampled_from([None, 0.0, 0.2, 0.5, 1.0]), max_size=12), st.integers(0, 4))
def test_no_completion_is_shown_twice(scores: list[float | None], most: int) -> None:
    whole = shown(*scores, most=most)
    assert len({number for _, number in whole}) == len(whole)
    chosen = [scores[number] for kind, number in whole if kind == "best"]
    assert chosen == sorted((s for s in scores if s is not None), reverse=True)[:most]


@pytest.mark.parametrize("cut", range(6))
def test_the_split_over_ranks_changes_nothing(
    cut: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Two ranks that each judge a part of five completions, played one after the other."""
    scores = [0.5, 0.1, None, 0.9, 0.3]
    parts = [list(range(cut)), list(range(cut, 5))]
    judged = [
        Verdict(None, Status.TIMEOUT, note="no answer") if score is None else Verdict(score)
        for score in scores
    ]
    pages: list[Any] = []
    monkeypatch.setattr(
        span_table,
        "write_page",
        lambda path, step, rows, rewards, paid: pages.append((rows, rewards)),
    )
    monkeypatch.setattr(span_table, "log_page", lambda *_: None)
    monkeypatch.setattr(span_table, "MAX_ROWS_OF_KIND", 2)
    found: list[Any] = []  # what the ranks choose; the last one has it all
    for rank, part in enumerate(parts):
        shares = [
            [(scores[i], False, {"scored": (scores[i], 1.0)}) for i in of_rank] for of_rank in parts
        ]

        def gathered(given: list[Any], shares: list[Any] = shares) -> list[Any]:
            if given and isinstance(given[0], list):
                return shares
            found.extend(given)
            return list(found)

        monkeypatch.setattr(span_table, "gather_object", gathered)
        monkeypatch.setattr(
            span_table, "PartialState", lambda rank=rank: SimpleNamespace(process_index=rank)
        )
        texts = [f"Completion {i}." for i in part]
        recorder = Recorder(Scored(lambda sample: judged[int(sample.completion[11])]))
        table = SpanTableCallback([recorder], every=1)
        args = TrainingArguments(
            output_dir=str(tmp_path), use_cpu=True, bf16=False, report_to="none"
        )
        state, control = (
            TrainerState(global_step=1, max_steps=5, is_world_process_zero=True),
            TrainerControl(),
        )
        table.on_step_begin(args, state, control)
        if texts:
            recorder(["Describe."] * len(texts), texts)
        table.on_step_end(args, state, control)
    rows, rewards = pages[-1]
    assert [(row.kind, row.sample.completion) for row in rows] == [
        ("best", "Completion 3."),
        ("best", "Completion 0."),
        ("worst", "Completion 1."),
        ("worst", "Completion 4."),
        ("not judged", "Completion 2."),
    ]
    assert list(rewards) == scores


def test_the_best_are_of_different_prompts_and_so_are_the_worst() -> None:
    """Three prompts with four completions each; where there are fewer prompts than rows, second
    ones follow.
    """
    scores = (0.9, 0.8, 0.7, 0.0, 0.6, 0.5, 0.1, 0.2, 0.3, 0.3, 0.3, 0.3)
    rows = shown(*scores, group=4, most=4)
    best, worst = (
        [("best", 0), ("best", 4), ("best", 8), ("best", 1)],
        [("worst", 3), ("worst", 6), ("worst", 11)],
    )
    assert rows == [*best, *worst, ("worst", 7)]


def test_what_each_token_received_is_a_third_colouring(tmp_path: Path) -> None:
    # the last one ends the text and wrote nothing
    tokens = ((0, 1, 0.5), (1, 5, -1.0), (5, 6, 0.0), (6, 6, 0.5))
    sample = Sample("Describe.", "A <b>.")
    row = ShownRow("best", sample, {"posh": Verdict(0.5)}, 0.5, None, 0.25, tokens)
    html = write_page(tmp_path / "page.html", 3, [row], [0.5])
    marks = re.findall(r'<mark class="s(\d)" title="advantage (\S+)">(.*?)</mark>', html)
    assert marks == [("3", "+0.50", "A"), ("0", "-1.00", " &lt;b&gt;"), ("2", "+0.00", ".")]
    assert "What each token received" in html
    assert "\N{MINUS SIGN}1.00 to +0.50" in html
    assert "What each token received" not in write_page(
        tmp_path / "page.html", 3, [replace(row, tokens=())], [0.5]
    )


def wordy(completions: list[Any], **_: Any) -> list[float | None]:
    """A plain reward function of TRL, which no recorder watches."""
    return [
        None if len(text[0]["content"]) % 3 == 0 else len(text[0]["content"]) / 10
        for text in completions
    ]


def test_the_page_adds_up_to_what_trl_logs(tmp_path: Path) -> None:
    settings = {"reward_weights": [0.5, 2.0], "max_steps": 1, "soft_overlong_cache": 4}
    scored = Scored(lambda sample: len(sample.completion) % 5 / 5)
    trainer = make_trainer(tmp_path, scenes(8), [scored, wordy], **settings)
    trainer.add_callback(SpanTableCallback(trainer.recorders, every=1))
    trainer.train()
    logged = next(line for line in trainer.state.log_history if "reward" in line)
    html = (tmp_path / "spans" / "step-000001.html").read_text()
    assert f"Mean reward {logged['reward']:.3f} over 8 completions" in html.replace(
        "\N{MINUS SIGN}", "-"
    )
    for name, weight in (("scored", "0.5"), ("wordy", "2")):
        assert (
            f"<span>{name} <b>{logged[f'rewards/{name}/mean']:.3f}</b> {TIMES} {weight}</span>"
            in html
        )
    assert "soft overlong punishment" in html
    totals = [sum(v * w for v, w in paid.values() if v == v) for paid in trainer.recorders[0].paid]
    assert sum(totals) / 8 == pytest.approx(logged["reward"], abs=1e-5)
    args = copy(trainer.args)
    args.reward_weights = [9.0]
    rows = recorded_rows(trainer.recorders, args)
    assert [row.reward for row in rows] == pytest.approx(totals)


def test_a_stock_trainer_s_weights_are_those_of_its_settings(tmp_path: Path) -> None:
    recorders = [Recorder(Scored(lambda sample: 0.25, name)) for name in ("one", "two")]
    settings = {"reward_weights": [0.5, 2.0], "max_steps": 1, "stock": True}
    table = SpanTableCallback(recorders, every=1)
    make_trainer(tmp_path, scenes(8), recorders, callbacks=[table], **settings).train()
    html = (tmp_path / "spans" / "step-000001.html").read_text()
    assert "Mean reward 0.625 over 8 completions" in html
    assert f"<span>one <b>0.25</b> {TIMES} 0.5</span><span>two <b>0.25</b> {TIMES} 2</span>" in html


def test_one_reward_of_weight_1_is_no_sum(tmp_path: Path) -> None:
    row = ShownRow("best", Sample("Describe.", "A star."), {"posh": Verdict(0.5)}, 0.5, None, None)
    row = replace(row, paid={"posh": (0.5, 1.0)})
    assert TIMES not in write_page(tmp_path / "page.html", 3, [row], [0.5], [row.paid])


def test_the_lead_is_over_the_group() -> None:
    scores = (0.1, 0.3, 0.5, None, 0.2, 0.2, 0.2, 0.2)
    leads = [lead_of(number, scores, group=4) for number in range(8)]
    assert leads == [
        pytest.approx(-0.2),
        pytest.approx(0.0),
        pytest.approx(0.2),
        None,
        *[pytest.approx(0.0)] * 4,
    ]
    assert lead_of(0, scores, group=1) is None


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_completions_stay_text(tmp_path: Path, text: str) -> None:
    write_page(tmp_path / "page.html", 3, [hostile_row(text)], [0.25, None])
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    page = Page(html)
    allowed = {
        "html",
        "head",
        "meta",
        "link",
        "title",
        "style",
        "body",
        "main",
        "h1",
        "h2",
        "h3",
        "p",
        "ul",
        "li",
        "b",
    }
    allowed |= {
        "mark",
        "section",
        "div",
        "img",
        "dl",
        "dt",
        "dd",
        "article",
        "header",
        "span",
        "details",
        "summary",
        "s",
    }
    assert {tag for tag, _ in page.tags} <= allowed
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert page.texts == [legible(text), "A red star."] * 2
    assert "\x00" not in html
    assert "advantage <b>+0.70</b>" in html
    assert "1 could not be judged" in html
    assert all(a["src"].startswith("data:image/png") for tag, a in page.tags if tag == "img")


def test_trackio_gets_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[Any] = []
    made = SimpleNamespace(log=logged.append, Html=lambda page, inject: (page, inject))
    monkeypatch.setitem(sys.modules, "trackio", made)
    log_page(TrainingArguments("out", report_to=["trackio"]), 3, "<!doctype html>")
    assert logged == [{"spans": ("<!doctype html>", False), "train/global_step": 3}]


def test_trackio_gets_a_trace_of_each_row_with_its_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    """trackio 0.43's Trace takes messages and metadata, which it writes as JSON."""
    logged: list[Any] = []
    made = SimpleNamespace(
        log=logged.append, Html=lambda page, inject: page, Trace=lambda **parts: parts
    )
    monkeypatch.setitem(sys.modules, "trackio", made)
    sample = Sample("Describe.", "A blue star.", id="7")
    verdict = Verdict(0.5, spans=(Span(2, 6, 0.0, -0.25, "attribute", "not in the reference", 0),))
    row = ShownRow("worst", sample, {"posh": verdict}, 0.5, None, -0.7)
    log_page(TrainingArguments("out", report_to=["trackio"]), 3, "page", [row])
    trace = logged[1]["completion"]
    assert trace["messages"] == [
        {"role": "user", "content": "Describe."},
        {"role": "assistant", "content": "A blue star."},
    ]
    metadata = json.loads(json.dumps(trace["metadata"]))
    assert (metadata["id"], metadata["kind"], metadata["advantage"]) == ("7", "worst", -0.7)
    (span,) = metadata["verdicts"]["posh"]["spans"]
    assert "A blue star."[span["start"] : span["end"]] == "blue"
    assert span["credit"] == -0.25


def callback_at(step: int, table: SpanTableCallback, recorder: Recorder, folder: Path) -> None:
    args = TrainingArguments(output_dir=str(folder), use_cpu=True, bf16=False, report_to="none")
    state, control = (
        TrainerState(global_step=step, max_steps=5, is_world_process_zero=True),
        TrainerControl(),
    )
    table.on_step_begin(args, state, control)
    recorder(["Describe."] * 2, ["A star.", "A square."])
    table.on_step_end(args, state, control)


def test_a_page_every_so_many_steps(tmp_path: Path) -> None:
    recorder = Recorder(Scored(lambda sample: 0.5))
    table = SpanTableCallback([recorder], every=2)
    for step in range(1, 6):
        callback_at(step, table, recorder, tmp_path)
    names = [f"step-00000{step}.html" for step in (2, 4, 5)]  # 5 is the last
    assert sorted(path.name for path in (tmp_path / "spans").iterdir()) == names


def test_the_last_step_has_a_page(tmp_path: Path) -> None:
    recorder = Recorder(Scored(lambda sample: 0.5))
    args = TrainingArguments(output_dir=str(tmp_path), use_cpu=True, bf16=False, report_to="none")
    table, state = (
        SpanTableCallback([recorder]),
        TrainerState(global_step=3, max_steps=9, is_world_process_zero=True),
    )
    for control in (TrainerControl(), TrainerControl(should_training_stop=True)):
        table.on_step_begin(args, state, control)
        recorder(["Describe."] * 2, ["A star.", "A square."])
        table.on_step_end(args, state, control)
        assert (tmp_path / "spans" / "step-000003.html").exists() == control.should_training_stop


def test_a_full_disk_does_not_end_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One warning, no half page; with room again there are pages again."""
    recorder = Recorder(Scored(lambda sample: 0.5))
    table = SpanTableCallback([recorder], every=1)

    def full(path: Path) -> TextIO:
        path.write_text("half a page")
        raise OSError(errno.ENOSPC, "No space left on device")

    with caplog.at_level(logging.WARNING, "spanreward.training"):
        with monkeypatch.context() as patched:
            patched.setattr(outputs, "_new_file", full)
            callback_at(1, table, recorder, tmp_path)
            callback_at(2, table, recorder, tmp_path)
        callback_at(3, table, recorder, tmp_path)
    (record,) = caplog.records
    assert re.match("the table of step 1 .*Errno 28", record.getMessage())
    assert [path.name for path in (tmp_path / "spans").iterdir()] == ["step-000003.html"]


def test_a_page_that_cannot_be_drawn_does_not_end_the_training(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(Scored(lambda sample: 0.5))
    # which Reward.judge_samples refuses
    outside = Verdict(0.5, spans=(Span(0, 500, 0.5, 0.0, "entity", "", 0),))
    monkeypatch.setattr(recorder.reward, "judge_samples", lambda samples: [outside] * len(samples))
    with caplog.at_level(logging.WARNING, "spanreward.training"):
        callback_at(1, SpanTableCallback([recorder], every=1), recorder, tmp_path)
    (record,) = caplog.records
    assert "span from 0 to 500" in record.getMessage()


def test_a_table_every_no_steps_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^every must be 1 .* got 0"):
        SpanTableCallback([Recorder(Scored(lambda sample: 0.5))], every=0)


def test_the_best_are_of_different_prompts() -> None:
    assert of_different_groups([3, 2, 1, 5, 0, 4], group=2) == [3, 1, 5, 2, 0, 4]
    assert of_different_groups([1, 0, 2], group=3) == [1, 0, 2]
