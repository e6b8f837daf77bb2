"""The page of coloured completions: the right rows, nothing let through, no end of the training."""

import errno
import json
import logging
import math
import re
import sys
from copy import copy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO

import pytest
from hypothesis import given, strategies as st
from transformers import TrainingArguments
from trl import GRPOConfig

from spanreward.rewards import Sample, Span, Status, Verdict
from spanreward.rewards.base.verdict_html import legible_in_html
from spanreward.rewards.files import outputs
from spanreward.training.callbacks import span_table
from spanreward.training.callbacks.json_lines import VerdictFile
from spanreward.training.callbacks.span_table import (
    ShownRow,
    SpanTableCallback,
    log_page,
    page_rows,
    recorded_rows,
    reward_above_group,
    write_page,
)
from spanreward.training.grpo.recorder import Recorder
from tests.support.chromium import browse, measure, needs_chromium
from tests.support.files import read_lines
from tests.support.hostile_row import HOSTILE, hostile_row
from tests.support.page import Page
from tests.support.steps import arguments, step_of
from tests.support.tiny_trainer import Scored, make_trainer, scenes

TIMES = "\N{MULTIPLICATION SIGN}"


def shown(
    *scores: float | None, group: int = 1, most: int = 2, padded: tuple[bool, ...] = ()
) -> list[tuple[str, int]]:
    return page_rows(scores, padded, group, most)


SCORES = (0.5, 0.1, None, 0.9, 0.3)
TWELVE = (0.9, 0.8, 0.7, 0.0, 0.6, 0.5, 0.1, 0.2, 0.3, 0.3, 0.3, 0.3)


@pytest.mark.parametrize(
    ("scores", "more", "expected"),
    [
        (SCORES, {}, "best 3, best 0, worst 1, worst 4, not judged 2"),
        ((None,) * 3, {}, "not judged 0, not judged 1"),
        # degenerate ones come first, whatever their reward, and as many as of the worst
        (
            SCORES,
            {"padded": (False, False, True, True, False)},
            "degenerate 3, best 0, best 4, worst 1, not judged 2",
        ),
        (
            (0.1, 0.2, 0.3, 0.4),
            {"padded": (True,) * 4},
            "degenerate 0, degenerate 1, best 3, best 2",
        ),
        # of different prompts, here three with four completions each, and then second ones
        (
            TWELVE,
            {"group": 4, "most": 4},
            "best 0, best 4, best 8, best 1, worst 3, worst 6, worst 11, worst 7",
        ),
    ],
)
def test_which_completions_are_shown(scores: Any, more: Any, expected: str) -> None:
    rows = shown(*scores, **more)
    assert ", ".join(f"{kind} {number}" for kind, number in rows) == expected


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
    parts = [range(cut), range(cut, 5)]
    shares = []
    for part in parts:
        shares.append([(SCORES[i], False, {"scored": (SCORES[i], 1.0)}) for i in part])
    pages: list[Any] = []
    found: list[Any] = []  # what the ranks choose; the last one has it all

    def gathered(given: list[Any]) -> list[Any]:
        if given and isinstance(given[0], list):
            return shares
        found.extend(given)
        return list(found)

    def judged(sample: Sample) -> Verdict:
        score = SCORES[int(sample.completion)]
        return Verdict(None, Status.TIMEOUT, note="late") if score is None else Verdict(score)

    monkeypatch.setattr(span_table, "write_page", lambda *given: pages.append(given))
    monkeypatch.setattr(span_table, "log_page", lambda *_: None)
    monkeypatch.setattr(span_table, "MAX_ROWS_OF_KIND", 2)
    monkeypatch.setattr(span_table, "gather_object", gathered)
    for rank, part in enumerate(parts):
        state = SimpleNamespace(process_index=rank)
        monkeypatch.setattr(span_table, "PartialState", lambda state=state: state)
        recorder = Recorder(Scored(judged))
        with step_of(SpanTableCallback([recorder], every=1), arguments(tmp_path), 1):
            if part:
                recorder(["Describe."] * len(part), [str(i) for i in part])
    _, _, rows, rewards, _ = pages[-1]
    told = ", ".join(f"{row.kind} {row.sample.completion}" for row in rows)
    assert told == "best 3, best 0, worst 1, worst 4, not judged 2"
    assert tuple(rewards) == SCORES


