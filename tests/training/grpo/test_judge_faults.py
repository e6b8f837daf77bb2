"""Judges that fail in a step of the real TRL trainer: rows without a score, never a number, and no
run that hangs.
"""

import math
import re
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset

from experiments.scenes.parts import scenes_part
from spanreward.rewards import HarmonicReward, LaveReward
from spanreward.rewards.base.verdict import Status, Verdict
from spanreward.rewards.judges import CachedJudge, Failure, Question, Rating
from spanreward.rewards.judges.judge import RATING_SCALE
from spanreward.rewards.judges.remote.chat_judge import ChatJudge
from spanreward.rewards.judges.usage import Usage
from spanreward.rewards.posh import PoshReward
from spanreward.training.data.load import load_data
from spanreward.training.grpo.recorder import check_deadlines
from spanreward.training.grpo.trainer import JudgeFailure, SpanGRPOConfig
from tests.support.fakes import FakeJudge
from tests.support.tiny_trainer import Scripted, advantages_of, make_trainer

TEXTS = ["A red circle.", "A blue star.", "A green square.", "A large hexagon."]


class Fragile(FakeJudge):
    """Counts, and calls `breaks` wherever something can go wrong."""

    def __init__(self, breaks: Callable[[str], None] = lambda place: None, **settings: Any) -> None:
        super().__init__(**settings)
        self.breaks = breaks
        self.usage = Usage()
        self.tried = self.woken = self.slept = self.outermost = 0

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        self.breaks("rate")
        self.usage.prompt_tokens += 10 * len(questions)
        return super().rate_each(questions, scale)

    def __enter__(self) -> Any:
        self.tried += 1
        self.breaks("enter")
        self.outermost += self.woken == self.slept
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


