"""Checks the arguments of a trainer before anything is loaded: their types and values, the packages
that these values need, and whether the arguments exclude each other.

TRL's dataclasses check hardly any value, and a trainer reports a missing package only after the
policy is loaded.

    # "Input should be 'grpo', ... or 'vespo'"
    fault_of_setting(SpanGRPOConfig, "loss_type", "dapoo")
    lacking_packages({"optim": "adamw_8bit"})       # {"optim": "... needs bitsandbytes, ..."}
    check_together(SpanGRPOConfig, {"num_generations": 3, ...}, processes=1)
"""

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from importlib.util import find_spec
from typing import Annotated, Any, Literal, get_args, get_type_hints

from pydantic import Field, TypeAdapter, ValidationError

# types of numbers with a range
COUNT_TYPE = Annotated[int, Field(ge=1)]
AMOUNT_TYPE = Annotated[float, Field(ge=0, allow_inf_nan=False)]
POSITIVE_TYPE = Annotated[float, Field(gt=0, allow_inf_nan=False)]
# Adam moves each weight by about the rate in a step: 5 in place of 5e-6 would run to the end.
RATE_TYPE = Annotated[float, Field(ge=0, le=1)]
SHARE_TYPE = Annotated[float, Field(ge=0, le=1)]
# Our types of settings whose annotation in the dataclass is wrong. Such an annotation allows values
# that fail later, such as a negative count, or forbids values that TRL accepts.
SETTING_TYPES: dict[str, Any] = {
    "per_device_train_batch_size": COUNT_TYPE,
    "gradient_accumulation_steps": COUNT_TYPE,
    "num_iterations": COUNT_TYPE,
    "max_completion_length": COUNT_TYPE | None,
    "steps_per_generation": COUNT_TYPE | None,
    "generation_batch_size": COUNT_TYPE | None,
    "learning_rate": RATE_TYPE,
    "beta": AMOUNT_TYPE,
    "warmup_steps": AMOUNT_TYPE,
    "weight_decay": AMOUNT_TYPE,
    "num_train_epochs": POSITIVE_TYPE,
    "temperature": POSITIVE_TYPE,
    "max_steps": Literal[-1] | COUNT_TYPE,
    "num_generations": Annotated[int, Field(ge=2)],
    "max_grad_norm": float | None,
    "scale_rewards": str | bool,
    "fsdp": str | bool | list[str] | None,
}

# The names of settings in other trainers and in earlier versions of TRL, with our advice for each
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

