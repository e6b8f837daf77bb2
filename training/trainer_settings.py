"""Checks trainer arguments before anything is loaded: their types and values, the packages that
they need, and whether they go together. TRL's dataclasses take them unread, and a trainer asks for
a package once its policy is loaded.

    fault(SpanGRPOConfig, "loss_type", "dapoo")     # "Input should be 'grpo', ... or 'vespo'"
    lacking_packages({"optim": "adamw_8bit"})       # {"optim": "... needs bitsandbytes, ..."}
    check_together(SpanGRPOConfig, {"num_generations": 3, ...}, processes=1)
"""

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from importlib.util import find_spec
from typing import Annotated, Any, Literal, get_args, get_type_hints

from pydantic import Field, TypeAdapter, ValidationError

# kinds of numbers, by their ranges
COUNT = Annotated[int, Field(ge=1)]
AMOUNT = Annotated[float, Field(ge=0, allow_inf_nan=False)]
POSITIVE = Annotated[float, Field(gt=0, allow_inf_nan=False)]
# Adam moves each weight by about the rate in a step: 5 in place of 5e-6 would run to the end.
RATE = Annotated[float, Field(ge=0, le=1)]
SHARE = Annotated[float, Field(ge=0, le=1)]
# where the dataclass's annotation allows what cannot be, or forbids what TRL takes
TYPES: dict[str, Any] = {
    "per_device_train_batch_size": COUNT,
    "gradient_accumulation_steps": COUNT,
    "num_iterations": COUNT,
    "max_completion_length": COUNT | None,
    "steps_per_generation": COUNT | None,
    "generation_batch_size": COUNT | None,
    "learning_rate": RATE,
    "beta": AMOUNT,
    "warmup_steps": AMOUNT,
    "weight_decay": AMOUNT,
    "num_train_epochs": POSITIVE,
    "temperature": POSITIVE,
    "max_steps": Literal[-1] | COUNT,
    "num_generations": Annotated[int, Field(ge=2)],
    "max_grad_norm": float | None,
    "scale_rewards": str | bool,
    "fsdp": str | bool | list[str] | None,
}

# What other trainers and earlier versions of TRL call a setting, and what to write here.
OTHER_NAMES = {
    "batch_size": "it is trainer.per_device_train_batch_size here",
    "epochs": "it is trainer.num_train_epochs here",
    "group_size": "it is trainer.num_generations here",
    "kl_coef": "it is trainer.beta here",
    "lr": "it is trainer.learning_rate here",
    "max_new_tokens": "it is trainer.max_completion_length here",
    "max_prompt_length": "TRL cuts no prompts any more, so leave out rows that are too long",
    "num_epochs": "it is trainer.num_train_epochs here",
    "num_samples": "it is trainer.num_generations here",
}

# the trackers that transformers knows
REPORTERS = (
    "azure_ml",
    "clearml",
    "codecarbon",
    "comet_ml",
    "dagshub",
    "dvclive",
    "flyte",
    "kubeflow",
    "mlflow",
    "neptune",
    "swanlab",
    "tensorboard",
    "trackio",
    "wandb",
)
# By the class that has the setting: the texts that it is compared with later on.
CHOICES: dict[str, dict[str, tuple[str, ...]]] = {
    "TrainingArguments": {
        "report_to": ("all", "none", *REPORTERS),
        "train_sampling_strategy": ("random", "sequential", "group_by_length", "batch_rebalance"),
        "log_level": ("debug", "info", "warning", "error", "critical", "passive"),
        "log_level_replica": ("debug", "info", "warning", "error", "critical", "passive"),
    },
    "GRPOConfig": {
        "loss_type": ("grpo", "dr_grpo", "dapo", "bnpo", "cispo", "sapo", "luspo", "vespo"),
        "scale_rewards": ("group", "batch", "none"),
        "importance_sampling_level": ("token", "sequence"),
        "multi_objective_aggregation": ("sum_then_normalize", "normalize_then_sum"),
        "vllm_mode": ("colocate", "server"),
        "vllm_importance_sampling_mode": (
            "token_truncate",
            "token_mask",
            "sequence_truncate",
            "sequence_mask",
        ),
    },
    "SFTConfig": {
        "loss_type": ("nll", "dft", "chunked_nll"),
        "packing_strategy": ("bfd", "bfd_split", "wrapped", "bfd-requeue"),
        "truncation_mode": ("keep_start", "keep_end"),
    },
}
# What transformers imports for an optimizer, by a pattern of its names: the module, and what pip
# calls it.
OPTIMIZERS = {
    r"(paged_)?(adamw|ademamix|lion)_(bnb_)?(8bit|32bit)|ademamix|rmsprop_bnb.*": (
        "bitsandbytes",
        "bitsandbytes",
    ),
    r"adamw_torch_[48]bit": ("torchao", "torchao"),
    r"adamw_anyprecision": ("torchdistx", "torchdistx"),
    r"adamw_torch_xla": ("torch_xla", "torch_xla"),
    r"adamw_torch_npu_fused": ("torch_npu", "torch_npu"),
    r"galore_.*": ("galore_torch", "galore-torch"),
    r"apollo_.*": ("apollo_torch", "apollo-torch"),
    r"(ada)?lomo": ("lomo_optim", "lomo-optim"),
    r"grokadamw": ("grokadamw", "grokadamw"),
    r"schedule_free_.*": ("schedulefree", "schedulefree"),
    r"stable_adamw": ("optimi", "torch-optimi"),
}
# settings that ask the devices of this machine
OF_DEVICES = ("use_cpu", "deepspeed", "fsdp", "fsdp_config", "tf32", "torch_compile")
# of reporters whose module has another name
MODULES = {"azure_ml": "azureml", "flyte": "flytekit"}
# settings that need a package wherever they are not False or None
SWITCHES = {
    "use_liger_kernel": ("liger_kernel", "liger-kernel"),
    "use_vllm": ("vllm", "'spanreward[vllm]'"),
    "deepspeed": ("deepspeed", "deepspeed"),
}


