"""Classifies the metrics of a comparison by what the compared models were trained on.

    trained_on(sides)  # {("posh", "match")}: metric and judge, from the run folders
    metrics_of(setup, ["posh_f1", "overlap"])
    # {"posh_f1": Metric("trained", "posh by match", main=True), ...}

A policy learns to please the reward that trains it. A higher score by that reward is therefore weak
evidence that the policy is better. So every metric has a kind. "trained": a model was trained on
this reward. "judge": a model was trained on another reward with the same judge. "untrained": the
judge is held out. "unknown": nothing shows what some side was trained on. "judgeless": the metric
asks no judge. Two judges count as one if their models are equal, whatever engine or server runs the
model.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal

from spanreward.rewards.judges.model_files import files_hash
from spanreward.rewards.reward.reward import Reward
from spanreward.training.evaluation.answer_scores.several import BEST_ENDING
from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.evaluation.answers.sides import recipe_of
from spanreward.training.recipe import RewardPart

Kind = Literal["trained", "judge", "untrained", "unknown", "judgeless"]
METRIC_KINDS: dict[Kind, str] = {
    "trained": "a reward that was trained on",
    "judge": "the judge of a reward that was trained on",
    "untrained": "a judge that was not",
    "unknown": "a judge that may have been trained on",
    "judgeless": "no judge",
}
# The order in which main metrics decide which side lost a prompt, the most trusted first. Entries
# are kinds of metrics, and the metric "overlap". "trained" is last, because a policy learns to
# please the reward that trains it.
LOST_BY = ("judgeless", "untrained", "unknown", "overlap", "judge", "trained")


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of the tables, such as posh_f1.

    Attributes:
        kind: whether models were trained on the metric, a key of METRIC_KINDS.
        by: the reward and its judge, such as "posh by match". For a metric without a judge, the
            text that an answer is compared with, such as "people's answers".
        main: whether the metric counts in the verdict on two models. Other metrics, such as the
            length, are only reported.
    """

    kind: Kind
    by: str
    main: bool

    @property
    def unpublished(self) -> bool:
        """Whether the judge is `match`, which compares words. No published metric has this
        judge.
        """
        return self.by.endswith(" by match")


METRICS_WITHOUT_JUDGE = {  # `by` names the text that an answer is compared with
    "vqa_accuracy": Metric("judgeless", "people's answers", main=True),
    "overlap": Metric("judgeless", "the references, by content words", main=True),
    "words": Metric("judgeless", "", main=False),
    "length": Metric("judgeless", "", main=False),
    "truncated": Metric("judgeless", "", main=False),
    "degenerate": Metric("judgeless", "", main=False),
}


def metrics_of(setup: Setup, names: Iterable[str]) -> dict[str, Metric]:
    """Returns the metrics with these names, each with its kind.

    A metric's kind says whether a model was trained on it (`kind_of`). names: such as "posh_f1".
    """
    trained, training_known = _training_of_sides(setup)
    metrics = dict(METRICS_WITHOUT_JUDGE)
    for reward, part in zip(setup.rewards, setup.parts, strict=True):
        kind = kind_of(reward, part, trained, training_known)
        by = reward.__name__
        if reward.judges:
            by = f"{part.metric} by {part.judge.name}"
        by_best = f"{by}, best of a prompt's samples"
        reward_names = names_of(reward)
        main_name = reward_names[0]
        for name in reward_names:
            is_main = name == main_name
            metrics[name] = Metric(kind, by, main=is_main)
            # the verdict is by the mean of the samples, so the best sample is no main metric
            metrics[f"{name}{BEST_ENDING}"] = Metric(kind, by_best, main=False)
    return {name: metrics[name] for name in names}


def _training_of_sides(setup: Setup) -> tuple[set[tuple[str, str]], bool]:
    """Returns the metrics and judges that the sides were trained on, such as {("posh", "match")},
    and whether the training of every side is known.

    If some run's folder has a recipe, the metrics and judges are those of the folders' recipes.
    Otherwise they are those of `setup.learned`, the rewards of the recipe on the command line.
    """
    sides_with_recipe = 0
    for runs in setup.sides.values():
        if any(recipe_of(run) for run in runs):
            sides_with_recipe += 1
    trained = metric_judge_pairs(setup.learned)
    if sides_with_recipe:
        trained = trained_on(setup.sides)
    # with a recipe on the command line, the sides without a recipe in their folders count as known
    training_known = sides_with_recipe == len(setup.sides) or bool(setup.learned)
    return trained, training_known


