"""Greedy answers of a policy: alone as in a batch, counted, kept, and by an adapter."""

from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from PIL import Image

from experiments.scenes.parts import TINY
from spanreward.training.evaluation.answers import greedy
from spanreward.training.evaluation.answers.greedy import (
    BATCH_ROWS,
    answers_fingerprint,
    greedy_completions,
    kept_completions,
    with_picture,
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


def test_a_batch_writes_what_each_prompt_alone_would(
    policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prompts of different lengths, so that the batch is padded; and more of them than a batch."""
    long = "Describe the picture in as many words as you can, please."
    prompts = ("Describe.", long, "There is a red star 🦊?", "x", "xx")
    rows = list(map(asked, ("red", "blue", "lime", "red", "blue"), prompts))
    assert len(rows) < BATCH_ROWS
    texts, lengths = greedy_completions(str(policy), rows, 12)
    alone = [greedy_completions(str(policy), [row], 12) for row in rows]
    assert (texts, lengths) == ([one for (one,), _ in alone], [one for _, (one,) in alone])
    assert len(set(texts)) > 1
    monkeypatch.setattr(greedy, "BATCH_ROWS", 2)
    assert greedy_completions(str(policy), rows, 12) == (texts, lengths)


def test_the_end_token_is_not_counted_and_not_written(
    policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, processor = load_policy(str(policy))
    words = processor.tokenizer
    star, circle = words([" star", " circle"], add_special_tokens=False)["input_ids"]
    end, pad = [words.eos_token_id], [words.pad_token_id]
    written = [star + circle + end, circle + end + pad * len(star), end + pad * len(star + circle)]

    class Model(torch.nn.Module):
        device, dtype = "cpu", torch.float32

        def generate(self, input_ids: Any, max_new_tokens: int, do_sample: bool, **_: Any) -> Any:
            assert (max_new_tokens, do_sample) == (5, False)
            return torch.cat([input_ids, torch.tensor(written)], dim=1)

    monkeypatch.setattr(greedy, "load_policy", lambda path, dtype: (Model(), processor))
    lengths = [len(star + circle), len(circle), 0]
    found = greedy_completions("any", [asked("red")] * 3, 5)
    assert found == ([" star circle", " circle", ""], lengths)


def test_the_picture_stands_in_front_of_the_first_message() -> None:
    picture = Image.new("RGB", (2, 2))
    prompt = [{"role": "user", "content": "A?"}, {"role": "assistant", "content": "B."}]
    shown = [{"type": "image", "image": picture}, {"type": "text", "text": "A?"}]
    assert with_picture(prompt, picture) == [{"role": "user", "content": shown}, prompt[1]]
    assert prompt[0]["content"] == "A?"


def test_a_gpu_is_used_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for the device: the policy goes there in bfloat16, and leaves no memory."""
    seen = []

    class Policy(torch.nn.Module):
        def to(self, device: Any) -> Any:  # type: ignore[override]
            seen.append(device)
            return self

    def load(path: str, dtype: str) -> Any:
        seen.append(dtype)
        return Policy(), None

    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.empty_cache", lambda: seen.append("emptied"))
    monkeypatch.setattr(greedy, "load_policy", load)
    monkeypatch.setattr(greedy, "continue_prompts", lambda model, *_, **__: (["A star."], [3]))
    monkeypatch.setattr(greedy, "answers_by_vllm", lambda *_: (["A moon."], [4]))
    for vllm, answer in ((None, (["A star."], [3])), ("vllm", (["A moon."], [4]))):
        monkeypatch.setattr("importlib.util.find_spec", lambda name, found=vllm: found)
        assert greedy_completions("folder", [{}], 8) == answer
        assert seen == ["bfloat16", "cuda", "emptied"]


def test_nothing_is_written_twice(
    policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = kept_completions(str(policy), ROWS, 6, tmp_path / "answers")
    monkeypatch.setattr(greedy, "load_policy", None)  # who asks again falls over it
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
    others.append(answers_fingerprint(str(policy), ROWS, 6, "</think>"))
    (policy / "metrics.jsonl").write_text("{}\n")
    assert answers_fingerprint(str(policy), ROWS, 6) == known  # a log decides nothing
    weights = policy / "model.safetensors"
    weights.write_bytes(weights.read_bytes())  # a run that wrote there again
    assert len({known, *others, answers_fingerprint(str(policy), ROWS, 6)}) == 7


def test_an_adapter_over_a_base(policy: Path, tmp_path: Path) -> None:
    """Only the adapter is in its folder; it answers as base and adapter together do."""
    model, processor = load_policy(str(policy))
    torch.manual_seed(0)
    which: Any = {"target_modules": "all-linear", "task_type": "CAUSAL_LM"}
    config = LoraConfig(r=8, lora_alpha=64, init_lora_weights=False, **which)
    adapted = get_peft_model(model, config)
    adapter, merged = tmp_path / "adapter", tmp_path / "merged"
    adapted.save_pretrained(adapter)
    assert not (adapter / "config.json").exists()
    again, its_processor = load_policy(str(adapter))
    assert its_processor.chat_template == processor.chat_template
    assert sum("lora" in name for name, _ in again.named_parameters()) > 0
    adapted.merge_and_unload().save_pretrained(merged)
    processor.save_pretrained(merged)
    texts = [greedy_completions(str(path), ROWS, 12)[0] for path in (adapter, merged, policy)]
    assert texts[0] == texts[1] != texts[2]
    known = answers_fingerprint(str(adapter), ROWS, 6)
    (policy / "generation_config.json").write_text("{}")
    assert answers_fingerprint(str(adapter), ROWS, 6) != known  # another base


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