def test_a_judge_that_rewards_share_wakes_once_a_step(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = Fragile()
    rows = dataset.add_column("question", ["What is it?"] * len(dataset))
    rows = rows.add_column("answers", [["star"]] * len(dataset))
    rewards = [
        PoshReward(judge),
        LaveReward(judge, rationale=False),
        HarmonicReward(judge, evidence="context"),
    ]
    trainer = make_trainer(tmp_path, rows, rewards, span_coef=0.5)
    for step in (1, 2):
        advantages_of(trainer, rows, TEXTS * 2, monkeypatch)
        assert judge.outermost == step
    assert judge.woken == judge.slept


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load_data(scenes_part(count=16))


def metrics_of(trainer: Any) -> dict[str, list[float]]:
    return {
        name: values
        for name, values in trainer._metrics["train"].items()
        if name.startswith("judge/")
    }


def test_a_judge_that_cannot_be_woken_fails_its_rows(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = Fragile(breaking("enter", OSError("no memory left"))), Fragile()
    rewards = [
        PoshReward(bad),
        PoshReward(bad, name="again"),
        PoshReward(good, name="other"),
        constant,
    ]
    trainer = make_trainer(tmp_path, dataset, rewards, span_coef=0.5, max_failed_fraction=1.0)
    output = advantages_of(trainer, dataset, TEXTS * 2, monkeypatch)
    assert output["advantages"].abs().max() == 0
    assert metrics_of(trainer)["judge/failed_fraction"] == [1.0]
    assert (bad.tried, bad.slept, bad.rated) == (1, 0, [])
    assert good.woken == good.slept > 0
    for recorder in trainer.recorders[:2]:
        (note,) = {verdict.note for verdict in recorder.verdicts}
        assert note.endswith("woken: OSError: no memory left")
    assert not any(verdict.status.failed for verdict in trainer.recorders[2].verdicts)
    bad.breaks = lambda place: None
    advantages_of(trainer, dataset, TEXTS * 2, monkeypatch)  # the next step asks it again
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
def test_what_the_judge_breaks_is_no_number(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch, judge: Any
) -> None:
    trainer = make_trainer(
        tmp_path, dataset, [PoshReward(judge), constant], max_failed_fraction=1.0
    )
    output = advantages_of(trainer, dataset, TEXTS * 2, monkeypatch)
    assert output["advantages"].tolist() == [0.0] * 8
    metrics = metrics_of(trainer)
    assert metrics["judge/failed_fraction"] == [1.0]
    assert judge.woken == judge.slept > 0
    assert [verdict.score for verdict in trainer.recorders[0].verdicts] == [None] * 8


def test_a_judge_that_does_not_fall_asleep_costs_nothing(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = Fragile()
    trainer = make_trainer(tmp_path, dataset, [PoshReward(judge)])
    judge.breaks = breaking("exit", OSError("it snores"))
    trainer.recorders[0].reward.judge_samples = lambda samples: [Verdict(0.5) for _ in samples]
    advantages_of(trainer, dataset, TEXTS * 2, monkeypatch)
    assert metrics_of(trainer)["judge/failed_fraction"] == [0.0]


@pytest.mark.parametrize("place", ["enter", "rate"])
def test_ctrl_c_passes_and_leaves_the_judges_asleep(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    first, second = Fragile(), Fragile(breaking(place, KeyboardInterrupt()))
    trainer = make_trainer(tmp_path, dataset, [PoshReward(first), PoshReward(second, name="other")])
    answers = [trainer.processing_class.tokenizer(text)["input_ids"] for text in TEXTS * 2]
    monkeypatch.setattr(trainer, "_generate_single_turn", lambda *args, **kwargs: (answers, None))
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    assert first.woken == first.slept > 0
    assert second.woken == second.slept


def test_a_judge_that_two_rewards_share_is_counted_once(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = Fragile()
    cached = CachedJudge(judge, tmp_path / "ratings.sqlite")
    trainer = make_trainer(
        tmp_path / "out", dataset, [PoshReward(cached), PoshReward(cached, name="again")]
    )
    for _ in range(2):
        advantages_of(trainer, dataset, TEXTS * 2, monkeypatch)
    metrics = metrics_of(trainer)
    asked, cold = metrics["judge/questions"], metrics["judge/prompt_tokens"][0]
    assert sum(asked) == cached.hits + cached.misses > 0
    assert cold == 10 * cached.misses > 0
    assert metrics["judge/cached"] == [asked[0] - cached.misses, asked[1]]
    assert metrics["judge/prompt_tokens"] == [cold, 0]


def test_the_none_trap(tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of four rows failed, beside another reward.

    TRL's own sum takes the missing score for a 0.
    """
    scores = dict(zip(TEXTS, [None, 0.8, 0.9, 0.7], strict=True))
    verdicts = {
        t: Verdict(s, Status.TIMEOUT if s is None else Status.OK) for t, s in scores.items()
    }
    settings = {"span_coef": 0.0, "scale_rewards": "group"}
    ours = make_trainer(tmp_path / "ours", dataset, [Scripted(verdicts), constant], **settings)
    stock = make_trainer(
        tmp_path / "stock",
        dataset,
        [Scripted(verdicts), constant],
        stock=True,
        scale_rewards="group",
    )
    advantages = advantages_of(ours, dataset, TEXTS * 2, monkeypatch)["advantages"].tolist()
    punished = advantages_of(stock, dataset, TEXTS * 2, monkeypatch)["advantages"].tolist()
    assert advantages == pytest.approx(
        [0, *[value / (0.1 + 1e-4) for value in (0, 0.1, -0.1)]] * 2, abs=1e-5
    )
    std = math.sqrt((0.6**2 + 0.2**2 + 0.3**2 + 0.1**2) / 3)  # of 0, 0.8, 0.9, 0.7
    assert punished[0] == pytest.approx(-0.6 / (std + 1e-4), abs=1e-5)
    assert punished[0] < -1.46


@pytest.mark.parametrize("aggregation", ["sum_then_normalize", "normalize_then_sum"])
@pytest.mark.parametrize("scale", ["group", "batch", "none"])
def test_a_failed_row_moves_nothing_however_rewards_are_put_together(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch, aggregation: str, scale: str
) -> None:
    settings = {"multi_objective_aggregation": aggregation, "scale_rewards": scale}
    judge = Fragile(fails=lambda prompt: "hexagon" in prompt)
    trainer = make_trainer(
        tmp_path, dataset, [PoshReward(judge), constant], span_coef=0.5, **settings
    )
    output = advantages_of(trainer, dataset, TEXTS * 2, monkeypatch)
    assert metrics_of(trainer)["judge/failed_fraction"] == [0.25]
    assert output["advantages"][3].abs().max() == output["advantages"][7].abs().max() == 0
    others = torch.cat([output["advantages"][:3], output["advantages"][4:7]])
    assert others.isfinite().all()
    assert others.abs().max() > 0


def test_a_dead_server_stops_the_run_in_one_sentence(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    judge = ChatJudge(f"http://127.0.0.1:{port}", "m", deadline=1.0)
    trainer = make_trainer(
        tmp_path, dataset, [PoshReward(judge), constant], max_failed_fraction=0.5
    )
    answers = [trainer.processing_class.tokenizer(text)["input_ids"] for text in TEXTS * 2]
    monkeypatch.setattr(trainer, "_generate_single_turn", lambda *args, **kwargs: (answers, None))
    with pytest.raises(JudgeFailure) as error:
        trainer.train()
    told = rf"100% of .*\(max_failed_fraction is 50%\); .* rank 0: .*127.0.0.1:{port} within 1 s"
    assert re.match(told, str(error.value))
    assert "\n" not in str(error.value)
    assert metrics_of(trainer)["judge/timeout"][0] > 0


def test_the_trainer_looks_at_deadlines_where_there_are_other_ranks(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = ChatJudge("http://127.0.0.1:8000", "m", deadline=600.0)
    make_trainer(tmp_path / "one", dataset, [PoshReward(judge)], ddp_timeout=600)
    monkeypatch.setattr(SpanGRPOConfig, "world_size", 2)
    with pytest.raises(ValueError, match=r"may take 600 s .* wait 600 s"):
        make_trainer(tmp_path / "two", dataset, [PoshReward(judge)], ddp_timeout=600)
    # what the backend waits counts, not what was asked
    monkeypatch.setattr("spanreward.training.grpo.trainer.wait_at_most", lambda seconds: 500.0)
    with pytest.raises(ValueError, match=r"may take 600 s .* wait 500 s"):
        make_trainer(tmp_path / "three", dataset, [PoshReward(judge)], ddp_timeout=1800)


def test_deadlines_that_the_other_ranks_do_not_wait_for(tmp_path: Path) -> None:
    server = ChatJudge("http://127.0.0.1:8000", "m", deadline=1800.0)
    for judge in (server, CachedJudge(server, tmp_path / "ratings.sqlite")):
        check_deadlines([PoshReward(judge)], 1801)
        with pytest.raises(
            ValueError,
            match=r"judge of posh .* 1800 s .* wait 1800 s \(ddp_timeout",
        ):
            check_deadlines([PoshReward(FakeJudge(), name="first"), PoshReward(judge)], 1800)