def test_what_each_token_received_is_a_third_colouring(tmp_path: Path) -> None:
    # the last one ends the text and wrote nothing
    tokens = ((0, 1, 0.5), (1, 5, -1.0), (5, 6, 0.0), (6, 6, 0.5))
    sample = Sample("Describe.", "A <b>.")
    row = ShownRow("best", sample, {"posh": Verdict(0.5)}, 0.5, None, 0.25, tokens)
    html = write_page(tmp_path / "page.html", 3, [row], [0.5])
    without = write_page(tmp_path / "page.html", 3, [replace(row, tokens=())], [0.5])
    marks = re.findall(r'<mark class="s(\d)" title="advantage (\S+)">(.*?)</mark>', html)
    assert marks == [("3", "+0.50", "A"), ("0", "-1.00", " &lt;b&gt;"), ("2", "+0.00", ".")]
    assert "What each token received" in html
    assert "\N{MINUS SIGN}1.00 to +0.50" in html
    assert "What each token received" not in without


def wordy(completions: list[Any], **_: Any) -> list[float | None]:
    """A plain reward function of TRL, which no recorder watches."""
    lengths = [len(text[0]["content"]) for text in completions]
    return [None if length % 3 == 0 else length / 10 for length in lengths]


def test_the_page_adds_up_to_what_trl_logs(tmp_path: Path) -> None:
    settings = {"reward_weights": [0.5, 2.0], "max_steps": 1, "soft_overlong_cache": 4}
    scored = Scored(lambda sample: len(sample.completion) % 5 / 5)
    trainer = make_trainer(tmp_path, scenes(8), [scored, wordy], **settings)
    trainer.add_callback(SpanTableCallback(trainer.recorders, every=1))
    trainer.train()
    logged = next(line for line in trainer.state.log_history if "reward" in line)
    html = (tmp_path / "spans" / "step-000001.html").read_text()
    mean = f"Mean reward {logged['reward']:.3f} over 8 "
    assert mean in html.replace("\N{MINUS SIGN}", "-")
    for name, weight in (("scored", "0.5"), ("wordy", "2")):
        mean = f"{logged[f'rewards/{name}/mean']:.3f}"
        assert f"<span>{name} <b>{mean}</b> {TIMES} {weight}</span>" in html
    assert "soft overlong punishment" in html
    totals = [sum(v * w for v, w in paid.values() if v == v) for paid in trainer.recorders[0].paid]
    assert sum(totals) / 8 == pytest.approx(logged["reward"], abs=1e-5)
    args = copy(trainer.args)
    args.reward_weights = [9.0]
    rows = recorded_rows(trainer.recorders, args)
    assert [row.reward for row in rows] == pytest.approx(totals)


@pytest.mark.parametrize("second", ["two", "one"])
def test_a_stock_trainer_s_rewards_add_up_even_of_one_name(tmp_path: Path, second: str) -> None:
    """TRL pays two rewards of one name, and logs them under one key; the page shows both."""
    recorders = [
        Recorder(Scored(lambda sample: 0.25, "one")),
        Recorder(Scored(lambda sample: 0.5, second)),
    ]
    settings = {"reward_weights": [0.5, 2.0], "max_steps": 1, "stock": True}
    callbacks = [SpanTableCallback(recorders, every=1), VerdictFile(recorders, tmp_path)]
    make_trainer(tmp_path, scenes(8), recorders, callbacks=callbacks, **settings).train()
    html = (tmp_path / "spans" / "step-000001.html").read_text()
    assert "Mean reward 1.125 over 8 " in html
    name = {"two": "two", "one": "one_1"}[second]
    assert f"<span>one <b>0.25</b> {TIMES} 0.5</span>" in html
    assert f"<span>{name.replace('_', ' ')} <b>0.50</b> {TIMES} 2</span>" in html
    line = read_lines(tmp_path / "verdicts.jsonl")[0]
    scores = {name: verdict["score"] for name, verdict in line["rewards"].items()}
    assert scores == {"one": 0.25, name: 0.5}


