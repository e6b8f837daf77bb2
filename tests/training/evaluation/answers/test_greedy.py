"""Answers that are kept, and a policy that is an adapter."""

from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from PIL import Image

from experiments.scenes.parts import TINY
from spanreward.training.evaluation.answers.greedy import (
    answers_fingerprint,
    greedy_completions,
    kept_completions,
)
from spanreward.training.policy import load_policy


def asked(colour: str, prompt: str = "Describe.") -> dict[str, Any]:
    image = Image.new("RGB", (48, 48), colour)
    return {"prompt": [{"role": "user", "content": prompt}], "image": image}


ROWS = [asked("red"), asked("blue")]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("policy")
    for part in load_policy(TINY):
        part.save_pretrained(folder)
    return folder


def test_nothing_is_written_twice(
    policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = kept_completions(str(policy), ROWS, 6, tmp_path / "answers")
    # who asks again falls over it
    monkeypatch.setattr("spanreward.training.evaluation.answers.greedy.load_policy", None)
    assert kept_completions(str(policy), ROWS, 6, tmp_path / "answers") == first
    with pytest.raises(TypeError):
        kept_completions(str(policy), ROWS, 7, tmp_path / "answers")
    assert len(list((tmp_path / "answers").iterdir())) == 1


def test_whatever_decides_the_answers_changes_the_fingerprint(policy: Path) -> None:
    known = answers_fingerprint(str(policy), ROWS, 6)
    assert known == answers_fingerprint(str(policy), [dict(row) for row in ROWS], 6)
    changed = [[asked("green"), ROWS[1]], [asked("red", "Say."), ROWS[1]], ROWS[:1]]
    others = [answers_fingerprint(str(policy), rows, 6) for rows in changed]
    others.append(answers_fingerprint("someone/policy", ROWS, 6))
    (policy / "metrics.jsonl").write_text("{}\n")
    assert answers_fingerprint(str(policy), ROWS, 6) == known  # a log decides nothing
    weights = policy / "model.safetensors"
    weights.write_bytes(weights.read_bytes())  # a run that wrote there again
    assert len({known, *others, answers_fingerprint(str(policy), ROWS, 6)}) == 6


def test_an_adapter_over_a_base(policy: Path, tmp_path: Path) -> None:
    """Only the adapter is in its folder; it answers as base and adapter together do."""
    model, processor = load_policy(str(policy))
    torch.manual_seed(0)
    which: Any = {"target_modules": "all-linear", "task_type": "CAUSAL_LM"}
    config = LoraConfig(r=8, lora_alpha=64, init_lora_weights=False, **which)
    adapted = get_peft_model(model, config)
    adapted.save_pretrained(tmp_path / "adapter")
    assert not (tmp_path / "adapter" / "config.json").exists()
    again, its_processor = load_policy(str(tmp_path / "adapter"))
    assert its_processor.chat_template == processor.chat_template
    merged = adapted.merge_and_unload()
    merged.save_pretrained(tmp_path / "merged")
    processor.save_pretrained(tmp_path / "merged")
    texts, _ = greedy_completions(str(tmp_path / "adapter"), ROWS, 12)
    assert texts == greedy_completions(str(tmp_path / "merged"), ROWS, 12)[0]
    assert texts != greedy_completions(str(policy), ROWS, 12)[0]
    assert sum("lora" in name for name, _ in again.named_parameters()) > 0
    known = answers_fingerprint(str(tmp_path / "adapter"), ROWS, 6)
    (policy / "generation_config.json").write_text("{}")
    assert answers_fingerprint(str(tmp_path / "adapter"), ROWS, 6) != known  # another base


def test_of_a_policy_that_thinks_first_only_the_answer_is_written(
    policy: Path, tmp_path: Path
) -> None:
    """An untrained policy writes noise, of which a part stands for the tag."""
    whole, lengths = greedy_completions(str(policy), ROWS, 12)
    tag = whole[0][2:4]
    answers, same = kept_completions(str(policy), ROWS, 12, tmp_path / "answers", reasoning_end=tag)
    assert answers == [text.partition(tag)[2] for text in whole]
    assert answers[0] != whole[0]
    assert same == lengths  # what was thought was sampled too
    assert answers_fingerprint(str(policy), ROWS, 12, tag) != answers_fingerprint(
        str(policy), ROWS, 12
    )
