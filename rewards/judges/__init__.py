"""Judges, and the names by which command lines and recipes choose one."""

from rewards.judges.cache import CachedJudge
from rewards.judges.judge import Failure, Judge, Question, Rating
from rewards.judges.match import MatchJudge
from rewards.naming import unknown

__all__ = ["CachedJudge", "Failure", "Judge", "MatchJudge", "Question", "Rating", "load_judge"]

FORMS = "match, match:embed, transformers:MODEL or vllm:MODEL, where MODEL is a hub id, a folder, or smollm2"


def load_judge(spec: str) -> Judge:
    """A judge by its name: `match`, `match:embed`, `transformers:MODEL` or `vllm:MODEL`.

    MODEL is a hub id, a folder, or `smollm2`. Nothing is loaded before the judge is asked. SmolLM2's ratings are taken
    however little of the probability is on the scale. Raises ValueError for any other name.
    """
    kind, _, model = spec.partition(":")
    if spec == "match":
        return MatchJudge()
    if spec == "match:embed":
        from rewards.judges.embedding_match import EmbeddingMatchJudge

        return EmbeddingMatchJudge()
    if kind == "transformers" and model:
        from rewards.judges.transformers import TransformersJudge

        return TransformersJudge(model, min_mass=_floor(model))
    if kind == "vllm" and model:
        from rewards.judges.vllm import VllmJudge

        return VllmJudge(model, min_mass=_floor(model))
    if kind == "server":
        raise ValueError(f"the judge {spec!r}: this version has no server judges yet. A judge is {FORMS}.")
    if kind in ("match", "transformers", "vllm"):
        raise ValueError(f"the judge {spec!r} is not complete, or has too much: a judge is {FORMS}.")
    raise ValueError(f"{unknown('judge', kind, ('match', 'transformers', 'vllm'), spec)} A judge is {FORMS}.")


def _floor(model: str) -> float:
    """SmolLM2 puts 3 to 16 % on the digits of PoSh's questions, half of the time too little to be called a rating."""
    from rewards.judges.encoding import MIN_MASS

    return 0.0 if model == "smollm2" else MIN_MASS
