"""The runner of TRL's tests, on a small file, and on records of runs that differ."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from experiments.trl_tests.command import Side, prepare, report, run

FILE = """
import pytest
from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer

from .testing_utils import TrlTestCase, require_vllm


class TestTrainer(TrlTestCase):
    @pytest.mark.parametrize("beta", [0.0, 0.1])
    def test_train(self, beta):
        data = load_dataset("trl-internal-testing/zen", "standard_prompt_only")
        args = GRPOConfig(
            self.tmp_dir, beta=beta, learning_rate=0.1, per_device_train_batch_size=3, per_device_eval_batch_size=3,
            num_generations=3, max_completion_length=4, max_steps=2, eval_strategy="steps", eval_steps=2,
            report_to="none",
        )
        trainer = GRPOTrainer(
            "trl-internal-testing/tiny-LlamaForCausalLM-3.2",
            "trl-internal-testing/tiny-LlamaForSequenceClassification-3.2", args, data["train"], data["test"],
        )
        trainer.train()
        assert type(trainer).__name__ == "GRPOTrainer"

    @require_vllm
    def test_vllm(self):
        raise AssertionError
"""
OUTCOMES = {"a": ("passed", ""), "b": ("skipped", "needs vllm")}
THEIRS = Side(OUTCOMES, {("a", "train", 0): ("12", '[{"loss": 1.0}]')})


def test_both_trainers_train_alike(tmp_path: Path) -> None:
    (tmp_path / "test_small.py").write_text(FILE)
    (tmp_path / "run").mkdir()
    prepare(tmp_path / "run", tmp_path / "test_small.py")
    sides = {side: run(tmp_path / "run", side, []) for side in ("GRPOTrainer", "SpanGRPOTrainer")}
    found = "\n".join(report(sides))
    assert "| passed | 2 | 0 |" in found
    assert "| left out | 1 | 1 |" in found
    assert "| trainings; with the weights and logs of GRPOTrainer | 2 | 2 of 2 |" in found
    assert "| evaluations; with the weights and logs of GRPOTrainer | 2 | 2 of 2 |" in found
    assert "- 1: needs vllm" in found
    assert "test_train[0.1]: SpanGRPOTrainer: AssertionError: assert 'SpanGRPOTrainer' ==" in found
    assert found.endswith("Different:")


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ({("a", "train", 0): ("13", '[{"loss": 1.0}]')}, "a: call 0, train: other weights"),
        (
            {("a", "train", 0): ("12", '[{"loss": NaN}]')},
            'a: call 0, train: other logs: [{"loss": 1.0 and [{"loss": NaN',
        ),
        ({("a", "train", 1): ("12", "[]")}, "a: call 1, train, was made by one alone"),
        ({}, "a: call 0, train, was made by one alone"),
    ],
)
def test_what_differs_is_told(
    calls: Mapping[tuple[str, str, int], tuple[str, str]], said: str
) -> None:
    ours = replace(THEIRS, calls=MappingProxyType(dict(calls)))
    found = list(report({"GRPOTrainer": THEIRS, "SpanGRPOTrainer": ours}))
    assert found[-1] == f"- SpanGRPOTrainer: {said}"
    assert (
        f"| trainings; with the weights and logs of GRPOTrainer | 1 | 0 of {len(calls)} |" in found
    )
