"""Judges by the names that command lines and recipes use, and how they are started and ended together.

A new kind of judge is one line of KINDS.
"""

import inspect
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from rewards.judges.judge import Judge
from rewards.judges.shared.cached_judge import CachedJudge
from rewards.judges.shared.rank0_judge import Rank0Judge
from rewards.naming import unknown
from rewards.own_class import is_own, own_class

# A judge's name up to what it is given, as `kind:GIVEN`; its class, imported when it is asked for; what it is given.
KINDS = {
    "match": ("match.match_judge.MatchJudge", ""),
    "match:embed": ("match.embedding_match.EmbeddingMatchJudge", ""),
    "transformers": ("local.transformers_judge.TransformersJudge", "MODEL"),
    "vllm": ("local.vllm_judge.VllmJudge", "MODEL"),
    "server": ("remote.server_judge.ServerJudge", "URL#MODEL"),
    "chat": ("remote.chat_judge.ChatJudge", "URL#MODEL"),
}
NAMES = ", ".join(f"{kind}:{given}" if given else kind for kind, (_, given) in KINDS.items())
FORMS = (
    f"{NAMES}, where MODEL is a hub id, a folder, or smollm2, and URL may be several with commas between; "
    "or FILE.py:CLASS, a judge of your own"
)
PLACEMENTS = ("per_rank", "rank0")


def load_judge(
    spec: str, cache: bool | str | Path | None = False, placement: str = "per_rank", **options: Any
) -> Judge:
    """A judge by its name: `match`, `match:embed`, `transformers:MODEL`, `vllm:MODEL`, `server:URL#MODEL`,
    `chat:URL#MODEL`, or `FILE.py:CLASS` for one of your own (see rewards/own_class.py).

    MODEL is a hub id, a folder, or `smollm2`. URL is one, or several of servers with the same model, with commas
    between (see Pool). A server must serve it by this name; with `chat`, which is weaker (see
    ChatJudge), it is any name that the server has. Nothing is loaded before the judge is asked or started. SmolLM2's
    ratings are taken however little of the probability is on the scale.

    cache: remember the answers (CachedJudge) in the cache folder, or in the file of that path; None: where a model is
    behind the judge, so not for `match`.
    placement: `rank0` for one judge that all ranks share (Rank0Judge).
    options: of the judge's class, such as memory or deadline.

    Raises ValueError for a name, placement or option that does not exist.
    """
    if placement not in PLACEMENTS:
        raise ValueError(unknown("placement", placement, PLACEMENTS))
    judge_class, given = _parts(spec)
    valid = [option for option in options_of(judge_class) if option not in given]
    for option in options:
        if option not in valid:
            raise ValueError(unknown(f"option of the judge {spec}:", option, valid))
    if given.get("model") == "smollm2":  # 3 to 16 % on the digits of PoSh's questions: half of the time no rating
        options = {"min_mass": 0.0, **options}
    judge = judge_class(**given, **options)
    if cache is None:
        cache = bool(given)
    if cache:
        judge = CachedJudge(judge, None if cache is True else cache)
    if placement == "rank0":
        return Rank0Judge(judge)
    return judge


@contextmanager
def closing(judges: Iterable[Judge]) -> Iterator[None]:
    """End what the judges have started when the `with` ends, however it does."""
    with ExitStack() as ends:
        for judge in judges:
            ends.callback(judge.close)
        yield


def options_of(judge_class: type[Judge]) -> list[str]:
    """What a judge's class can be told, by name; `**settings` are those of the class above it."""
    parameters = inspect.signature(judge_class).parameters.values()
    names = [one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    passed_on = any(one.kind is one.VAR_KEYWORD for one in parameters)
    return names + (options_of(judge_class.__mro__[1]) if passed_on else [])


def _parts(spec: str) -> tuple[type[Judge], dict[str, str]]:
    """A judge's class, and what its name says of the arguments. Raises ValueError for a name that does not exist."""
    if is_own(spec):
        return own_class(spec, Judge), {}
    if spec in KINDS and not KINDS[spec][1]:
        return _class(spec), {}
    kind, _, given = spec.partition(":")
    if kind not in KINDS:
        raise ValueError(f"{unknown('judge', kind, KINDS, spec)} A judge is {FORMS}.")
    names = [part.lower() for part in KINDS[kind][1].split("#")]
    values = given.split("#", len(names) - 1)
    if not all(names) or not all(values) or len(values) < len(names):
        raise ValueError(f"the judge {spec!r} is not complete, or has too much: a judge is {FORMS}.")
    return _class(kind), dict(zip(names, values, strict=True))


def _class(kind: str) -> type[Judge]:
    module, _, name = KINDS[kind][0].rpartition(".")
    found: type[Judge] = getattr(import_module(f"rewards.judges.{module}"), name)
    return found