# the values of `report_to` that transformers knows
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
# The allowed texts of each setting, by the dataclass that defines the setting. The trainers compare
# a setting with these texts only later, after the policy is loaded.
SETTING_CHOICES: dict[str, dict[str, tuple[str, ...]]] = {
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
# (module, pip's name of its package) that transformers imports for an optimizer, by a regular
# expression that matches the optimizer's names
OPTIMIZER_PACKAGES = {
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
# settings whose check by the dataclass would access the devices of this machine
OF_DEVICES = ("use_cpu", "deepspeed", "fsdp", "fsdp_config", "tf32", "torch_compile")
# the modules of reporters whose module has another name than the reporter
REPORTER_MODULES = {"azure_ml": "azureml", "flyte": "flytekit"}
# settings that need a package (module, pip's name) unless their value is False or None
SETTINGS_WITH_PACKAGES = {
    "use_liger_kernel": ("liger_kernel", "liger-kernel"),
    "use_vllm": ("vllm", "'spanreward[vllm]'"),
    "deepspeed": ("deepspeed", "deepspeed"),
}


def fault_of_setting(config: type, key: str, value: Any) -> str:
    """Returns the fault of a setting's value, such as "Input should be greater than or equal to 1";
    "" if the value is allowed.

    config: the dataclass of the trainer's arguments. key: the name of a field of this dataclass.
    The types are strict, because TRL would not convert a value: the text "1" is no number, and the
    number 1 is no bool. A field with an Enum takes the text of an Enum's member.
    """
    # check a text against the allowed texts of the setting
    choices = choices_of(config, key)
    unknown: list[str] = []
    if choices:
        unknown = [word for word in texts_of(value) if word not in choices]
    if unknown and not in_help(config, key, unknown):
        *first_choices, last = map(repr, choices)
        return f"Input should be {', '.join(first_choices)} or {last}"
    # check the type: our type from SETTING_TYPES, or the annotation of the dataclass
    kind = SETTING_TYPES.get(key)
    if kind is None:
        kind = get_type_hints(config, include_extras=True)[key]
    return fault_of_type(kind, value)


def fault_of_type(kind: Any, value: Any) -> str:
    """Returns why the value is not of this type, in pydantic's words; "" if it is.

    kind: a type, such as `int | None`. The check is strict. Only a union with an Enum, such as
    `SaveStrategy | str`, takes every member of the first Enum, or the member's text, and no other
    value.
    """
    enums = []
    for alternative in get_args(kind):  # the types of a union
        if isinstance(alternative, type) and issubclass(alternative, Enum):
            enums.append(alternative)
    try:
        if enums:
            # not strict, because a strict check refuses the texts of an Enum's members
            TypeAdapter(enums[0]).validate_python(value, strict=False)
        else:
            TypeAdapter(kind).validate_python(value, strict=True)
    except ValidationError as error:
        messages = dict.fromkeys(detail["msg"] for detail in error.errors())  # each message once
        return " or ".join(messages).replace("or Input should be", "or")
    return ""


def choices_of(config: type, key: str) -> tuple[str, ...]:
    """Returns the allowed texts of a setting; () if the setting has no fixed list of texts."""
    for kind in config.__mro__:  # the dataclass itself, and then its base classes
        choices = SETTING_CHOICES.get(kind.__name__, {})
        if key in choices:
            return choices[key]
    return ()


def texts_of(value: Any) -> list[str]:
    """Returns the texts of a value: "adamw_torch" gives ["adamw_torch"], and a member of an Enum
    gives its text. Entries of a list that are no texts are left out.
    """
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [word for word in value if isinstance(word, str)]
    return []


def in_help(config: Any, key: str, words: list[str]) -> bool:
    """Returns whether the help of the setting in its dataclass mentions all of the words.

    A later version of TRL may allow a text that SETTING_CHOICES does not have; then the help
    mentions the text, as in `'vespo'`.
    """
    text = str(config.__dataclass_fields__[key].metadata.get("help"))
    return all(f"'{word}'" in text for word in words)


def lacking_packages(settings: Mapping[str, Any]) -> dict[str, str]:
    """Returns {setting: a sentence} for each setting whose value needs a package that is not
    installed on this machine.
    """
    # A setting that lacks several packages gets the sentence on the last of them.
    lacking: dict[str, str] = {}
    for key, value, (module, name) in needed_packages(settings):
        if find_spec(module) is None:
            lacking[key] = (
                f"{key} {value!r} needs {module}, which is not installed: pip install {name}, or "
                "give it another value."
            )
    return lacking


def needed_packages(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any, tuple[str, str]]]:
    """Yields (setting, value, (module, pip's name)) for each value that needs a package, such as
    ("optim", "adamw_8bit", ("bitsandbytes", "bitsandbytes")).
    """
    # optimizers and trackers
    for optimizer in texts_of(settings.get("optim")):
        for pattern, package in OPTIMIZER_PACKAGES.items():
            if re.fullmatch(pattern, optimizer):
                yield "optim", optimizer, package
    for reporter in texts_of(settings.get("report_to")):
        if reporter == "tensorboard" and find_spec("tensorboardX") is not None:
            continue  # transformers accepts tensorboardX in place of tensorboard
        if reporter in REPORTERS:  # "all" and "none" need no package
            module = REPORTER_MODULES.get(reporter, reporter)
            yield "report_to", reporter, (module, module.replace("_", "-"))
    # settings that need a package as soon as they are switched on
    for key, package in SETTINGS_WITH_PACKAGES.items():
        if settings.get(key):
            yield key, settings[key], package
    # the implementation of attention
    loading = settings.get("model_init_kwargs")
    if isinstance(loading, Mapping) and loading.get("attn_implementation") == "flash_attention_2":
        yield "model_init_kwargs", loading, ("flash_attn", "flash-attn")


def check_together(config: Any, settings: Mapping[str, Any], processes: int) -> None:
    """Raises an error, mostly ValueError, for settings that exclude each other.

    config: the dataclass of the trainer's arguments, such as SpanGRPOConfig; not an object of it.
    The constructor of this class makes the check and raises the error: an object is built and
    dropped. settings: the arguments of the constructor. processes: the number of training
    processes.

    No device is touched and no other process is waited for, because the judges start later and need
    the devices. So the settings in OF_DEVICES are not checked.
    """
    import torch  # here, because the other functions need no torch

    class Deviceless(config):  # type: ignore[misc]
        """A subclass of `config` that does not look for devices or other processes: it takes the
        CPU, and `processes` as the number of processes.
        """

        _setup_devices = torch.device("cpu")
        _n_gpu = 1
        world_size = processes

    arguments = {key: value for key, value in settings.items() if key not in OF_DEVICES}
    Deviceless(**arguments, use_cpu=True)  # raises for settings that exclude each other
