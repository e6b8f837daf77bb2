"""Judges that fail in a step of the real trainer: rows without a score, and no run that hangs."""

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import IterableDataset

from spanreward.rewards.base.verdict import Status, Verdict
from spanreward.rewards.judges import CachedJudge, Failure, Question, Rating
from spanreward.rewards.judges.judge import RATING_SCALE
from spanreward.rewards.judges.remote.chat_judge import ChatJudge
from spanreward.rewards.judges.usage import Usage
from spanreward.rewards.posh import PoshReward
from spanreward.training.grpo.recorder import check_deadlines
from spanreward.training.grpo.trainer import JudgeFailure, SpanGRPOConfig
from tests.support.batches import batch_of, ids_of
from tests.support.fakes import FakeJudge
from tests.support.tiny_trainer import Scripted, scenes

TEXTS = ["A red circle.", "A blue star.", "A green square.", "A large hexagon."] * 2


class Fragile(FakeJudge):
    """Counts, and calls `breaks` wherever something can go wrong."""

    def __init__(self, breaks: Callable[[str], None] = lambda place: None, **settings: Any) -> None:
        super().__init__(**settings)
        self.breaks = breaks
        self.usage = Usage()
        self.tried = self.woken = self.slept = 0

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        self.breaks("rate")
        self.usage.prompt_tokens += 10 * len(questions)
        return super().rate_each(questions, scale)

    def __enter__(self) -> Any:
        self.tried += 1
        self.breaks("enter")
        self.woken += 1
        return self

    def __exit__(self, *_: Any) -> None:
        self.slept += 1
        self.breaks("exit")


def breaking(place: str, error: BaseException) -> Callable[[str], None]:
    def breaks(here: str) -> None:
        if here == place:
            raise error

    return breaks


def constant(completions: list[Any], **columns: Any) -> list[float]:
    return [1.0] * len(completions)


def metrics_of(trainer: Any) -> dict[str, list[float]]:
    return trainer._metrics["train"]


def test_a_judge_that_cannot_be_woken_fails_its_rows(make: Any) -> None:
    bad, good = Fragile(breaking("enter", OSError("no memory left"))), Fragile()
    rewards = [PoshReward(bad), PoshReward(bad, name="again"), PoshReward(good, name="other")]
    trainer = make(*rewards, constant, span_coef=0.5, max_failed_fraction=1.0)
    assert batch_of(trainer, TEXTS)["advantages"].abs().max() == 0
    assert metrics_of(trainer)["judge/failed_fraction"] == [1.0]
    assert (bad.tried, bad.slept, bad.rated) == (1, 0, [])
    assert good.woken == good.slept > 0
    for recorder in trainer.recorders[:2]:
        (note,) = {verdict.note for verdict in recorder.verdicts}
        assert note.endswith("woken: OSError: no memory left")
    assert not any(verdict.status.failed for verdict in trainer.recorders[2].verdicts)
    bad.breaks = lambda place: None
    batch_of(trainer, TEXTS)  # the next step asks it again
    assert metrics_of(trainer)["judge/failed_fraction"] == [1.0, 0.0]
    assert bad.woken == bad.slept > 0


@pytest.mark.parametrize(
    "judge",
    [
        Fragile(breaking("rate", RuntimeError("the engine died"))),
        Fragile(rate=lambda prompt: Rating(dict.fromkeys(RATING_SCALE, math.nan))),
        Fragile(fails=lambda prompt: True),
    ],
    ids=["raises", "not a number", "failures"],
)
def test_what_the_judge_breaks_is_no_number(make: Any, judge: Any) -> None:
    trainer = make(PoshReward(judge), constant, max_failed_fraction=1.0)
    assert batch_of(trainer, TEXTS)["advantages"].tolist() == [0.0] * 8
    assert metrics_of(trainer)["judge/failed_fraction"] == [1.0]
    assert judge.woken == judge.slept > 0
    verdicts = trainer.recorders[0].verdicts
    assert [(each.score, each.status.failed) for each in verdicts] == [(None, True)] * 8
    trainer.args.max_failed_fraction = 0.5
    note = re.escape(verdicts[0].note)
    with pytest.raises(JudgeFailure, match=rf"100% of .* is 50%\); .* on rank 0: {note}$"):
        batch_of(trainer, TEXTS)


def test_a_judge_that_does_not_fall_asleep_costs_nothing(make: Any) -> None:
    judge = Fragile()
    trainer = make(PoshReward(judge))
    judge.breaks = breaking("exit", OSError("it snores"))
    trainer.recorders[0].reward.judge_samples = lambda samples: [Verdict(0.5) for _ in samples]
    batch_of(trainer, TEXTS)
    assert metrics_of(trainer)["judge/failed_fraction"] == [0.0]


