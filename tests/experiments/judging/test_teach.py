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
