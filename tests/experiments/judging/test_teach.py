"""A judge is taught by its own command, and is a judge as any other."""

from pathlib import Path

import pytest

from spanreward.rewards.judges import Question, Rating, load_judge
from tests.support.command import experiments
from tests.support.paths import ROOT

RECIPE = ROOT / "experiments/judging/scenes-judge.yaml"
SMALL = ("data.options.count=8", "trainer.max_steps=2", 'trainer.save_strategy="no"')


def test_two_steps_leave_a_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    done = experiments("teach", RECIPE, f"output={tmp_path / 'judge'}", *SMALL)
    assert done.code == 0, done.err
    judge = load_judge(f"transformers:{tmp_path / 'judge'}", min_mass=0.0)
    (rating,) = judge.rate([Question([{"role": "user", "content": "Is there a star?"}])])
    assert isinstance(rating, Rating)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("algorithm=dapo", "algorithm must be sft, got dapo"),
        ("data={source: jsonl, path: rows.jsonl}", "a function that gives questions, got jsonl"),
    ],
)
def test_what_cannot_be_taught(
    change: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    more = (
        ["rewards=[{metric: posh}]", "trainer={use_cpu: true, bf16: false}"]
        if "dapo" in change
        else []
    )
    plain = [part for part in SMALL if "options" not in part]
    done = experiments("teach", RECIPE, f"output={tmp_path / 'judge'}", *plain, change, *more)
    assert done.code == 1
    assert message in done.err
