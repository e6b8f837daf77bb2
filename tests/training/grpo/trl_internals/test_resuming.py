"""A resumed run is the uninterrupted one: weights, data order, drawn prompts, batches."""

import logging
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import Accelerator
from peft import LoraConfig
from transformers import TrainerState

from experiments.scenes.parts import TINY
from spanreward.rewards import Sample
from spanreward.training.policy import load_policy
from tests.support.batches import lines_of, weights_of
from tests.support.tiny_trainer import Scored, make_trainer, number_of, scenes


def score(sample: Sample) -> float:
    """Prompts of even number are solved."""
    return 1.0 if number_of(sample) % 2 == 0 else sum(map(str.islower, sample.completion)) / 100


SHORT = {"save_strategy": "steps", "max_completion_length": 8}
QUARTERS = {"steps_per_generation": 2, "per_device_train_batch_size": 4, "num_iterations": 2}


def run(
    folder: Path, resume: Path | None = None, data: Any = None, **settings: Any
) -> tuple[Any, list[int]]:
    """The trainer after its run of 8 steps, and the prompts it completed in turn."""
    reward = Scored(score)
    settings = {**SHORT, "max_steps": 8, "save_steps": 4, **settings}
    trainer = make_trainer(folder, scenes(6) if data is None else data, [reward], **settings)
    trainer.train(resume_from_checkpoint=None if resume is None else str(resume))
    return trainer, [number_of(sample) for sample in reward.seen[::4]]


@pytest.mark.parametrize(
    "settings",
    [
        # step 4 is in the second pass over the data, whose order is another
        {"dynamic_sampling": True},
        {"dynamic_sampling": True, **QUARTERS},
        {"peft_config": LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")},
    ],
    ids=["dynamic", "iterations", "lora"],
)  # fmt: skip
def test_a_resumed_run_is_the_uninterrupted_one(tmp_path: Path, settings: dict[str, Any]) -> None:
    whole, prompts = run(tmp_path / "whole", **settings)
    resumed, later = run(tmp_path / "resumed", tmp_path / "whole" / "checkpoint-4", **settings)
    assert prompts[-len(later) :] == later
    assert len(later) < len(prompts)
    losses = [[line["loss"] for line in lines_of(each)[4:]] for each in (whole, resumed)]
    assert losses[0] == losses[1]
    assert len(losses[0]) == 4
    assert max(line.get("grad_norm", 0.0) for line in whole.state.log_history) > 1e-3
    assert torch.equal(weights_of(resumed), weights_of(whole))
    if "dynamic_sampling" in settings:
        assert whole.sampling.drawn == resumed.sampling.drawn > 0


def test_the_last_file_says_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run killed the moment that it is there is resumed from that checkpoint."""
    present: list[set[str]] = []
    save = TrainerState.save_to_json

    def seen(*_: Any) -> None:
        present.append({path.name for path in (tmp_path / "checkpoint-1").glob("*")})

    def write(state: TrainerState, path: str) -> None:
        seen()
        save(state, path)

    monkeypatch.setattr(TrainerState, "save_to_json", write)
    monkeypatch.setattr(Accelerator, "wait_for_everyone", seen)
    run(tmp_path, max_steps=1, save_steps=1, dynamic_sampling=True)
    after = {path.name for path in (tmp_path / "checkpoint-1").iterdir()}
    others_awaited, at_the_end = [names for names in present if "rng_state.pth" in names][:2]
    assert others_awaited == at_the_end == after - {"trainer_state.json"}
    assert {"trainer_state.json", "rng_state.pth", "sampling.json"} <= after


@pytest.mark.parametrize("count", [6, 64], ids=["several epochs", "within an epoch"])
def test_a_finished_run_makes_no_more_steps(
    tmp_path: Path, count: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor is anything judged; the policy is the checkpoint's."""
    settings = {"data": scenes(count), "max_steps": 2, "save_steps": 2}
    whole, _ = run(tmp_path / "whole", **settings)
    resumed, prompts = run(tmp_path / "resumed", tmp_path / "whole" / "checkpoint-2", **settings)
    assert (resumed.state.global_step, prompts) == (2, [])
    assert "had made its 2 steps" in caplog.text
    assert torch.equal(weights_of(resumed), weights_of(whole))


def test_saves_within_a_batch_are_told_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Saved after 3 of 4 passes over a batch: its prompts are completed again."""
    settings = {**QUARTERS, "save_steps": 3}
    with caplog.at_level(logging.WARNING, logger="spanreward.training"):
        _, prompts = run(tmp_path / "whole", **settings)
        assert "save_steps=3 ends within the 4" in caplog.text
        _, later = run(tmp_path / "resumed", tmp_path / "whole" / "checkpoint-3", **settings)
    assert "checkpoint-3 was saved within" in caplog.text
    assert (len(prompts), later) == (4, prompts)


def test_a_streams_second_pass_is_told_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Its first pass ends with the third step. A run resumed there is the uninterrupted one."""

    def prompts(folder: str, resume: Path | None = None) -> list[int]:
        data = scenes(6).with_format(None).to_iterable_dataset()
        with caplog.at_level(logging.WARNING, logger="spanreward.training"):
            return run(tmp_path / folder, resume, data, max_steps=5, save_steps=1)[1]

    whole = prompts("whole")
    told = "was saved in a later pass over"
    assert prompts("first", tmp_path / "whole" / "checkpoint-3") == whole[6:]
    assert told not in caplog.text
    assert prompts("second", tmp_path / "whole" / "checkpoint-4") != whole[8:]
    assert f"checkpoint-4 {told}" in caplog.text


def test_the_best_model_is_the_best_ones_weights(tmp_path: Path) -> None:
    trainer = make_trainer(tmp_path / "a", scenes(6), [Scored(score)])
    best, _ = load_policy(TINY, seed=5)
    best.save_pretrained(tmp_path / "best")
    trainer.state.best_model_checkpoint = str(tmp_path / "best")
    trainer._load_best_model()
    pairs = zip(trainer.model.parameters(), best.parameters(), strict=True)
    assert all(torch.equal(*pair) for pair in pairs)


def test_a_folder_without_weights_is_an_error(tmp_path: Path) -> None:
    trainer = make_trainer(tmp_path / "a", scenes(6), [Scored(score)])
    with pytest.raises((OSError, ValueError)):
        trainer._load_from_checkpoint(str(tmp_path))
