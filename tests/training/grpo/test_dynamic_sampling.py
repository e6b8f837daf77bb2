"""Dynamic sampling: what is drawn, that the batch stays full, and that nothing is counted twice."""

import math
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from trl import GRPOTrainer

from spanreward.rewards import Sample, Span, Status, Verdict
from spanreward.training.grpo.dynamic_sampling import (
    DynamicSampling,
    Rollout,
    draw_row_numbers,
    groups_to_draw,
    has_variance,
    reward_of,
    round_groups,
    share_of_rank,
)
from tests.support.batches import lines_of
from tests.support.tiny_trainer import Scored, number_of

WEIGHTS = {"a": 1.0, "b": 2.0}
FAILED = Verdict(None, Status.ERROR)


def rollout(a: float | None, b: float | None = 0.5, status: Status = Status.OK) -> Rollout:
    status = Status.NOT_APPLICABLE if a is None and not status.failed else status
    verdicts = {"a": Verdict(a, status), "b": Verdict(b, Status.OK if b is not None else status)}
    return Rollout([1], None, "", verdicts, reward_of(verdicts, WEIGHTS))


@pytest.mark.parametrize(
    ("group", "found"),
    [
        ([rollout(0.5), rollout(0.5)], False),
        ([rollout(0.5), rollout(0.25)], True),
        ([rollout(0.5), rollout(0.5 + 1e-9)], False),
        ([rollout(0.5), rollout(0.514)], False),  # a deviation of .0099
        ([rollout(0.5), rollout(0.515)], True),
        ([rollout(1.0, 0.0), rollout(0.0, 0.5)], False),  # 1 x 1 + 2 x 0 = 1 x 0 + 2 x 0.5
        ([rollout(0.5), rollout(None, None, Status.TIMEOUT)], False),
        ([rollout(None, None, Status.ERROR)] * 2, False),
        ([rollout(0.5), rollout(None, 0.5, Status.ERROR), rollout(0.25)], True),
        ([rollout(None), rollout(0.0)], False),  # the reward that does not apply adds nothing
        ([rollout(None), rollout(0.5)], True),
    ],
)
def test_variance_is_of_the_weighted_scores(group: list[Rollout], found: bool) -> None:
    assert has_variance(group, 0.01) is found


def test_without_a_spread_the_least_difference_counts() -> None:
    assert not has_variance([rollout(0.3)] * 8, 0.0)
    assert has_variance([rollout(0.3)] * 7 + [rollout(0.3 + 1e-9)], 0.0)


def test_a_reward_is_the_weighted_sum_of_scores() -> None:
    assert rollout(0.5, 0.25).reward == 1.0
    assert rollout(None, None).reward is None
    assert rollout(None, 0.25, Status.ERROR).reward is None
    # a reward of weight 0 is not looked at
    for verdicts, reward in (
        ({"a": Verdict(0.5), "b": FAILED}, 1.0),
        ({"a": FAILED, "b": Verdict(0.5)}, None),
        ({"b": Verdict(0.5)}, None),
    ):
        assert reward_of(verdicts, {"a": 2.0, "b": 0.0}) == reward


def test_the_mean_reward_is_that_of_the_drafts_that_have_one() -> None:
    settings = SimpleNamespace(max_resamples=0, seed=0, dynamic_sampling_spread=0.0)

    def mean(*drafts: Rollout) -> float:
        count = len(drafts)
        filled = DynamicSampling([], settings).fill(
            [{}] * count, lambda rows: [list(drafts)], count, 0, 1
        )
        return filled[2]["reward"]

    assert mean(rollout(0.5, 0.25), rollout(None, None), rollout(0.5, 0.5)) == 1.25
    assert math.isnan(mean(rollout(None, None)))


@pytest.mark.parametrize(
    ("missing", "size", "ranks", "drawn"),
    [(1, 8, 1, 1), (3, 8, 2, 3), (3, 3, 2, 4), (1, 4, 8, 2), (5, 6, 4, 6), (7, 1, 4, 8)],
)
def test_rounds_split_over_the_ranks(missing: int, size: int, ranks: int, drawn: int) -> None:
    assert round_groups(missing, size, ranks) == drawn
    assert drawn * size % ranks == 0
    rows = list(range(drawn * size))
    assert [row for rank in range(ranks) for row in share_of_rank(rows, rank, ranks)] == rows


@pytest.mark.parametrize(
    ("missing", "useful", "seen", "batch", "drawn"),
    [
        (2, 6, 8, 8, 3),
        (4, 4, 8, 8, 8),
        (1, 1, 2, 2, 2),
        (8, 0, 8, 8, 8),
        (1, 7, 8, 8, 2),
        (3, 60, 64, 64, 4),
    ],
)
def test_as_many_are_drawn_as_will_probably_do(
    missing: int, useful: int, seen: int, batch: int, drawn: int
) -> None:
    assert groups_to_draw(missing, useful, seen, batch) == drawn