@pytest.mark.parametrize("stock", [True, False])
@pytest.mark.parametrize(("weight", "expected"), [(0.0, 0.5), (1.0, None)])
def test_a_failed_judge_counts_where_its_reward_has_a_weight(
    tmp_path: Path, stock: bool, weight: float, expected: float | None
) -> None:
    late = Verdict(None, Status.TIMEOUT)
    recorders = [Recorder(Scored(lambda _: 0.5, "a")), Recorder(Scored(lambda _: late, "late"))]
    for recorder in recorders:
        recorder([""], ["A star."])
        if not stock:
            recorder.receive([0.0], {}, [{"a": (0.5, 1.0), "late": (math.nan, weight)}])
    recorders[1].decides = stock or weight != 0  # which TRL's own trainer does not set
    weights = [1.0, weight] if stock else [9.0]
    settings = {"use_cpu": True, "bf16": False, "report_to": "none", "reward_weights": weights}
    (row,) = recorded_rows(recorders, GRPOConfig(str(tmp_path), **settings))
    assert row.reward == expected


def test_one_reward_of_weight_1_is_no_sum(tmp_path: Path) -> None:
    row = ShownRow("best", Sample("Describe.", "A star."), {"posh": Verdict(0.5)}, 0.5, None, None)
    row = replace(row, paid={"posh": (0.5, 1.0)})
    assert TIMES not in write_page(tmp_path / "page.html", 3, [row], [0.5], [row.paid])


def test_the_reward_above_the_group() -> None:
    scores = (0.1, 0.3, 0.5, None, 0.2, 0.2, 0.2, 0.2)
    above = [reward_above_group(number, scores, group=4) for number in range(8)]
    assert above[3] is None
    assert above[:3] + above[4:] == pytest.approx([-0.2, 0, 0.2, 0, 0, 0, 0])
    assert reward_above_group(0, scores, group=1) is None


ALLOWED = "html head meta link title style body main h1 h2 h3 p ul li b mark section div img dl "
ALLOWED += "dt dd article header span details summary s"


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_completions_stay_text(tmp_path: Path, text: str) -> None:
    write_page(tmp_path / "page.html", 3, [hostile_row(text)], [0.25, None])
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    page = Page(html)
    assert {tag for tag, _ in page.tags} <= set(ALLOWED.split())
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert page.texts == [legible_in_html(text), "A red star."] * 2
    assert "\x00" not in html
    assert "advantage <b>+0.70</b>" in html
    assert "1 could not be judged" in html
    assert all(a["src"].startswith("data:image/png") for tag, a in page.tags if tag == "img")


