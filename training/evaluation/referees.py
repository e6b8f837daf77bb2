"""Who judges a comparison: the reward that a model was trained on, another judge, or a metric without a judge.

    trained_on(sides)                                   # {("posh", "match")}: metric and judge, from the run folders
    referees(rewards, parts, trained, metrics)          # {"posh_f1": Referee("trained", "posh by match", main=True)}

A reward that a policy has learned to please says least about whether the policy is better. So each metric is "trained",
"judge" (another metric by a judge that was trained on), "untrained", "unknown" (of a side nothing tells what it was
trained on) or "judgeless", and a comparison tells where referees disagree. A judge is its model, whatever serves it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from spanreward.rewards.judges.model_files import files_hash
from spanreward.rewards.reward.reward import Reward
from spanreward.training.recipe import RewardPart
from spanreward.training.recipe_file import read_mapping

Kind = Literal["trained", "judge", "untrained", "unknown", "judgeless"]
KINDS: dict[Kind, str] = {
    "trained": "a reward that was trained on",
    "judge": "the judge of a reward that was trained on",
    "untrained": "a judge that was not",
    "unknown": "a judge that may have been trained on",
    "judgeless": "no judge",
}
JUDGELESS = {  # what a metric compares an answer with, and whether it has a verdict of its own
    "vqa_accuracy": ("people's answers", True),
    "overlap": ("the references, by content words", True),
    "words": ("", False),
    "length": ("", False),
    "truncated": ("", False),
    "degenerate": ("", False),
}


@dataclass(frozen=True, slots=True)
class Referee:
    """kind: whether a policy was trained on it. by: whom or what it asks. main: whether it has a verdict of its own, as
    one metric of each reward has.
    """

    kind: Kind
    by: str
    main: bool


def referees(
    rewards: Sequence[Reward],
    parts: Sequence[RewardPart],
    trained: Collection[tuple[str, str]],
    metrics: Iterable[str],
    known: bool = True,
) -> dict[str, Referee]:
    """Returns the referee of every metric, in their order. rewards, parts: the same rewards, built and as asked for.
    trained: metrics and judges, by `identity`. known: whether every side tells what it was trained on.
    """
    found: dict[str, Referee] = {}
    for metric in metrics:
        if metric in JUDGELESS:
            by, main = JUDGELESS[metric]
            found[metric] = Referee("judgeless", by, main)
            continue
        reward, part = next(
            (reward, part) for reward, part in zip(rewards, parts, strict=True) if metric in metrics_of(reward)
        )
        asked = identities([part])
        kind: Kind = "untrained" if known else "unknown"
        if not asked.isdisjoint(trained):
            kind = "trained"
        elif not reward.judges:
            kind = "judgeless"
        elif {judge for _, judge in asked} & {judge for _, judge in trained}:
            kind = "judge"
        by = f"{part.metric} by {part.judge.name}" if reward.judges else reward.__name__
        found[metric] = Referee(kind, by, metric == metrics_of(reward)[0])
    return found


def metrics_of(reward: Reward) -> list[str]:
    """Returns the names of a reward's metrics in tables, its main one first."""
    return [f"{reward.__name__}_{part}" for part in reward.main_parts or ("score",)]


def trained_on(sides: Mapping[str, Sequence[str]]) -> set[tuple[str, str]]:
    """Returns (metric, judge by `identity`) of every reward in a run folder's recipe."""
    recipes = [recipe_of(run) for runs in sides.values() for run in dict.fromkeys(runs)]
    parts = [RewardPart.model_validate(part) for recipe in recipes for part in recipe.get("rewards") or []]
    return identities(parts)


def identities(parts: Sequence[RewardPart]) -> set[tuple[str, str]]:
    """Returns (metric, judge by `identity`) of every judge that answers a reward's questions."""
    return {(part.metric, identity(judge.name)) for part in parts for judge in part.judge.answering}


def identity(judge: str) -> str:
    """Returns what tells a judge from others: the hash of its model's files if they are in a folder, else the model's
    name, however it is served (`vllm:`, `transformers:`, `server:URL#`, `chat:URL#`), else the judge's name.
    """
    kind, _, model = judge.partition(":")
    if kind not in ("vllm", "transformers", "server", "chat") or not model:
        return judge
    model = model.partition("#")[2] if kind in ("server", "chat") else model
    return files_hash(Path(model)) if Path(model).is_dir() else model.lower()


def recipe_of(run: str) -> dict[str, Any]:
    """Returns the run folder's recipe.yaml; {} where there is none, as for a file of answers."""
    path = Path(run) / "recipe.yaml"
    return read_mapping(path) if path.is_file() else {}
