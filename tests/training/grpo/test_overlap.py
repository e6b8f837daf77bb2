"""Judges behind a server judge while the policy's log-probabilities are computed; others do not."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset, IterableDataset
from trl import GRPOTrainer

from experiments.scenes.parts import scenes_part
from spanreward.rewards import PoshReward, Reward, Sample, Status, Verdict
from spanreward.rewards.judges import CachedJudge, Failure, Question, Rating
from spanreward.rewards.judges.judge import RATING_SCALE
from spanreward.rewards.judges.remote.chat_judge import ChatJudge
from spanreward.rewards.judges.usage import Usage
from spanreward.training.data.load import load_data
from spanreward.training.grpo.trainer import JudgeFailure
from tests.support.fakes import FakeJudge
from tests.support.tiny_trainer import advantages_of, make_trainer

TEXTS = ["A red circle.", "A blue star.", "A green square.", "A large hexagon."]
PATIENCE = 120.0  # seconds, for what should happen at once
OLD: dict[str, Any] = {"steps_per_generation": 2, "per_device_train_batch_size": 4}  # the old policy's are computed


class Elsewhere(FakeJudge):
    """As if behind a server: calls `before` when it is asked."""

    def __init__(self, before: Callable[[], Any] = lambda: None, remote: bool = True, **settings: Any) -> None:
        super().__init__(**settings)
        self.before = before
        self.remote = remote
        self.usage = Usage()
        self.threads: set[threading.Thread] = set()

    def rate(self, questions: Sequence[Question], scale: Sequence[str] = RATING_SCALE) -> list[Rating | Failure]:
        self.threads.add(threading.current_thread())
        self.before()
        self.usage.questions += len(questions)
        return super().rate(questions, scale)


class Asking(Reward):
    """One question about each completion, which is its text."""

    def __init__(self, *judges: Any, name: str = "asking") -> None:
        super().__init__(name)
        self.judges = judges

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        asked = [Question([{"role": "user", "content": sample.completion}]) for sample in samples]
        answers = self.judges[0].rate(asked)
        return [
            Verdict(None, answer.status) if isinstance(answer, Failure) else Verdict((answer.mean - 1) / 4)
            for answer in answers
        ]


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load_data(scenes_part(count=16))


def with_log_probabilities(trainer: Any, before: Callable[[], Any]) -> None:
    """Call `before` where the trainer computes log-probabilities in the step's preparation."""
    compute = trainer._get_per_token_logps_and_entropies

    def watched(*args: Any, **kwargs: Any) -> Any:
        before()
        return compute(*args, **kwargs)

    trainer._get_per_token_logps_and_entropies = watched


def test_the_judge_is_asked_while_log_probabilities_are_computed(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each waits for the other to have begun: one after the other they would never meet."""
    meeting = threading.Barrier(2, timeout=PATIENCE)
    judge = Elsewhere(meeting.wait)
    trainer = make_trainer(tmp_path, dataset, [Asking(judge)], **OLD)
    with_log_probabilities(trainer, meeting.wait)
    output = advantages_of(trainer, dataset, TEXTS * 2, monkeypatch)
    assert not meeting.broken
    assert threading.main_thread() not in judge.threads
    assert output["advantages"].abs().max() > 0


def test_a_judge_of_our_own_is_asked_when_the_policy_rests(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    judge = Elsewhere(lambda: events.append("judged"), remote=False)
    trainer = make_trainer(tmp_path, dataset, [Asking(judge)], **OLD)
    with_log_probabilities(trainer, lambda: events.append("log-probabilities"))
    advantages_of(trainer, dataset, TEXTS * 2, monkeypatch)
    assert events == ["log-probabilities", "judged"]
    assert judge.threads == {threading.main_thread()}


def test_which_rewards_may_judge_elsewhere(tmp_path: Path) -> None:
    server = ChatJudge("http://127.0.0.1:8000", "m")
    assert Asking(server).remote
    assert Asking(CachedJudge(server, tmp_path / "ratings.sqlite")).remote
    assert not Asking(CachedJudge(FakeJudge(), tmp_path / "ratings.sqlite")).remote
    assert not Asking(server, FakeJudge()).remote
    assert not Asking().remote


@pytest.mark.parametrize("settings", [{}, {**OLD, "span_coef": 0.5}, {"dynamic_sampling": True}])
def test_it_changes_nothing_but_the_time(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    def complete(trainer: Any, prompt_ids: list[Any], *_: Any) -> Any:
        tokenizer = trainer.processing_class.tokenizer
        return [tokenizer(TEXTS[i % 4])["input_ids"] + [tokenizer.eos_token_id] for i in range(len(prompt_ids))], None

    monkeypatch.setattr(GRPOTrainer, "_generate_single_turn", complete)
    found = []
    for remote in (False, True):
        first, second = Elsewhere(remote=remote), Elsewhere(remote=False)
        rewards = [PoshReward(first), Asking(first), Asking(second, name="other"), Asking(first, second, name="both")]
        trainer = make_trainer(tmp_path / str(remote), dataset, rewards, **settings)
        trainer.model.train()
        output = trainer._generate_and_score_completions([dataset[i // 4] for i in range(8)])
        metrics = {name: value for name, (value,) in trainer._metrics["train"].items() if "seconds" not in name}
        assert metrics["judge/questions"] > 0
        assert len(first.threads) == 1 + remote  # `both` asks it here, as the other judge is
        assert second.threads == {threading.main_thread()}
        found.append((output["advantages"].tolist(), metrics))
    assert found[0][0] == found[1][0]
    assert found[0][1] == pytest.approx(found[1][1], nan_ok=True)


def test_what_breaks_in_the_thread_fails_its_rows_only(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies() -> None:
        raise OSError("the line is dead")

    trainer = make_trainer(tmp_path, dataset, [Asking(Elsewhere(dies))], **OLD, max_failed_fraction=1.0)
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
    with pytest.raises(ValueError, match=r"posh needs the dataset column 'reference'.*rename"):
        trainer.train()


def test_ctrl_c_does_not_wait_and_the_next_step_has_its_own_verdicts(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answer = threading.Event(), threading.Event()

    def slow() -> None:
        asked.set()
        assert answer.wait(PATIENCE)

    def interrupt() -> None:
        assert asked.wait(PATIENCE)
        raise KeyboardInterrupt

    judge = Elsewhere(slow)
    trainer = make_trainer(tmp_path, dataset, [Asking(judge)], **OLD)
    compute = trainer._get_per_token_logps_and_entropies
    with_log_probabilities(trainer, interrupt)
    with pytest.raises(KeyboardInterrupt):
        advantages_of(trainer, dataset, TEXTS * 2, monkeypatch)
    (thread,) = judge.threads
    assert thread.is_alive()
    assert thread.daemon  # it holds up no exit
    trainer._get_per_token_logps_and_entropies = compute
    threading.Timer(0.1, answer.set).start()
    others = [f"{text} A star." for text in TEXTS]
    advantages_of(trainer, dataset, others * 2, monkeypatch)
    assert [sample.completion for sample in trainer.recorders[0].samples] == others * 2
    assert judge.rated == [TEXTS * 2, others * 2]


def test_ctrl_c_passes_while_the_judge_is_waited_for(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    judge = Elsewhere(interrupted)
    trainer = make_trainer(tmp_path, dataset, [Asking(judge)])
    with pytest.raises(KeyboardInterrupt):
        advantages_of(trainer, dataset, TEXTS * 2, monkeypatch)