def test_trackio_gets_the_page_and_a_trace_of_each_row_with_its_spans(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """trackio 0.43's Trace takes messages and metadata, which it writes as JSON."""
    logged: list[Any] = []
    parts = {"Html": lambda page, inject: (page, inject), "Trace": dict}
    monkeypatch.setitem(sys.modules, "trackio", SimpleNamespace(log=logged.append, **parts))
    args = TrainingArguments("out", report_to=["trackio"])
    log_page(args, 3, "page")
    assert logged == [{"spans": ("page", False), "train/global_step": 3}]
    sample = Sample("Describe.", "A blue star.", id="7")
    span = Span(2, 6, 0.0, -0.25, "attribute", "not in the reference", 0)
    row = ShownRow("worst", sample, {"posh": Verdict(0.5, spans=(span,))}, 0.5, None, -0.7)
    log_page(args, 3, "page", [row])
    trace = logged[2]["completion"]
    said = [(message["role"], message["content"]) for message in trace["messages"]]
    assert said == [("user", "Describe."), ("assistant", "A blue star.")]
    metadata = json.loads(json.dumps(trace["metadata"]))
    assert (metadata["id"], metadata["kind"], metadata["advantage"]) == ("7", "worst", -0.7)
    (found,) = metadata["verdicts"]["posh"]["spans"]
    assert "A blue star."[found["start"] : found["end"]] == "blue"
    assert found["credit"] == -0.25


def test_wandb_gets_the_page_in_an_active_run(monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = pytest.importorskip("wandb")
    logged: list[Any] = []
    monkeypatch.setattr(wandb, "log", logged.append)
    for run in (None, object()):
        monkeypatch.setattr(wandb, "run", run)
        log_page(TrainingArguments("out", report_to=["wandb"]), 3, "page")
    (line,) = logged
    assert isinstance(line["spans"], wandb.Html)
    assert line["train/global_step"] == 3


@pytest.fixture
def recorder() -> Recorder:
    return Recorder(Scored(lambda sample: 0.5))


def callback_at(step: int, table: SpanTableCallback, folder: Path, stop: bool = False) -> None:
    with step_of(table, arguments(folder), step) as control:
        control.should_training_stop = stop
        table.recorders[0](["Describe."] * 2, ["A star.", "A square."])


def test_a_page_every_so_many_steps_and_at_the_last(recorder: Recorder, tmp_path: Path) -> None:
    table = SpanTableCallback([recorder], every=3)
    for step in range(1, 6):
        callback_at(step, table, tmp_path, stop=step == 4)
    names = [f"step-00000{step}.html" for step in (3, 4, 5)]  # 5 is the last
    assert sorted(path.name for path in (tmp_path / "spans").iterdir()) == names


def full(path: Path) -> TextIO:
    path.write_text("half a page")
    raise OSError(errno.ENOSPC, "No space left on device")


def outside(samples: list[Sample]) -> list[Verdict]:
    """Verdicts that Reward.judge_samples refuses."""
    return [Verdict(0.5, spans=(Span(0, 500, 0.5, 0.0, "entity", "", 0),))] * len(samples)


@pytest.mark.parametrize(
    ("fault", "told"), [("full disk", "Errno 28"), ("no page", "span from 0 to 500")]
)
def test_a_page_that_cannot_be_written_does_not_end_the_training(
    fault: str, told: str, recorder: Recorder, tmp_path: Path, monkeypatch: Any, caplog: Any
) -> None:
    """One warning, no half page; with room again there are pages again."""
    table = SpanTableCallback([recorder], every=1)
    with caplog.at_level(logging.WARNING, "spanreward.training"):
        with monkeypatch.context() as patched:
            if fault == "full disk":
                patched.setattr(outputs, "_new_file", full)
            else:
                patched.setattr(recorder.reward, "judge_samples", outside)
            callback_at(1, table, tmp_path)
            callback_at(2, table, tmp_path)
        callback_at(3, table, tmp_path)
    (record,) = caplog.records
    assert re.match(f"the table of step 1 .*{told}", record.getMessage())
    assert [path.name for path in (tmp_path / "spans").iterdir()] == ["step-000003.html"]


def test_a_table_every_no_steps_is_refused(recorder: Recorder) -> None:
    with pytest.raises(ValueError, match=r"^every .* got 0"):
        SpanTableCallback([recorder], every=0)


@needs_chromium
def test_the_page_is_quiet_in_a_browser_and_fits_a_phone(tmp_path: Path) -> None:
    kinds = ["best", "best", "worst", "worst", "worst", "not judged", "worst"]
    rows = [hostile_row(text, kind) for text, kind in zip(HOSTILE, kinds, strict=True)]
    page = tmp_path / "step-000050.html"
    write_page(page, 50, rows, [row.reward for row in rows])
    _, console = browse(page, f"--screenshot={page.with_suffix('.png')}", "--window-size=1280,4000")
    assert console == []
    measured, console = measure(page, 400)
    assert (console, measured["wide"], measured["width"]) == ([], [], 400)
    assert measured["marks"] >= 5 + 4 * len(HOSTILE)
