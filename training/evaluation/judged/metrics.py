"""What scores a comparison: the reward that a model was trained on, a held-out metric, or a metric without a judge.

    trained_on(sides)                                   # {("posh", "match")}: metric and judge, from the run folders
    metrics_of(setup, ["posh_f1", "overlap"])           # {"posh_f1": Metric("trained", "posh by match", main=True)}

A reward that a policy has learned to please says least about whether the policy is better. So each metric is "trained",
"judge" (another metric by a judge that was trained on), "untrained" (held out), "unknown" (of a side nothing tells what
it was trained on) or "judgeless", and a comparison tells where metrics disagree. A judge is its model, whatever serves
it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from spanreward.rewards.judges.model_files import files_hash
from spanreward.rewards.reward.reward import Reward
from spanreward.training.evaluation.answers.runs import recipe_of
from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.recipe import RewardPart

Kind = Literal["trained", "judge", "untrained", "unknown", "judgeless"]
KINDS: dict[Kind, str] = {
    "trained": "a reward that was trained on",
    "judge": "the judge of a reward that was trained on",
    "untrained": "a judge that was not",
    "unknown": "a judge that may have been trained on",
    "judgeless": "no judge",
}


@dataclass(frozen=True, slots=True)
class Metric:
    """kind: whether a policy was trained on it. by: whom or what it asks. main: whether it has a verdict of its own, as
    one metric of each reward has.
    """

    kind: Kind
    by: str
    main: bool


JUDGELESS = {  # by: what an answer is compared with
    "vqa_accuracy": Metric("judgeless", "people's answers", main=True),
    "overlap": Metric("judgeless", "the references, by content words", main=True),
    **{name: Metric("judgeless", "", main=False) for name in ("words", "length", "truncated", "degenerate")},
}


def metrics_of(setup: Setup, names: Iterable[str]) -> dict[str, Metric]:
    """Returns these metrics of the tables. The run folders' recipes tell what was trained on, without any of them
    `setup.learned`.
    """
    told = [any(recipe_of(run) for run in runs) for runs in setup.sides.values()]
    trained = trained_on(setup.sides) if any(told) else identities(setup.learned)
    return sort_metrics(setup.rewards, setup.parts, trained, names, known=all(told) or bool(setup.learned))


def sort_metrics(
    rewards: Sequence[Reward],
    parts: Sequence[RewardPart],
    trained: Collection[tuple[str, str]],
    names: Iterable[str],
    known: bool = True,
) -> dict[str, Metric]:
    """Returns the metrics by name, in their order. rewards, parts: the same rewards, built and as asked for. trained:
    metrics and judges, by `identity`. known: whether every side tells what it was trained on.
    """
    built = {name: both for both in zip(rewards, parts, strict=True) for name in names_of(both[0])}

    def metric_of(name: str) -> Metric:
        reward, part = built[name]
        asked = identities([part])
        kind: Kind = "untrained" if known else "unknown"
        if not asked.isdisjoint(trained):
            kind = "trained"
        elif not reward.judges:
            kind = "judgeless"
        elif {judge for _, judge in asked} & {judge for _, judge in trained}:
            kind = "judge"
        by = f"{part.metric} by {part.judge.name}" if reward.judges else reward.__name__
        return Metric(kind, by, main=name == names_of(reward)[0])

    return {name: JUDGELESS.get(name) or metric_of(name) for name in names}


def names_of(reward: Reward) -> list[str]:
    """Returns the names of a reward's metrics in tables, its main one first."""
    return [f"{reward.__name__}_{part}" for part in reward.main_parts or ("score",)]


def by_kind(metrics: Mapping[str, Metric]) -> dict[Kind, list[str]]:
    """Returns the main metrics of each kind."""
    return {kind: [name for name, one in metrics.items() if one.main and one.kind == kind] for kind in KINDS}


def lost_by(metrics: Mapping[str, Metric]) -> list[str]:
    """Returns the main metrics in the order in which they may say who lost a prompt. Metrics without a judge come
    first, then judges that were not trained on or may have been, then overlap, and the trained reward last.
    """
    groups = by_kind(metrics)
    sure = [metric for metric in groups["judgeless"] if metric != "overlap"]
    others = [*groups["untrained"], *groups["unknown"], *(["overlap"] if "overlap" in metrics else [])]
    return [*sure, *others, *groups["judge"], *groups["trained"]]


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
