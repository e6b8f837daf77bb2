"""Loads a judge's weights into this process: as they are, or with a LoRA adapter."""

from pathlib import Path
from typing import Any

from transformers import (
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoModelForSeq2SeqLM,
    GenerationConfig,
)
from transformers.integrations import is_deepspeed_zero3_enabled


def load_model(folder: Path, dtype: str, device: str, adapter: Path | None = None) -> Any:
    """Loads the folder's model in evaluation mode: an image-text or encoder-decoder model if its configuration says so.

    Raises RuntimeError under ZeRO-3, which would partition the judge, and FileNotFoundError for an adapter's folder
    without its files.
    """
    if is_deepspeed_zero3_enabled():
        raise RuntimeError(
            "ZeRO-3 is on, and would partition the judge with the policy: call judge.start() before the training "
            "arguments are made."
        )
    config = AutoConfig.from_pretrained(folder)
    seeing = type(config) in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
    text_model = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    model: Any = (AutoModelForImageTextToText if seeing else text_model).from_pretrained(folder, dtype=dtype)
    model = model.to(device)
    if adapter is not None:
        for name in ("adapter_config.json", "adapter_model.safetensors"):
            if not (adapter / name).is_file():
                raise FileNotFoundError(
                    f"the judge's adapter {adapter} has no {name}: give the folder peft has saved to"
                )
        from peft import PeftModel  # in the extra `train`, which judges without an adapter do not need

        model = PeftModel.from_pretrained(model, str(adapter)).merge_and_unload()  # type: ignore[operator]
    # A model's own settings may have a repetition penalty, which changes greedy texts.
    ends = model.generation_config.eos_token_id
    end = ends[0] if isinstance(ends, list) else ends
    start = model.generation_config.decoder_start_token_id
    model.generation_config = GenerationConfig(eos_token_id=ends, pad_token_id=end, decoder_start_token_id=start)
    return model.eval()
