"""Over which layers an adapter lies, and that a recipe goes on from a saved one."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel, get_peft_model
from safetensors.torch import load_file

from spanreward.rewards.base.verdict import Sample, Verdict
from spanreward.rewards.reward.reward import Reward
from spanreward.training.adapters import lora_config
from spanreward.training.before_loading import faults_of
from spanreward.training.policy import load_policy
from spanreward.training.recipe import LoraPart, Recipe, RecipeError, check_recipe
from spanreward.training.run import build_trainer, run
from tests.support.tiny_models import save_llama, save_llava, save_qwen
from tests.support.tiny_policies import save_qwen3
from tests.support.tiny_sft import sft_recipe

CAPTIONS = [{"prompt": "Say what is there.", "reference": "A red wall."}] * 8


def adapted_layers(model: Any, part: LoraPart) -> set[str]:
    """The names of the layers that get an adapter."""
    adapter = get_peft_model(model, lora_config(part, model))
    names = {name for name, _ in adapter.named_parameters() if "lora_A" in name}
    return {name.removeprefix("base_model.model.").partition(".lora_A")[0] for name in names}


def linear_layers(model: Any) -> set[str]:
    """All but the output layer."""
    head = model.get_output_embeddings()
    modules = [(name, part) for name, part in model.named_modules() if part is not head]
    return {name for name, part in modules if isinstance(part, torch.nn.Linear)}


@pytest.mark.parametrize("save", [save_llama, save_llava, save_qwen, save_qwen3])
def test_the_vision_tower_is_left_out_unless_asked_for(
    save: Callable[[Path], None], tmp_path: Path
) -> None:
    save(tmp_path)
    layers = linear_layers(load_policy(str(tmp_path))[0])
    language = {name for name in layers if name.startswith("model.language_model.")}
    assert language < layers
    adapted = adapted_layers(load_policy(str(tmp_path))[0], LoraPart(r=2))
    assert adapted == (layers if save is save_llama else language)
    every = LoraPart(r=2, target_modules="all-linear")
    assert adapted_layers(load_policy(str(tmp_path))[0], every) == layers


def recipe(folder: Path, model: str, **changes: Any) -> Recipe:
    settings = {"max_steps": 1, "per_device_train_batch_size": 4, "learning_rate": 1e-2}
    logged = {"logging_strategy": "steps", "logging_steps": 1}
    written = sft_recipe(folder, CAPTIONS, **settings, **logged).model_dump()
    policy = {"model": model, "lora": {"r": 2, "alpha": 8}}
    return check_recipe({**written, "output": str(folder / "sft"), "policy": policy, **changes})


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    """What an SFT run of a text model has written."""
    save_llama(tmp_path / "base")
    return run(recipe(tmp_path, str(tmp_path / "base")))


def dapo(folder: Path, adapter: Path, lora: dict[str, Any] | None, **trainer: Any) -> Recipe:
    first = recipe(folder, str(adapter))
    settings = first.trainer | {"num_generations": 2, "max_completion_length": 8} | trainer
    parts = {"policy": {"model": str(adapter), "lora": lora}, "rewards": [{"metric": "posh"}]}
    output = str(folder / "dapo")
    more = {"algorithm": "dapo", "output": output, "trainer": settings}
    return recipe(folder, str(adapter), **parts, **more)


class InTurns(Reward):
    """Scores every other completion 1."""

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        return [Verdict(float(number % 2)) for number in range(len(samples))]


def test_dapo_goes_on_from_the_adapter_of_sft(tmp_path: Path, adapter: Path) -> None:
    written = load_file(adapter / "adapter_model.safetensors")
    told = dapo(tmp_path, adapter, {"r": 2, "alpha": 8}, beta=0.1)
    trainer: Any = build_trainer(told, [InTurns("in_turns")])
    assert isinstance(trainer.model, PeftModel)
    here = dict(trainer.model.named_parameters())
    for name, weights in written.items():
        mine = here[name.replace(".weight", ".default.weight")]
        assert torch.equal(mine, weights)
        assert mine.requires_grad
    trained = {name for name, weights in here.items() if weights.requires_grad}
    assert len(trained) == len(written)
    trainer.train()
    assert trainer.state.log_history[0]["kl"] == pytest.approx(0, abs=1e-6)  # of SFT's policy
    trainer.save_model()
    saved = load_file(tmp_path / "dapo" / "adapter_model.safetensors")
    assert saved.keys() == written.keys()
    assert any(not torch.equal(saved[name], written[name]) for name in saved)
    config = json.loads((tmp_path / "dapo" / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == str(tmp_path / "base")
    load_policy(str(tmp_path / "dapo"))


@pytest.mark.parametrize(
    ("lora", "words"),
    [
        (None, r"adapter over .*base: .* policy.lora to {r: 2, alpha: 8}"),
        ({"r": 4, "alpha": 8}, r"policy.lora has r 4, and the adapter .*sft, .* has 2: set"),
        ({"r": 2, "alpha": 4}, "policy.lora has alpha 4, .* has 8: set policy.lora to {r: 2"),
        ({"r": 2, "alpha": 8, "dropout": 0.5}, "policy.lora has dropout 0.5, .* has 0.0: set"),
        ({"r": 2, "alpha": 8, "target_modules": ["q_proj"]}, "policy.lora has target_modules"),
    ],
)
def test_another_adapter_than_the_recipe_describes(
    lora: dict[str, Any] | None, words: str, tmp_path: Path, adapter: Path
) -> None:
    recipe = dapo(tmp_path, adapter, lora)
    with pytest.raises(RecipeError, match=words):
        run(recipe)
    assert not (tmp_path / "dapo").exists()
    (fault,) = faults_of(recipe, 1)  # which the dry run prints
    assert fault[0] == "policy"
    assert re.search(words, fault[1])
