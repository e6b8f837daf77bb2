"""Makes judges by the names that command lines and recipes use.

A new kind of judge is one line in JUDGE_KINDS.
"""

import inspect
import re
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import NoneType
from typing import Any, get_args

from spanreward.rewards.base.checks import MIN_SPELLING_RATIO, check_known, unknown_name_message
from spanreward.rewards.base.needs import missing_package_sentence
from spanreward.rewards.files.custom_file import custom_part, is_custom
from spanreward.rewards.files.http_client import without_secret
from spanreward.rewards.judges.cache.cached_judge import CachedJudge
from spanreward.rewards.judges.judge import Judge

# Each kind of judge, with its class and the form of its name. A judge is named `kind:FORM`, such as
# `server:http://localhost:8000#my-model`. The class is a path below spanreward.rewards, and its
# module is imported when the judge is made. No other file of judges/ names an experimental judge.
JUDGE_KINDS = {
    "match": ("judges.match.match_judge.MatchJudge", ""),
    "encoder": ("experimental.encoder_judge.EncoderJudge", "MODEL"),
    "transformers": ("judges.local.transformers_judge.TransformersJudge", "MODEL"),
    "vllm": ("judges.local.vllm_judge.VllmJudge", "MODEL"),
    "server": ("judges.remote.server_judge.ServerJudge", "URL#MODEL"),
    "chat": ("judges.remote.chat_judge.ChatJudge", "URL#MODEL"),
    # its options are student, teacher, sure, audit and seed
    "cascade": ("experimental.cascade_judge.CascadeJudge", ""),
}
# The types of an argument that takes no text (`_is_number`).
NUMBER_TYPES = {int, float, NoneType}
JURY_CLASS = "experimental.jury_judge.JuryJudge"


def _names_of_kinds() -> str:
    """Returns the names of all kinds with their forms: "match, encoder:MODEL, ..."."""
    names: list[str] = []
    for kind, (_, form) in JUDGE_KINDS.items():
        names.append(f"{kind}:{form}" if form else kind)
    return ", ".join(names)


JUDGE_NAMES = _names_of_kinds()
# Matches the + between two judges of a jury. After that + comes `KIND:`, a whole name such as
# `match`, or `FILE.py:`. Any other + is part of a folder's name.
MEMBER_SEPARATOR = re.compile(rf"\+(?=[a-z]+:|(?:{'|'.join(JUDGE_KINDS)})(?:\+|$)|[^+:]+\.py:)")
FORMS_OF_A_NAME = (
    f"{JUDGE_NAMES}, where MODEL is a hub id, a folder, or smollm2; or FILE.py:NAME, a judge of "
    "your own "
    "or its class; or several with + between, whose mean rating counts"
)


def load_judge(spec: str, cache: bool | str | Path | None = False, **options: Any) -> Judge:
    """Makes a judge by its name: `match`, `encoder:MODEL`, `transformers:MODEL`, `vllm:MODEL`,
    `server:URL#MODEL`, `chat:URL#MODEL`, `cascade`, or `FILE.py:NAME` for a judge of your own or
    its class (files/custom_file.py). Several names with `+` between them make a jury of these
    judges (JuryJudge), which takes no options.

    MODEL is a hub id, a folder, or `smollm2`. With `server` it must be the name under which the
    server serves the model. With `chat`, which is weaker (see ChatJudge), it is any name that the
    server has. The model loads when the judge is first started or asked. For `smollm2`, min_mass is
    0: a rating counts however little probability is on the scale.

    cache: True keeps the answers in the cache folder (CachedJudge), a path keeps them in that file,
    and False does not keep them. None keeps them in the cache folder if the name gives a model or
    is `cascade`, and does not keep them otherwise, as for `match`. options: arguments of the
    judge's class, such as memory or deadline.

    Raises ValueError for an unknown name or option, and ImportError if a package is missing.
    """
    judge, has_model = _make_judge(spec, options)
    if cache is None:
        cache = has_model
    if not cache:
        return judge
    path = cache if isinstance(cache, str | Path) else None
    return CachedJudge(judge, path)


