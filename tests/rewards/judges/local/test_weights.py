"""How a judge's weights come in: number formats, and ZeRO-3, which must not touch them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate.utils.deepspeed import HfDeepSpeedConfig
from PIL import Image
from transformers.integrations import deepspeed

from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from tests.support.tiny_models import ask, close, questions, save_llama, save_llava, save_qwen

SEEN = [ask("Rate it.", Image.new("RGB", (60, 40), "red"))]


@pytest.mark.parametrize("save", [save_llama, save_llava, save_qwen])
def test_bfloat16_on_the_cpu(save: Any, tmp_path: Path) -> None:
    save(tmp_path)
    single, half = (
        TransformersJudge(str(tmp_path), dtype=one, min_mass=0.0) for one in ("float32", "bfloat16")
    )
    asked = questions()[:3] + (SEEN if single.sees_pictures else [])
    masses, others = ([rating.mass for rating in judge.rate(asked)] for judge in (half, single))
    assert masses != others
    assert {weights.dtype for weights in half._model.parameters()} == {torch.bfloat16}
    assert all(isinstance(text, str) for text in half.write(asked, 3))
    assert half.name != single.name


@pytest.fixture
def zero3() -> Iterator[Any]:
    """What makes ZeRO-3 known to transformers, as the training arguments do it."""
    settings = {"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": 1}

    def activate() -> HfDeepSpeedConfig:
        if deepspeed.is_deepspeed_available():
            return deepspeed.HfDeepSpeedConfig(settings)
        # without the package transformers' own only checks for it and does this
        config = HfDeepSpeedConfig(settings)
        deepspeed.set_hf_deepspeed_config(config)
        return config

    yield activate
    deepspeed.unset_hf_deepspeed_config()


@pytest.mark.parametrize("save", [save_llama, save_qwen])
def test_zero3_does_not_partition_the_judge(save: Any, tmp_path: Path, zero3: Any) -> None:
    save(tmp_path)
    early, late = (TransformersJudge(str(tmp_path), min_mass=0.0) for _ in range(2))
    asked = questions()[:3] + (SEEN if early.sees_pictures else [])
    early.start()
    before = early.rate(asked)
    sizes = {name: weights.shape for name, weights in early._model.named_parameters()}
    config = zero3()
    assert deepspeed.is_deepspeed_zero3_enabled()
    for use in (late.start, lambda: late.rate(asked)):
        with pytest.raises(RuntimeError, match=r"call judge.start\(\) before"):
            use()
    assert close(early.rate(asked), before)
    assert {name: weights.shape for name, weights in early._model.named_parameters()} == sizes
    assert min(weights.numel() for weights in early._model.parameters()) > 0
    del config  # ZeRO-3 lasts as long as this object
    assert not deepspeed.is_deepspeed_zero3_enabled()
    assert close(late.rate(asked), before)
