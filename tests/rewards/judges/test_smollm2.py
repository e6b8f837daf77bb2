"""The packaged model as a folder that transformers and vLLM load."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

from spanreward.rewards.judges import smollm2


def test_an_answer_ends_where_the_model_says(tmp_path: Path, monkeypatch: Any) -> None:
    """transformers 5.17 took a turn's first token for its end: sampling ran into the next."""
    tokenizer = AutoTokenizer.from_pretrained(smollm2.smollm2_folder())
    tokenizer.eos_token, tokenizer.pad_token = "<|im_start|>", None
    sizes = {"hidden_size": 8, "intermediate_size": 8}
    sizes |= {"num_hidden_layers": 1, "num_attention_heads": 2}
    packaged = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), eos_token_id=2, **sizes))
    packaged.config.quantization_config = {}
    models = SimpleNamespace(
        from_pretrained=lambda **_: packaged, from_config=AutoModelForCausalLM.from_config
    )
    with monkeypatch.context() as patch:
        patch.setattr("transformers.AutoModelForCausalLM", models)
        patch.setattr(
            "transformers.AutoTokenizer", SimpleNamespace(from_pretrained=lambda **_: tokenizer)
        )
        smollm2._convert_model(tmp_path / "packaged.gguf", tmp_path)
    written = AutoTokenizer.from_pretrained(tmp_path)
    assert (written.eos_token, written.pad_token) == ("<|im_end|>", "<|im_end|>")