def test_prompts_are_drawn_reproducibly_and_every_row_once_a_pass() -> None:
    rows: list[int] = []
    for first, last in ((0, 3), (3, 7), (7, 15)):
        rows += draw_row_numbers(5, 1, first, last)
    assert [Counter(rows[i : i + 5]) for i in (0, 5, 10)] == [Counter(range(5))] * 3
    assert rows[:5] != rows[5:10]
    assert draw_row_numbers(5, 1, 0, 15) == rows
    assert draw_row_numbers(5, 2, 0, 15) != rows


def described(row: int, place: int) -> str:
    return f"There {'is' if place % 2 else 'are'} {row} things" + " and a star" * place + "."


@pytest.fixture
def sampled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Trainers sample `described` for a row and a place in its group; lists the rows sampled."""
    seen: list[int] = []

    def sample(
        trainer: Any, prompt_ids: list[list[int]], *args: Any, **kwargs: Any
    ) -> tuple[list[list[int]], None]:
        tokenizer, size = trainer.processing_class.tokenizer, trainer.num_generations
        prompts = [tokenizer.decode(ids, skip_special_tokens=True) for ids in prompt_ids]
        rows = [int(prompt.split()[-1]) for prompt in prompts]
        seen.extend(rows[::size])
        texts = [described(row, number % size) for number, row in enumerate(rows)]
        return [tokenizer(text)["input_ids"] + [tokenizer.eos_token_id] for text in texts], None

    monkeypatch.setattr(GRPOTrainer, "_generate_single_turn", sample)
    return seen


def half_solved(sample: Sample) -> float:
    """Prompts of even number are solved."""
    return 1.0 if number_of(sample) % 2 == 0 else min(len(sample.completion) / 100, 1.0)


def step(trainer: GRPOTrainer, rows: list[int]) -> dict[str, Any]:
    """The scored batch of these rows of the dataset, each completed num_generations times."""
    trainer.model.train()
    inputs = [trainer.train_dataset[row] for row in rows for _ in range(trainer.num_generations)]
    return trainer._generate_and_score_completions(inputs)


def rows_of(trainer: GRPOTrainer, output: dict[str, Any]) -> list[int]:
    """The rows whose completions a batch has."""
    ids = output["completion_ids"]
    texts = trainer.processing_class.batch_decode(ids, skip_special_tokens=True)
    return [int(text.split()[2]) for text in texts]


def logs_of(trainer: Any) -> dict[str, list[Any]]:
    logs = {name: log for name, log in trainer._logs.items() if name != "images"}
    logs |= {**logs.pop("rewards"), **logs.pop("extra")}
    return {name: list(log) for name, log in logs.items()}


def test_solved_prompts_are_replaced_and_all_else_is_theirs(make: Any, sampled: list[int]) -> None:
    """Every tensor, metric and log is that of stock sampling of the prompts that it ended with."""
    settings: dict[str, Any] = {"span_coef": 0.0, "num_iterations": 2, "max_completion_length": 64}
    asked: list[int] = []

    def shaped(completions: list[Any], log_extra: Any, **columns: Any) -> list[float]:
        asked.append(len(completions))
        lengths = [len(completion[0]["content"]) for completion in completions]
        log_extra("length", lengths)
        return [-0.01 * length for length in lengths]

    trainer = make(Scored(half_solved), shaped, dynamic_sampling=True, **settings)
    output = step(trainer, [1, 2])
    drawn = sampled[2:]
    assert drawn == draw_row_numbers(16, 3, 0, len(drawn))
    # what a round finds beyond the one that was missing is dropped
    odd = [row for row in drawn if row % 2][:1]
    assert not [row for row in drawn[:-2] if row % 2]  # half had variance: two at a time were drawn
    assert rows_of(trainer, output) == [1] * 4 + odd * 4
    assert asked == [8]  # what is no Reward is only asked of the batch that is trained on

    stock = make(Scored(half_solved), shaped, **settings)
    expected = step(stock, [1, odd[0]])
    torch.testing.assert_close(output, expected)
    metrics, plain = ({**t._metrics["train"]} for t in (trainer, stock))
    counts = {name: metrics.pop(name) for name in list(metrics) if name.startswith("sampling/")}
    for name in [name for name in plain if name.startswith("judge/")]:
        del metrics[name], plain[name]  # what the judges did is of all that was drawn
    assert metrics == plain
    scores = [min(len(described(1, place)) / 100, 1.0) for place in range(4)]
    assert counts == {
        "sampling/reward": [pytest.approx((sum(scores) + 4) / 8)],
        "sampling/rounds": [len(drawn) / 2],
        "sampling/drawn_groups": [len(drawn)],
        "sampling/resampled_groups": [1],
        "sampling/unfilled_groups": [0],
    }
    assert trainer.state.num_input_tokens_seen == stock.state.num_input_tokens_seen
    assert logs_of(trainer) == logs_of(stock)
    (recorder,), (other,) = trainer.recorders, stock.recorders
    assert recorder.verdicts == other.verdicts
    texts = [[sample.completion for sample in each.samples] for each in (recorder, other)]
    assert texts[0] == texts[1]


def test_leftovers_stay_when_the_rounds_are_used_up(make: Any, sampled: list[int]) -> None:
    reward = Scored(lambda sample: 0.25)
    trainer = make(reward, dynamic_sampling=True, max_resamples=3)
    output = step(trainer, [4, 5])
    assert rows_of(trainer, output) == [4] * 4 + [5] * 4
    assert len(sampled) == 2 + 3 * 2
    assert len(reward.seen) == 4 * len(sampled)
    assert output["advantages"].abs().max() == 0
    metrics = trainer._metrics["train"]
    names = ("rounds", "drawn_groups", "resampled_groups", "unfilled_groups")
    assert [metrics[f"sampling/{name}"] for name in names] == [[3], [6], [0], [2]]


def test_a_full_batch_is_sampled_once(make: Any, sampled: list[int]) -> None:
    reward = Scored(half_solved)
    trainer = make(reward, dynamic_sampling=True)
    step(trainer, [3, 5])
    assert (sampled, len(reward.seen)) == ([3, 5], 8)
    assert trainer._metrics["train"]["sampling/rounds"] == [0]


def test_evaluation_takes_the_prompts_as_they_are(make: Any, sampled: list[int]) -> None:
    trainer = make(Scored(half_solved), dynamic_sampling=True)
    trainer.model.eval()
    trainer._generate_and_score_completions([trainer.train_dataset[2]] * 8)
    assert sampled == [2, 2]
    assert not [name for name in trainer._metrics["eval"] if name.startswith("sampling/")]


@pytest.mark.usefixtures("sampled")
def test_failures_count_over_all_that_was_judged(make: Any) -> None:
    """Every completion of prompt 4 fails: it is replaced, and still counts as failed."""

    def judge(sample: Sample) -> Verdict:
        if number_of(sample) == 4:
            return Verdict(None, Status.TIMEOUT, note="too slow")
        return Verdict(half_solved(sample))

    trainer = make(Scored(judge), dynamic_sampling=True)
    step(trainer, [4, 5])
    metrics = trainer._metrics["train"]
    drawn = metrics["sampling/drawn_groups"][0]
    assert metrics["judge/failed_fraction"] == [pytest.approx(1 / (2 + drawn))]
    assert not any(trainer._batch.failed)


@pytest.mark.parametrize("settings", [{"span_coef": 0.5}, {"scale_rewards": "batch"}], ids=str)
@pytest.mark.usefixtures("sampled")
def test_advantages_are_those_of_the_merged_batch(make: Any, settings: dict[str, Any]) -> None:
    def judge(sample: Sample) -> Verdict:
        count, end = len(sample.completion.split()), len(sample.completion)
        wrong = Span(0, 5, 0.0, -0.1 * count, "entity", "", 0)
        spans = wrong, Span(end - 2, end, 1.0, 0.2, "entity", "", 1)
        return Verdict(half_solved(sample), spans=spans)

    settings = {"max_completion_length": 64, **settings}
    trainer = make(Scored(judge), dynamic_sampling=True, **settings)
    output = step(trainer, [2, 7])
    expected = step(make(Scored(judge), **settings), rows_of(trainer, output)[::4])
    torch.testing.assert_close(output["advantages"], expected["advantages"])
    assert output["advantages"].std() > 0.1


@pytest.mark.usefixtures("sampled")
def test_log_probabilities_are_kept(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each token's log-probability, as of vLLM, follows its completion into the merged batch."""
    plain = GRPOTrainer._generate_single_turn

    def sample(*args: Any, **kwargs: Any) -> tuple[list[list[int]], list[list[float]]]:
        ids, _ = plain(*args, **kwargs)
        return ids, [[-token / 1000 for token in row] for row in ids]

    monkeypatch.setattr(GRPOTrainer, "_generate_single_turn", sample)
    output = step(make(Scored(half_solved), dynamic_sampling=True), [2, 5])
    mask = output["completion_mask"].bool()
    expected = -output["completion_ids"][mask] / 1000
    torch.testing.assert_close(output["sampling_per_token_logps"][mask], expected)


@pytest.mark.usefixtures("sampled")
def test_the_effective_batch_stays_full_on_half_solved_data(make: Any) -> None:
    """Groups without variance are in stock batches, and in none of ours."""
    for dynamic, empty in ((False, [0.5, 0.5, 0.5, 0]), (True, [0, 0, 0, 0])):
        settings = {"max_steps": 4, "max_resamples": 20, "dynamic_sampling": dynamic}
        trainer = make(Scored(half_solved), **settings)
        trainer.train()
        lines = lines_of(trainer)
        assert [line["frac_reward_zero_std"] for line in lines] == empty
    assert sum(line["sampling/resampled_groups"] for line in lines) == 3
    assert sum(line["sampling/drawn_groups"] for line in lines) == trainer.sampling.drawn >= 3
    assert [line["sampling/unfilled_groups"] for line in lines] == [0, 0, 0, 0]
