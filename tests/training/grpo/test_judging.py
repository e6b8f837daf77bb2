"""What fails or is interrupted where the trainer has a batch judged."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset, IterableDataset

from experiments.scenes.parts import scenes_part
from spanreward.rewards import PoshReward, Reward, Sample, Status, Verdict
from spanreward.rewards.judges import Failure, Question, Rating
from spanreward.rewards.judges.usage import Usage
from spanreward.training.data.load import load_data
from spanreward.training.grpo.trainer import JudgeFailure
from tests.support.fakes import FakeJudge
from tests.support.tiny_trainer import advantages_of, make_trainer

TEXTS = ["A red circle.", "A blue star.", "A green square.", "A large hexagon."]
# the old policy's are computed
OLD: dict[str, Any] = {"steps_per_generation": 2, "per_device_train_batch_size": 4}


class Elsewhere(FakeJudge):
    """Calls `before` when it is asked."""

    def __init__(self, before: Callable[[], Any] = lambda: None, **settings: Any) -> None:
        super().__init__(**settings)
        self.before = before
        self.usage = Usage()

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        self.before()
        return super().rate_each(questions, scale)


class Asking(Reward):
    """One question about each completion, which is its text."""

    def __init__(self, *judges: Any, name: str = "asking") -> None:
        super().__init__(name)
        self.judges = judges

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        asked = [Question([{"role": "user", "content": sample.completion}]) for sample in samples]
        answers = self.judges[0].rate(asked)
        return [
            Verdict(None, answer.status)
            if isinstance(answer, Failure)
            else Verdict((answer.mean - 1) / 4)
            for answer in answers
        ]


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load_data(scenes_part(count=16))


def test_what_a_judge_raises_fails_its_rows_only(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies() -> None:
        raise OSError("the line is dead")

    trainer = make_trainer(
        tmp_path, dataset, [Asking(Elsewhere(dies))], **OLD, max_failed_fraction=1.0
    )
    assert advantages_of(trainer, dataset, TEXTS * 2, monkeypatch)["advantages"].abs().max() == 0
    assert {verdict.status for verdict in trainer.recorders[0].verdicts} == {Status.ERROR}
    trainer.args.max_failed_fraction = 0.5
    with pytest.raises(JudgeFailure, match="the line is dead"):
        advantages_of(trainer, dataset, TEXTS * 2, monkeypatch)


def test_a_missing_column_is_the_same_error(tmp_path: Path, dataset: Dataset) -> None:
    """Also where the trainer cannot know the columns before it samples."""
    streamed = IterableDataset.from_generator(lambda: iter(dataset.remove_columns("reference")))
    assert streamed.column_names is None
    trainer = make_trainer(tmp_path, streamed, [PoshReward(Elsewhere())])
    with pytest.raises(ValueError, match=r"the dataset column 'reference'.*rename"):
        trainer.train()


def test_ctrl_c_passes_a_judge(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    judge = Elsewhere(interrupted)
    trainer = make_trainer(tmp_path, dataset, [Asking(judge)])
    with pytest.raises(KeyboardInterrupt):
        advantages_of(trainer, dataset, TEXTS * 2, monkeypatch)