def names_of_members(judge: str) -> list[str]:
    """Returns the names of a jury's judges: ["match", "encoder:FOLDER"] for "match+encoder:FOLDER".
    For a judge that is no jury the list has its one name.
    """
    return MEMBER_SEPARATOR.split(judge)


def as_judge(judge: Judge | str) -> Judge:
    """Returns a judge as it is, and makes the judge of a name by `load_judge`.

    Raises ValueError for anything else.
    """
    if isinstance(judge, str):
        return load_judge(judge)
    if not isinstance(judge, Judge):
        raise ValueError(
            f"a judge is a Judge or its name, such as 'match' or 'vllm:MODEL', got {judge!r}"
        )
    return judge


def options_of(judge_class: type[Judge]) -> list[str]:
    """Returns the names of the arguments that a judge's class takes. If its `__init__` has
    `**settings`, the arguments of the base class are included.

    For ServerJudge these are url, model and tokenizer, and all arguments of RemoteJudge.
    """
    parameters = inspect.signature(judge_class).parameters.values()
    names: list[str] = []
    for parameter in parameters:
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            names.append(parameter.name)
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        names += options_of(judge_class.__mro__[1])
    return names


def _is_number(judge_class: type[Judge], option: str) -> bool:
    """Returns whether an argument takes only numbers or None, by its annotation in the class or in
    a base class: True for `float` or `int | None`, False for `str | float`.
    """
    for kind in judge_class.__mro__:
        parameter = inspect.signature(kind).parameters.get(option)
        if parameter is not None:
            # `get_args` gives the types of a union, and nothing for a single type
            types = get_args(parameter.annotation) or (parameter.annotation,)
            return set(types) <= NUMBER_TYPES
    return False


def _make_judge(spec: str, options: dict[str, Any]) -> tuple[Judge, bool]:
    """Returns the judge, and whether its name gives a model, so that its answers are worth caching.

    Raises ValueError for options that the judge's class does not take, for a text in place of a
    number, and for a missing argument.
    """
    if len(names_of_members(spec)) > 1:
        return _make_jury(spec, options)
    # A user's file may hold a finished judge in place of a class.
    judge_class: Any
    from_name: dict[str, str] = {}
    if is_custom(spec):
        judge_class = custom_part(spec, Judge, options)
    else:
        judge_class, from_name = _class_and_arguments(spec)
    if isinstance(judge_class, Judge):
        return judge_class, False
    _check_options(spec, judge_class, from_name, options)
    arguments = {**from_name, **_final_options(spec, from_name, options)}
    # `bind` finds a missing argument without calling the class. So a TypeError that the class
    # itself raises is not mistaken for a missing argument.
    try:
        inspect.signature(judge_class).bind(**arguments)
    except TypeError as error:
        raise ValueError(f"the judge {without_secret(spec)} is not complete: {error}.") from error
    has_model = bool(from_name) or spec == "cascade"
    return judge_class(**arguments), has_model


