"""verdicts.jsonl: every completion with its verdicts, and never at the cost of the run."""

import json
from pathlib import Path
from typing import Any

import pytest
from transformers import TrainerControl, TrainerState

from spanreward.rewards.base.verdict import Sample, Span, Status, Verdict
from spanreward.rewards.judges import MatchJudge
from spanreward.rewards.posh import PoshReward
from spanreward.rewards.rows.lines import read_rows
from spanreward.training.callbacks import json_lines
from spanreward.training.callbacks.json_lines import VerdictFile
from spanreward.training.grpo.recorder import Recorder
from tests.support.steps import arguments

HOSTILE = ['{"step": 9}\n', "<|im_end|>", "\ud800 lone", "a\u2028b\x00\x85", "", "\u202eRTL"]
HOSTILE += ["🦊 " * 3]


@pytest.fixture
def recorder() -> Any:
    return Recorder(PoshReward(MatchJudge()))


@pytest.fixture
def writer(recorder: Any, tmp_path: Path) -> Any:
    return VerdictFile([recorder], tmp_path)


def begin(writer: VerdictFile, step: int = 0) -> None:
    state = TrainerState(global_step=step)
    writer.on_train_begin(arguments(writer.folder), state, TrainerControl())


def judge(writer: VerdictFile, recorder: Recorder, step: int, *texts: str) -> None:
    """As the trainer does in the step after `step`."""
    args, control = arguments(writer.folder), TrainerControl()
    writer.on_step_begin(args, TrainerState(global_step=step), control)
    span = Span(0, 1, 0.0, -0.5, "object", "missing", 0)
    samples, verdicts = [], []
    for number, text in enumerate(texts):
        samples.append(Sample("Describe.", text, references=(f"R{number}",), id=str(number)))
        judged = Verdict(0.5, parts={"f1": 0.5}, spans=(span,))
        verdicts.append(judged if text else Verdict(0.0, Status.EMPTY))
    recorder.keep(samples, verdicts)
    recorder([], [])
    writer.on_step_end(args, TrainerState(global_step=step + 1), control)


def lines(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "verdicts.jsonl").read_bytes().split(b"\n")[:-1]]


def test_hostile_completions_come_back_as_they_were(
    writer: Any, recorder: Any, tmp_path: Path
) -> None:
    begin(writer)
    judge(writer, recorder, 0, *HOSTILE)
    found = lines(tmp_path)
    told = [(line["completion"], line["id"], line["reference"], line["step"]) for line in found]
    assert told == [(text, str(n), [f"R{n}"], 1) for n, text in enumerate(HOSTILE)]
    assert (tmp_path / "verdicts.jsonl").read_bytes().isascii()
    first = found[0]["rewards"]["posh"]
    assert (first["score"], first["status"], first["parts"]) == (0.5, "ok", {"f1": 0.5})
    place = {"start": 0, "end": 1, "component": 0, "asked": True}
    said = {"score": 0.0, "credit": -0.5, "kind": "object", "note": "missing"}
    assert first["spans"] == [place | said]
    assert found[HOSTILE.index("")]["rewards"]["posh"]["status"] == "empty"


def test_it_goes_on_where_the_checkpoint_was(writer: Any, recorder: Any, tmp_path: Path) -> None:
    begin(writer)
    for step in range(3):
        judge(writer, recorder, step, *HOSTILE)
    begin(writer, step=2)
    judge(writer, recorder, 2, "new")
    assert [line["step"] for line in lines(tmp_path)] == [1] * 7 + [2] * 7 + [3]
    assert lines(tmp_path)[-1]["completion"] == "new"
    begin(writer)
    assert lines(tmp_path) == []


def test_it_ends_at_its_size(
    writer: Any, recorder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_lines, "MAX_FILE_BYTES", 1000)
    begin(writer)
    for step in range(9):
        judge(writer, recorder, step, "a" * 300)
    assert [line["step"] for line in lines(tmp_path)] == [1, 2]


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs /dev/full")
def test_a_full_disk_ends_the_file_and_not_the_training(
    writer: Any, recorder: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    begin(writer)
    (tmp_path / "verdicts.jsonl").unlink(missing_ok=True)
    (tmp_path / "verdicts.jsonl").symlink_to("/dev/full")
    judge(writer, recorder, 0, "first")
    judge(writer, recorder, 1, "second")
    (record,) = caplog.records
    assert "from step 1 on" in record.getMessage()


def test_what_a_policy_wrote_can_be_scored_again(
    writer: Any, recorder: Any, tmp_path: Path
) -> None:
    begin(writer)
    judge(writer, recorder, 0, *["a red square"] * 2)
    rows = [row.sample for row in read_rows(tmp_path / "verdicts.jsonl")]
    assert [row.completion for row in rows] == ["a red square"] * 2
    assert [row.references for row in rows] == [("R0",), ("R1",)]