@pytest.mark.parametrize("place", ["enter", "rate"])
def test_ctrl_c_passes_and_leaves_the_judges_asleep(make: Any, place: str) -> None:
    first, second = Fragile(), Fragile(breaking(place, KeyboardInterrupt()))
    trainer = make(PoshReward(first), PoshReward(second, name="other"))
    ids = ids_of(trainer, TEXTS)
    trainer._generate_single_turn = lambda *args, **kwargs: (ids, None)
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    assert first.woken == first.slept > 0
    assert second.woken == second.slept


def test_a_judge_that_two_rewards_share_is_counted_once(make: Any, tmp_path: Path) -> None:
    cached = CachedJudge(Fragile(), tmp_path / "ratings.sqlite")
    trainer = make(PoshReward(cached), PoshReward(cached, name="again"))
    for _ in range(2):
        batch_of(trainer, TEXTS)
    metrics = metrics_of(trainer)
    asked, cold = metrics["judge/questions"], metrics["judge/prompt_tokens"][0]
    assert sum(asked) == cached.hits + cached.misses > 0
    assert cold == 10 * cached.misses > 0
    assert metrics["judge/cached"] == [asked[0] - cached.misses, asked[1]]
    assert metrics["judge/prompt_tokens"] == [cold, 0]


def test_the_none_trap(make: Any) -> None:
    """One of four rows failed, beside another reward. TRL's own sum takes its score for a 0."""
    verdicts = {
        text: Verdict(score) for text, score in zip(TEXTS, [0, 0.8, 0.9, 0.7], strict=False)
    }
    scripted = Scripted({**verdicts, TEXTS[0]: Verdict(None, Status.TIMEOUT)})
    ours = make(scripted, constant, span_coef=0.0, scale_rewards="group")
    stock = make(scripted, constant, stock=True, scale_rewards="group")
    advantages = batch_of(ours, TEXTS)["advantages"].tolist()
    punished = batch_of(stock, TEXTS)["advantages"].tolist()
    unit = 0.1 + 1e-4
    assert advantages == pytest.approx([0, 0, 0.1 / unit, -0.1 / unit] * 2, abs=1e-5)
    std = math.sqrt((0.6**2 + 0.2**2 + 0.3**2 + 0.1**2) / 3)  # of 0, 0.8, 0.9, 0.7
    assert punished[0] == pytest.approx(-0.6 / (std + 1e-4), abs=1e-5)
    assert punished[0] < -1.46


@pytest.mark.parametrize("aggregation", ["sum_then_normalize", "normalize_then_sum"])
@pytest.mark.parametrize("scale", ["group", "batch", "none"])
def test_a_failed_row_moves_nothing_in_any_sum(make: Any, aggregation: str, scale: str) -> None:
    settings = {"multi_objective_aggregation": aggregation, "scale_rewards": scale}
    judge = Fragile(fails=lambda prompt: "hexagon" in prompt)
    trainer = make(PoshReward(judge), constant, span_coef=0.5, **settings)
    advantages = batch_of(trainer, TEXTS)["advantages"]
    assert metrics_of(trainer)["judge/failed_fraction"] == [0.25]
    assert advantages[3].abs().max() == advantages[7].abs().max() == 0
    others = torch.cat([advantages[:3], advantages[4:7]])
    assert others.isfinite().all()
    assert others.abs().max() > 0


def test_a_missing_column_that_the_trainer_cannot_know_of_is_the_same_error(make: Any) -> None:
    lacking = scenes().remove_columns("reference")
    streamed = IterableDataset.from_generator(lambda: iter(lacking))
    assert streamed.column_names is None
    with pytest.raises(ValueError, match="the dataset column 'reference'"):
        make(PoshReward(Fragile()), data=streamed).train()


def test_other_ranks_wait_for_no_deadline(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    reward = PoshReward(ChatJudge("http://127.0.0.1:8000", "m", deadline=600.0))
    make(reward, ddp_timeout=600)
    monkeypatch.setattr(SpanGRPOConfig, "world_size", 2)
    with pytest.raises(ValueError, match=r"may take 600 s .* wait 600 s"):
        make(reward, ddp_timeout=600)
    # what the backend waits counts, not what was asked
    monkeypatch.setattr("spanreward.training.grpo.trainer.wait_at_most", lambda seconds: 500.0)
    with pytest.raises(ValueError, match=r"may take 600 s .* wait 500 s"):
        make(reward, ddp_timeout=1800)


def test_deadlines_that_the_other_ranks_do_not_wait_for(tmp_path: Path) -> None:
    server = ChatJudge("http://127.0.0.1:8000", "m", deadline=1800.0)
    for judge in (server, CachedJudge(server, tmp_path / "ratings.sqlite")):
        check_deadlines([PoshReward(judge)], 1801)
        with pytest.raises(ValueError, match=r"judge of posh .* 1800 s .* wait 1800 s"):
            check_deadlines([PoshReward(FakeJudge(), name="first"), PoshReward(judge)], 1800)