def _final_options(
    spec: str, from_name: Mapping[str, str], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the options with the judges of a cascade in place of their names, and with SmolLM2's
    min_mass if none is given.

    spec: the judge's name. from_name: the arguments that the name gives, such as the model.
    """
    final = dict(options)
    if spec == "cascade":
        for key in ("student", "teacher"):
            if key in final:
                final[key] = as_judge(final[key])
    # SmolLM2 puts only 3 to 16 % of the probability on the digits for PoSh's questions. The default
    # MIN_MASS would refuse half of its ratings.
    if from_name.get("model") == "smollm2":
        final.setdefault("min_mass", 0.0)
    return final


def _check_options(
    spec: str,
    judge_class: type[Judge],
    from_name: Mapping[str, str],
    options: Mapping[str, Any],
) -> None:
    """Raises ValueError for options that the judge's class does not take, and for a text in place
    of a number.

    spec: the judge's name. from_name: the arguments that the name already gives, such as the model,
    which may not be options, too.
    """
    valid = [option for option in options_of(judge_class) if option not in from_name]
    check_known(f"option of the judge {without_secret(spec)}:", options, valid)
    for name, value in options.items():
        if isinstance(value, str) and _is_number(judge_class, name):
            raise ValueError(
                f"{name} of the judge {without_secret(spec)} is a number without a unit, such as "
                f"8e9 for 8 GB, got {value!r}."
            )


def _make_jury(spec: str, options: dict[str, Any]) -> tuple[Judge, bool]:
    """Returns the jury of several judges, and whether the name of at least one member gives a
    model.
    """
    if options:
        raise ValueError(
            f"the jury {without_secret(spec)} takes no options, got {', '.join(options)}."
        )
    judges = []
    has_model = False
    for name in names_of_members(spec):
        judge, has_own_model = _make_judge(name, {})
        judges.append(judge)
        has_model = has_model or has_own_model
    jury_class = _class_at(JURY_CLASS)
    return jury_class(*judges), has_model


def _class_and_arguments(spec: str) -> tuple[type[Judge], dict[str, str]]:
    """Returns the judge's class, and the arguments that its name gives.

    For "server:http://localhost:8000#my-model" the arguments are {"url": "http://localhost:8000",
    "model": "my-model"}. Raises ValueError for an unknown kind and for a name that does not have
    its kind's form, and ImportError if the class's package is missing.
    """
    kind, colon, rest = spec.partition(":")
    if kind not in JUDGE_KINDS:
        raise _unknown_judge(spec)
    where, form = JUDGE_KINDS[kind]
    arguments = _arguments_in_form(form, rest if colon else None)
    if arguments is None:
        raise ValueError(
            f"the judge {without_secret(spec)!r} is not complete, or has too much: a judge is "
            f"{FORMS_OF_A_NAME}."
        )
    try:
        judge_class = _class_at(where)
    except ModuleNotFoundError as error:
        raise ImportError(
            missing_package_sentence(f"the judge {without_secret(spec)}", error) or str(error)
        ) from error
    return judge_class, arguments


def _arguments_in_form(form: str, text: str | None) -> dict[str, str] | None:
    """Returns the arguments in the part of a judge's name after the colon, or None if that part
    does not have the form.

    The form URL#MODEL and the text "http://h#m" give {"url": "http://h", "model": "m"}. If the text
    has more # than the form, the last argument contains the rest: "http://h#a#b" has the model
    "a#b".

    form: "" if nothing may follow the kind. text: None if the name has no colon.
    """
    if not form:
        return {} if text is None else None
    if text is None:
        return None
    names = form.lower().split("#")
    values = text.split("#", maxsplit=len(names) - 1)
    has_all_values = len(values) == len(names) and all(values)
    if not has_all_values:
        return None
    return dict(zip(names, values, strict=True))


def _unknown_judge(spec: str) -> ValueError:
    """Returns the error for an unknown judge, with a suggestion. A secret in a url is not shown."""
    # "vllm/MODEL" has a slash in place of the colon
    engine, slash, name = spec.partition("/")
    if slash and engine in JUDGE_KINDS:
        return ValueError(f"unknown judge {spec!r}: did you mean '{engine}:{name}'?")
    # "vlm:MODEL" has a misspelt kind
    kind, _, rest = spec.partition(":")
    if get_close_matches(kind, JUDGE_KINDS, 1, MIN_SPELLING_RATIO):
        return ValueError(
            f"{unknown_name_message('judge', kind, JUDGE_KINDS, without_secret(spec))} A judge is "
            f"{FORMS_OF_A_NAME}."
        )
    # The message shows how to ask the model or the server that the name gives.
    may_have_secret = without_secret(spec) != spec
    if may_have_secret:  # no part of the name is shown
        url, model = "URL", "MODEL"
    elif rest.startswith("//"):  # "https://host" is the url of a server
        url, model = spec, "MODEL"
    else:  # "openai:gpt-4o" and "gpt-4o" give the model gpt-4o
        url, model = "URL", rest or spec
    how = (
        f"chat:{url}#{model} or server:{url}#{model} behind an API, vllm:{model} or "
        f"transformers:{model} here"
    )
    return ValueError(
        f"unknown judge {without_secret(spec)!r}: a model is named with how it is asked, {how}."
    )


def _class_at(place: str) -> Any:
    """Imports a module of spanreward.rewards, and returns a class of that module.

    place: the path, such as "judges.match.match_judge.MatchJudge".
    """
    module, _, name = place.rpartition(".")
    return getattr(import_module(f"spanreward.rewards.{module}"), name)
