"""What scores a comparison: the reward that a model was trained on, a held-out metric, or a metric
without a judge.

    trained_on(sides)  # {("posh", "match")}: metric and judge, from the run folders
    metrics_of(setup, ["posh_f1", "overlap"])
    # {"posh_f1": Metric("trained", "posh by match", main=True)}

A reward that a policy has learned to please says least about whether the policy is better. So each
metric is "trained", "judge" (another metric by a judge that was trained on), "untrained" (held
out), "unknown" (of a side nothing tells what it was trained on) or "judgeless", and a comparison
tells where metrics disagree. A judge is its model, whatever serves it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from spanreward.rewards.judges.model_files import files_hash
from spanreward.rewards.reward.reward import Reward
from spanreward.training.evaluation.answer_scores.several import BEST
from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.evaluation.answers.sides import recipe_of
from spanreward.training.recipe import RewardPart

Kind = Literal["trained", "judge", "untrained", "unknown", "judgeless"]
KINDS: dict[Kind, str] = {
    "trained": "a reward that was trained on",
    "judge": "the judge of a reward that was trained on",
    "untrained": "a judge that was not",
    "unknown": "a judge that may have been trained on",
    "judgeless": "no judge",
}
# who says who lost, the surest first
LOST_BY = ("judgeless", "untrained", "unknown", "overlap", "judge", "trained")


@dataclass(frozen=True, slots=True)
class Metric:
    """kind: whether a policy was trained on it. by: who is asked. main: whether it has a verdict of
    its own.
    """

    kind: Kind
    by: str
    main: bool

    @property
    def unpublished(self) -> bool:
        """Whether match answers its questions, which compares words."""
        return self.by.endswith(" by match")


JUDGELESS = {  # by: what an answer is compared with
    "vqa_accuracy": Metric("judgeless", "people's answers", main=True),
    "overlap": Metric("judgeless", "the references, by content words", main=True),
    "words": Metric("judgeless", "", main=False),
    "length": Metric("judgeless", "", main=False),
    "truncated": Metric("judgeless", "", main=False),
    "degenerate": Metric("judgeless", "", main=False),
}


def metrics_of(setup: Setup, names: Iterable[str]) -> dict[str, Metric]:
    """Returns these metrics of the tables.

    Recipes tell what was trained on, without any `setup.learned`.
    """
    known = [any(recipe_of(run) for run in runs) for runs in setup.sides.values()]
    trained = trained_on(setup.sides) if any(known) else identities(setup.learned)
    found = dict(JUDGELESS)
    for reward, part in zip(setup.rewards, setup.parts, strict=True):
        kind = kind_of(reward, part, trained, known=all(known) or bool(setup.learned))
        by = f"{part.metric} by {part.judge.name}" if reward.judges else reward.__name__
        reward_names = names_of(reward)
        for name in reward_names:
            found[name] = Metric(kind, by, main=name == reward_names[0])
            found[f"{name}{BEST}"] = Metric(kind, f"{by}, best of a prompt's samples", main=False)
    return {name: found[name] for name in names}


def kind_of(
    reward: Reward, part: RewardPart, trained: Collection[tuple[str, str]], known: bool = True
) -> Kind:
    """part: the reward as asked for. trained: metrics and judges. known: whether every side tells
    what trained it.
    """
    asked = identities([part])
    if not asked.isdisjoint(trained):
        return "trained"
    if not reward.judges:
        return "judgeless"
    if {judge for _, judge in asked} & {judge for _, judge in trained}:
        return "judge"
    return "untrained" if known else "unknown"


def names_of(reward: Reward) -> list[str]:
    """Returns the names of a reward's metrics in tables, its main one first."""
    return [f"{reward.__name__}_{part}" for part in reward.main_parts or ("score",)]


def lost_by(metrics: Mapping[str, Metric]) -> list[str]:
    """Returns the main metrics in the order in which they may say who lost a prompt (LOST_BY)."""
    mains = [name for name, metric in metrics.items() if metric.main]
    return sorted(
        mains, key=lambda name: LOST_BY.index(name if name == "overlap" else metrics[name].kind)
    )


def trained_on(sides: Mapping[str, Sequence[str]]) -> set[tuple[str, str]]:
    """Returns (metric, judge by `identity`) of every reward in a run folder's recipe."""
    recipes = [recipe_of(run) for runs in sides.values() for run in dict.fromkeys(runs)]
    return identities(
        [RewardPart.model_validate(part) for one in recipes for part in one.get("rewards") or []]
    )


def identities(parts: Sequence[RewardPart]) -> set[tuple[str, str]]:
    """Returns (metric, judge by `identity`) of every judge that answers a reward's questions."""
    return {(part.metric, identity(judge.name)) for part in parts for judge in part.judge.answering}


def identity(judge: str) -> str:
    """Returns what tells a judge from others: the hash of its model's files if they are in a
    folder, else the model's name, however it is served (`vllm:`, `transformers:`, `server:URL#`,
    `chat:URL#`), else the judge's name.
    """
    kind, _, model = judge.partition(":")
    if kind not in ("vllm", "transformers", "server", "chat") or not model:
        return judge
    model = model.partition("#")[2] if kind in ("server", "chat") else model
    return files_hash(Path(model)) if Path(model).is_dir() else model.lower()