def fault(config: type, key: str, value: Any) -> str:
    """Returns what the dataclass's field `key` takes, in place of the value; "" if it takes the
    value.

    Texts are no numbers, and 1 is no truth value, for TRL would get them as they are. Names in an
    Enum are texts.

    config: the dataclass of the trainer's arguments.
    """
    # a text of a fixed list
    choices = choices_of(config, key)
    unknown: list[str] = []
    if choices:
        unknown = [word for word in words_of(value) if word not in choices]
    if unknown and not in_help(config, key, unknown):
        *first_choices, last = map(repr, choices)
        return f"Input should be {', '.join(first_choices)} or {last}"
    # the type: ours where the dataclass's says too much or too little
    kind = TYPES.get(key)
    if kind is None:
        kind = get_type_hints(config, include_extras=True)[key]
    enums = []
    for member in get_args(kind):
        if isinstance(member, type) and issubclass(member, Enum):
            enums.append(member)
    try:
        if enums:  # not strict, which would take its members and not their texts
            TypeAdapter(enums[0]).validate_python(value, strict=False)
        else:
            TypeAdapter(kind).validate_python(value, strict=True)
    except ValidationError as error:
        messages = dict.fromkeys(detail["msg"] for detail in error.errors())  # each once
        return " or ".join(messages).replace("or Input should be", "or")
    return ""


def choices_of(config: type, key: str) -> tuple[str, ...]:
    """Returns the texts that a setting takes, () where any text may do."""
    for kind in config.__mro__:  # the class, and those that it is built on
        choices = CHOICES.get(kind.__name__, {})
        if key in choices:
            return choices[key]
    return ()


def words_of(value: Any) -> list[str]:
    """Returns the texts in a value that is a text, a text of an Enum or a list of texts."""
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [word for word in value if isinstance(word, str)]
    return []


def in_help(config: Any, key: str, words: list[str]) -> bool:
    """Returns whether the setting's own help names these texts, as that of a later TRL may."""
    text = str(config.__dataclass_fields__[key].metadata.get("help"))
    return all(f"'{word}'" in text for word in words)


def lacking_packages(settings: Mapping[str, Any]) -> dict[str, str]:
    """Returns by setting which package its value needs and this machine lacks, as a sentence."""
    lacking: dict[str, str] = {}  # of a setting the last package, if it needs several
    for key, value, (module, name) in needed_packages(settings):
        if find_spec(module) is None:
            lacking[key] = (
                f"{key} {value!r} needs {module}, which is not installed: pip install {name}, or "
                "give it another value."
            )
    return lacking


def needed_packages(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any, tuple[str, str]]]:
    """Yields a setting, its value, and the module that this value needs with pip's name for it."""
    # settings of which some values need a package
    for optimizer in words_of(settings.get("optim")):
        for pattern, package in OPTIMIZERS.items():
            if re.fullmatch(pattern, optimizer):
                yield "optim", optimizer, package
    for reporter in words_of(settings.get("report_to")):
        if reporter == "tensorboard" and find_spec("tensorboardX") is not None:
            continue  # transformers takes either
        if reporter in REPORTERS:  # "all" and "none" need nothing
            module = MODULES.get(reporter, reporter)
            yield "report_to", reporter, (module, module.replace("_", "-"))
    for key, package in SWITCHES.items():
        if settings.get(key):
            yield key, settings[key], package
    # arguments of the model, of which one value does
    loading = settings.get("model_init_kwargs")
    if isinstance(loading, Mapping) and loading.get("attn_implementation") == "flash_attention_2":
        yield "model_init_kwargs", loading, ("flash_attn", "flash-attn")


def check_together(config: Any, settings: Mapping[str, Any], processes: int) -> None:
    """Raises what the dataclass raises for settings that exclude each other: mostly ValueError.

    No device is touched and no other process waited for, as a judge may start first. What devices
    decide is left out.
    """
    import torch  # late: names are checked without it

    class Deviceless(config):  # type: ignore[misc]
        """The settings as on a CPU, in one of `processes`."""

        _setup_devices = torch.device("cpu")
        _n_gpu = 1
        world_size = processes

    arguments = {key: value for key, value in settings.items() if key not in OF_DEVICES}
    Deviceless(**arguments, use_cpu=True)
