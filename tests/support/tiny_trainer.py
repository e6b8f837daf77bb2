"""The tiny policy, few short completions, rewards whose scores a test decides."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from experiments.scenes.parts import TINY, scenes_part
from spanreward.rewards import Reward, Sample, Verdict
from spanreward.training.data.load import load_data
from spanreward.training.grpo.trainer import SpanGRPOConfig, SpanGRPOTrainer
from spanreward.training.policy import load_policy

COMMON: dict[str, Any] = {
    "per_device_train_batch_size": 8, "num_generations": 4, "max_completion_length": 24,
    "max_steps": 2, "learning_rate": 1e-3, "logging_steps": 1, "save_strategy": "no",
    "report_to": "none", "bf16": False, "gradient_checkpointing": False, "use_cpu": True,
    "disable_tqdm": True, "seed": 3,
}  # fmt: skip


class Scripted(Reward):
    """Verdicts chosen by the completion's text."""

    def __init__(self, verdicts: dict[str, Verdict], name: str = "scripted") -> None:
        super().__init__(name)
        self.verdicts = verdicts

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        return [self.verdicts[sample.completion] for sample in samples]


class Scored(Reward):
    """Scores, or whole verdicts, by a function of the sample; keeps every sample it was given."""

    def __init__(self, judge: Callable[[Sample], float | Verdict], name: str = "scored") -> None:
        super().__init__(name)
        self.judge = judge
        self.seen: list[Sample] = []

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        self.seen += samples
        found = [self.judge(sample) for sample in samples]
        return [score if isinstance(score, Verdict) else Verdict(score) for score in found]


def scenes(count: int = 16) -> Dataset:
    """Scenes whose prompts end with their row's number, so that a reward can tell them apart."""
    data = load_data(scenes_part(count=count))
    prompts = [[{"role": "user", "content": f"What is in picture {row}"}] for row in range(count)]
    return data.remove_columns("prompt").add_column("prompt", prompts)


def number_of(sample: Sample) -> int:
    """The row of `scenes` that a sample's prompt names."""
    return int(sample.prompt.split()[-1])


def make_trainer(
    path: Path, dataset: Dataset, rewards: list[Any], stock: bool = False, **settings: Any
) -> Any:
    model, processor = load_policy(TINY, seed=1)
    processor.tokenizer.padding_side = "left"  # as TRL loads it
    names = ("peft_config", "callbacks", "tools", "environment_factory", "rollout_func")
    options = {name: settings.pop(name) for name in names if name in settings}
    arguments = {**COMMON, "output_dir": str(path), **settings}
    args = GRPOConfig(**arguments) if stock else SpanGRPOConfig(**arguments)
    kind = GRPOTrainer if stock else SpanGRPOTrainer
    parts = {"model": model, "processing_class": processor, "train_dataset": dataset, **options}
    return kind(reward_funcs=rewards, args=args, **parts)


def advantages_of(
    trainer: GRPOTrainer,
    dataset: Dataset,
    texts: Sequence[str],
    monkeypatch: pytest.MonkeyPatch,
    end: bool = True,
) -> dict[str, Any]:
    """One scored batch for given completions: two prompts, four completions each."""
    tokenizer = trainer.processing_class.tokenizer
    last = [tokenizer.eos_token_id] if end else []
    ids = [tokenizer(text)["input_ids"] + last for text in texts]
    monkeypatch.setattr(trainer, "_generate_single_turn", lambda *args, **kwargs: (ids, None))
    rows = [dataset[i // 4] for i in range(8)]
    trainer.model.train()
    return trainer._generate_and_score_completions(rows)
