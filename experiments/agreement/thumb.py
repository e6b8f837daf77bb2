"""HarmonicEval's criteria against people's on THumB: captions of photographs, rated by rubric.

    rows = measure_thumb(Path("../shared/data"), HarmonicReward(judge, evidence="context"))
    rows[0].measure, rows[0].ours                    # "correctness ~ P, Pearson"

No picture is shown: a caption's context is the photograph's references. People's precision (P)
stands beside correctness, recall (R) beside completeness, fluency and conciseness penalties beside
fluency and conciseness, and the total (human_score) beside overall. Clarity has no counterpart.
People's conciseness is 0 for all but one caption in a thousand, fluency for 96 in a hundred. The
floor is a bag of words on the same records.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.agreement.caption_sets import RubricCaption, load_thumb
from experiments.agreement.captions import CHUNK, Agreement
from experiments.agreement.measures import token_precision
from experiments.labels.statistics import kendall_tau_c, pearson
from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.comparison.resampling import bootstrap
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.text import bag_of_words

COUNTERPARTS = {
    "overall": "human_score",
    "correctness": "P",
    "completeness": "R",
    "fluency": "Fl",
    "conciseness": "Con",
}
Statistic = Callable[[Sequence[float], Sequence[float]], float]
STATISTICS: dict[str, Statistic] = {"Pearson": pearson, "tau-c": kendall_tau_c}


@dataclass(frozen=True, slots=True)
class Rated:
    """One caption's numbers by criterion: the judge's (1 to 5), the floor's, people's."""

    ours: dict[str, float]
    floor: dict[str, float]
    people: dict[str, float]


def measure_thumb(folder: Path, reward: Reward, images: int | None = None) -> list[Agreement]:
    """A row per criterion of the reward that people rated, statistic, and choice of captions: all,
    or no human's.

    images: how many photographs, with all captions of theirs; None for all. Raises RuntimeError for
    a caption that the judge gives no score.
    """
    photographs = load_thumb(folder)[:images]
    captions = [caption for group in photographs for caption in group]
    rated = iter(rate(captions, reward))
    groups = [[(caption.system, next(rated)) for caption in group] for group in photographs]
    rows = []
    for criterion, counterpart in COUNTERPARTS.items():
        if criterion not in reward.main_parts:
            continue
        for name, statistic in STATISTICS.items():
            for note, human in (("all captions", True), ("without people's own captions", False)):
                units = [
                    [one for system, one in group if human or system != "Human"] for group in groups
                ]
                rows.append(
                    row_of(
                        f"{criterion} ~ {counterpart}, {name}", units, criterion, statistic, note
                    )
                )
    return rows


def row_of(
    measure: str, units: Sequence[Sequence[Rated]], criterion: str, statistic: Statistic, note: str
) -> Agreement:
    """One measure over photographs, whose captions are drawn together."""

    def value(chosen: Sequence[Sequence[Rated]], floor: bool = False) -> float:
        every = [rated for unit in chosen for rated in unit]
        ours = [(rated.floor if floor else rated.ours)[criterion] for rated in every]
        return statistic(ours, [rated.people[criterion] for rated in every])

    count = sum(len(unit) for unit in units)
    return Agreement(
        "thumb",
        measure,
        value(units),
        bootstrap(units, value),
        value(units, True),
        None,
        count,
        note,
    )


def rate(captions: Sequence[RubricCaption], reward: Reward) -> list[Rated]:
    samples = [
        Sample("", caption.text, context=" ".join(caption.references)) for caption in captions
    ]
    verdicts = [
        verdict
        for at in range(0, len(samples), CHUNK)
        for verdict in reward.assess(samples[at : at + CHUNK])
    ]
    rated = []
    for caption, verdict in zip(captions, verdicts, strict=True):
        if verdict.score is None:
            raise RuntimeError(f"no score ({verdict.status}: {verdict.note}) for {caption.text!r}")
        precision = token_precision(caption.text, caption.references)
        recall = token_precision(" ".join(caption.references), [caption.text])
        f1 = bag_of_words.bag_f1(caption.text, caption.references)
        floor = {
            "overall": f1,
            "correctness": precision,
            "completeness": recall,
            "fluency": f1,
            "conciseness": f1,
        }
        people = {criterion: caption.ratings[name] for criterion, name in COUNTERPARTS.items()}
        rated.append(
            Rated({name: verdict.parts[name] for name in reward.main_parts}, floor, people)
        )
    return rated