def kind_of(
    reward: Reward,
    part: RewardPart,
    trained: Collection[tuple[str, str]],
    training_known: bool = True,
) -> Kind:
    """Returns whether models were trained on this reward or on its judge, as a key of METRIC_KINDS.

    Args:
        reward: a reward of the comparison.
        part: the recipe's entry that `reward` was built from.
        trained: the metrics and judges that models were trained on, such as {("posh", "match")}
            (`metric_judge_pairs`).
        training_known: whether the training of every side is known. If not, the kind is "unknown"
            in place of "untrained".
    """
    reward_identities = metric_judge_pairs([part])
    # a model was trained on this metric by this judge; of a jury, one judge is enough
    if not reward_identities.isdisjoint(trained):
        return "trained"
    if not reward.judges:
        return "judgeless"
    # a model was trained on another metric by this judge, and may have learned to please the judge
    judges = {judge for _, judge in reward_identities}
    trained_judges = {judge for _, judge in trained}
    if not judges.isdisjoint(trained_judges):
        return "judge"
    return "untrained" if training_known else "unknown"


def names_of(reward: Reward) -> list[str]:
    """Returns the names of a reward's metrics in tables, the main metric first: ["posh_f1", ...].

    A reward without `main_parts` has one metric, such as "length_score".
    """
    parts = reward.main_parts or ("score",)
    return [f"{reward.__name__}_{part}" for part in parts]


def main_metrics_by_trust(metrics: Mapping[str, Metric]) -> list[str]:
    """Returns the main metrics in the order in which they decide which side lost a prompt: the most
    trusted metric comes first.

    LOST_BY has the order of the kinds of metrics. Example: a metric without a judge comes before a
    metric by a judge that the models were trained on.
    """
    ranks = {}  # by metric, the index of its kind in LOST_BY
    for name, metric in metrics.items():
        if metric.main:
            # "overlap" has its own entry in LOST_BY, after the other metrics without a judge
            entry = "overlap" if name == "overlap" else metric.kind
            ranks[name] = LOST_BY.index(entry)
    return sorted(ranks, key=ranks.__getitem__)


def trained_on(sides: Mapping[str, Sequence[str]]) -> set[tuple[str, str]]:
    """Returns the metric and the judge of every reward in the recipes of the run folders.

    The pairs are those of `metric_judge_pairs`, such as {("posh", "match")}.
    """
    parts = []
    for run in dict.fromkeys(chain(*sides.values())):
        for part in recipe_of(run).get("rewards") or []:
            parts.append(RewardPart.model_validate(part))
    return metric_judge_pairs(parts)


def metric_judge_pairs(parts: Sequence[RewardPart]) -> set[tuple[str, str]]:
    """Returns a pair (metric, judge) for every judge that answers a reward's questions.

    PoSh by match gives {("posh", "match")}, and a jury of two judges gives two pairs.
    `judge_identity` names the judges.
    """
    pairs = set()
    for part in parts:
        for judge in part.judge.answering:
            pairs.add((part.metric, judge_identity(judge.name)))
    return pairs


def judge_identity(judge: str) -> str:
    """Returns a name that is equal for two judges with the same model.

    If the model is a folder, the name is the hash of the folder's files. Otherwise the name is the
    model's in lower case: "vllm:Qwen/Qwen3-14B" gives "qwen/qwen3-14b". The engine or server
    (`vllm:`, `transformers:`, `server:URL#`, `chat:URL#`) does not count. A judge of another kind
    keeps its name, such as "match".
    """
    kind, _, model = judge.partition(":")
    is_engine = kind in ("vllm", "transformers")
    is_server = kind in ("server", "chat")
    # Only for engines and servers, the same model has several names, such as "vllm:MODEL" and
    # "transformers:MODEL". If the judge is of another kind, "match", "encoder:FOLDER" or
    # "FILE.py:NAME", nothing in its name can be left out.
    if not (is_engine or is_server) or not model:
        return judge
    # if a server runs the model, its name is behind the URL: "server:URL#MODEL"
    if is_server:
        _, _, model = model.partition("#")
    # two folders with equal files are one judge
    if Path(model).is_dir():
        return files_hash(Path(model))
    return model.lower()
