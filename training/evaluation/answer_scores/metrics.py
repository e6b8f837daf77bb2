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
from itertools import chain
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
# Who says which side lost a prompt, the surest first: kinds of metrics, and the overlap by its
# name. What a policy was trained on comes last, because the policy has learned to please it.
LOST_BY = ("judgeless", "untrained", "unknown", "overlap", "judge", "trained")


@dataclass(frozen=True, slots=True)
class Metric:
    """What is known of one metric of the tables.

    Attributes:
        kind: whether a policy was trained on it.
        by: who is asked, such as "posh by match", or what an answer is compared with.
        main: whether it has a verdict of its own.
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
    """Returns these metrics of the tables, by name.

    The run folders' recipes tell what was trained on, and where there are none `setup.learned`.
    """
    sides_with_recipe = 0
    for runs in setup.sides.values():
        if any(map(recipe_of, runs)):
            sides_with_recipe += 1
    trained = identities(setup.learned)
    if sides_with_recipe:
        trained = trained_on(setup.sides)
    all_have_recipes = sides_with_recipe == len(setup.sides)
    # `learned` speaks for the sides whose folders do not
    all_tell = all_have_recipes or bool(setup.learned)
    metrics = dict(JUDGELESS)
    for reward, part in zip(setup.rewards, setup.parts, strict=True):
        kind = kind_of(reward, part, trained, all_tell)
        by = reward.__name__
        if reward.judges:
            by = f"{part.metric} by {part.judge.name}"
        by_best = f"{by}, best of a prompt's samples"
        reward_names = names_of(reward)
        main_name = reward_names[0]
        for name in reward_names:
            is_main = name == main_name
            metrics[name] = Metric(kind, by, main=is_main)
            # the samples' mean has the verdict
            metrics[f"{name}{BEST}"] = Metric(kind, by_best, main=False)
    return {name: metrics[name] for name in names}


def kind_of(
    reward: Reward,
    part: RewardPart,
    trained: Collection[tuple[str, str]],
    all_tell: bool = True,
) -> Kind:
    """Returns whether policies were trained on this reward or on its judge.

    part: the reward as asked for. trained: pairs of a metric and a judge, as `identities` returns
    them. all_tell: whether every side tells what trained it.
    """
    reward_identities = identities([part])
    # the same metric by the same judge, of a jury by one of its judges
    if not reward_identities.isdisjoint(trained):
        return "trained"
    if not reward.judges:
        return "judgeless"
    # another metric, whose questions go to a judge that a policy may have learned to please
    judges = {judge for _, judge in reward_identities}
    trained_judges = {judge for _, judge in trained}
    if not judges.isdisjoint(trained_judges):
        return "judge"
    return "untrained" if all_tell else "unknown"


def names_of(reward: Reward) -> list[str]:
    """Returns the names of a reward's metrics in tables, its main one first, such as "posh_f1". A
    reward that names no parts has its score alone.
    """
    parts = reward.main_parts or ("score",)
    return [f"{reward.__name__}_{part}" for part in parts]


def lost_by(metrics: Mapping[str, Metric]) -> list[str]:
    """Returns the main metrics in the order in which they may say who lost a prompt (LOST_BY)."""
    places = {}
    for name, metric in metrics.items():
        if metric.main:
            # the overlap has no judge either, and a later place of its own in LOST_BY
            rank_name = "overlap" if name == "overlap" else metric.kind
            places[name] = LOST_BY.index(rank_name)
    return sorted(places, key=places.__getitem__)


def trained_on(sides: Mapping[str, Sequence[str]]) -> set[tuple[str, str]]:
    """Returns (metric, judge by `judge_identity`) of every reward in a run folder's recipe."""
    parts = []
    for run in dict.fromkeys(chain(*sides.values())):
        for part in recipe_of(run).get("rewards") or []:
            parts.append(RewardPart.model_validate(part))
    return identities(parts)


def identities(parts: Sequence[RewardPart]) -> set[tuple[str, str]]:
    """Returns (metric, judge by `judge_identity`) of every judge that answers a reward's questions:
    of a jury of two judges two pairs, of PoSh by match {("posh", "match")}.
    """
    pairs = set()
    for part in parts:
        for judge in part.judge.answering:
            pairs.add((part.metric, judge_identity(judge.name)))
    return pairs


def judge_identity(judge: str) -> str:
    """Returns what tells a judge from others: the hash of its model's files if they are in a
    folder, else the model's name, however it is served (`vllm:`, `transformers:`, `server:URL#`,
    `chat:URL#`), else the judge's name.
    """
    kind, _, model = judge.partition(":")
    # match, an encoder:FOLDER and a FILE.py:NAME are served in one way only
    if kind not in ("vllm", "transformers", "server", "chat") or not model:
        return judge
    if kind in ("server", "chat"):
        _, _, model = model.partition("#")  # without the URL
    # two folders with equal files are one judge
    if Path(model).is_dir():
        return files_hash(Path(model))
    return model.lower()
