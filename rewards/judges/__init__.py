"""Judges, and the names by which command lines and recipes choose one."""

import inspect
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from rewards.judges.cache import CachedJudge
from rewards.judges.judge import Failure, Judge, Question, Rating
from rewards.judges.match import MatchJudge
from rewards.naming import unknown

__all__ = ["CachedJudge", "Failure", "Judge", "MatchJudge", "Question", "Rating", "closing", "load_judge"]

KINDS = ("match", "transformers", "vllm", "server", "chat")
FORMS = (
    "match, match:embed, transformers:MODEL, vllm:MODEL, server:URL#MODEL or chat:URL#MODEL, where MODEL is a hub id, "
    "a folder, or smollm2"
)
PLACEMENTS = ("per_rank", "rank0")


def load_judge(
    spec: str, cache: bool | str | Path | None = False, placement: str = "per_rank", **options: Any
) -> Judge:
    """A judge by its name: `match`, `match:embed`, `transformers:MODEL`, `vllm:MODEL`, `server:URL#MODEL` or
    `chat:URL#MODEL`.

    MODEL is a hub id, a folder, or `smollm2`. A server must serve it by this name; with `chat`, which is weaker (see
    ServerJudge), it is any name that the server has. Nothing is loaded before the judge is asked or started. SmolLM2's
    ratings are taken however little of the probability is on the scale.

    cache: remember the answers (CachedJudge) in the cache folder, or in the file of that path; None: where a model is
    behind the judge, so not for `match`. placement: `rank0` for one judge that all ranks share (Rank0Judge). options:
    of the judge's class, such as memory or deadline. Raises ValueError for a name, placement or option that does not
    exist.
    """
    if placement not in PLACEMENTS:
        raise ValueError(unknown("placement", placement, PLACEMENTS))
    kind, given = _parts(spec)
    valid = [name for name in inspect.signature(kind).parameters if name not in ("url", "model", "chat")]
    for option in options:
        if option not in valid:
            raise ValueError(unknown(f"option of the judge {spec}:", option, valid))
    judge: Judge = kind(**{**given, **options})
    if cache is None:
        cache = not isinstance(judge, MatchJudge)
    if cache:
        judge = CachedJudge(judge, None if cache is True else cache)
    if placement == "rank0":
        from rewards.judges.rank0 import Rank0Judge

        return Rank0Judge(judge)
    return judge


@contextmanager
def closing(judges: Iterable[Judge]) -> Iterator[None]:
    """End what the judges have started when the `with` ends, however it does."""
    with ExitStack() as ends:
        for judge in judges:
            ends.callback(judge.close)
        yield


def _parts(spec: str) -> tuple[Any, dict[str, Any]]:
    """The judge's class, and what its name says of the arguments. Raises ValueError for a name that is none."""
    kind, _, model = spec.partition(":")
    if spec == "match":
        return MatchJudge, {}
    if spec == "match:embed":
        from rewards.judges.embedding_match import EmbeddingMatchJudge

        return EmbeddingMatchJudge, {}
    if kind == "transformers" and model:
        from rewards.judges.transformers import TransformersJudge

        return TransformersJudge, {"model": model, "min_mass": _floor(model)}
    if kind == "vllm" and model:
        from rewards.judges.vllm import VllmJudge

        return VllmJudge, {"model": model, "min_mass": _floor(model)}
    url, _, served = model.partition("#")
    if kind in ("server", "chat") and url and served:
        from rewards.judges.server import ServerJudge

        return ServerJudge, {"url": url, "model": served, "chat": kind == "chat", "min_mass": _floor(served)}
    if kind in KINDS:
        raise ValueError(f"the judge {spec!r} is not complete, or has too much: a judge is {FORMS}.")
    raise ValueError(f"{unknown('judge', kind, KINDS, spec)} A judge is {FORMS}.")


def _floor(model: str) -> float:
    """SmolLM2 puts 3 to 16 % on the digits of PoSh's questions, half of the time too little to be called a rating."""
    from rewards.judges.encoding import MIN_MASS

    return 0.0 if model == "smollm2" else MIN_MASS
