"""What is measured on each set of people's judgments, ours beside a bag of words on the same
records.

    rows = measure_people(Path("../shared/data"), PoshReward(MatchJudge()), sets=["hat_aloha"])
    rows[0].measure, rows[0].ours, rows[0].interval, rows[0].floor

Intervals are 95 % bootstraps over images or texts. A completion's span is wrong when its score is
below 0.5. Spans that were never judged (PoSh asks nothing of what belongs to an absent thing) are
left out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from experiments.agreement import caption_sets
from experiments.agreement.measures import absent_words, auroc, flag_retrieval, token_precision
from experiments.labels.span_statistics import (
    best_macro_f1,
    token_flags,
    token_places,
    token_scores,
)
from experiments.labels.statistics import kendall_tau_c, pair_accuracy
from spanreward.rewards.base.verdict import Sample, Span, Verdict
from spanreward.rewards.comparison.resampling import Interval, bootstrap
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.text import bag_of_words

WRONG_BELOW = 0.5
WORST = 3
CHUNK = 128  # samples judged together

T = TypeVar("T")
# preferred and other: our scores, the floor's
ScoredPair = tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Agreement:
    """One measure on one set. n counts what it is measured on; floor and target are None where
    there is none.
    """

    set: str
    measure: str
    ours: float
    interval: Interval
    floor: float | None
    target: float | None
    n: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Joined:
    """A reward that reads a sample's references as one text."""

    reward: Reward

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        return self.reward.assess(
            [replace(one, references=(" ".join(one.references),)) for one in samples]
        )


def measure_people(folder: Path, reward: Reward | Joined, sets: Sequence[str]) -> list[Agreement]:
    """The rows of the named sets, in order.

    Raises KeyError for an unknown set, FileNotFoundError for a missing one.
    """
    return [row for name in sets for row in SETS[name](folder, reward)]


def judge(reward: Reward | Joined, texts: Sequence[tuple[str, Sequence[str]]]) -> list[Verdict]:
    """A verdict per (text, references). Raises RuntimeError when one has no score."""
    samples = [Sample("", text, references=tuple(references)) for text, references in texts]
    verdicts = [
        verdict
        for at in range(0, len(samples), CHUNK)
        for verdict in reward.assess(samples[at : at + CHUNK])
    ]
    for sample, verdict in zip(samples, verdicts, strict=True):
        if verdict.score is None:
            raise RuntimeError(
                f"no score ({verdict.status}: {verdict.note}) for {sample.completion!r}"
            )
    return verdicts


def score_of(verdict: Verdict) -> float:
    """Raises ValueError for a verdict without a score (`judge` lets none through)."""
    if verdict.score is None:
        raise ValueError(f"a verdict of status {verdict.status} has no score")
    return verdict.score


def overlaps(span: tuple[int, int], others: Sequence[tuple[int, int]]) -> bool:
    """Whether characters of the span lie in any of the others."""
    return any(span[0] < end and start < span[1] for start, end in others)


def wrong_places(verdict: Verdict) -> list[tuple[int, int]]:
    return [
        (span.start, span.end) for span in verdict.spans if span.asked and span.score < WRONG_BELOW
    ]


def worst_spans(verdict: Verdict, count: int = WORST) -> list[Span]:
    """The lowest scores; of equal ones what costs most, then what comes first.

    Each component once, by its first.
    """
    first = {span.component: span for span in reversed(verdict.spans) if span.asked}
    return sorted(first.values(), key=lambda span: (span.score, span.credit, span.start))[:count]


@dataclass(frozen=True, slots=True)
class CaptionFlags:
    """Per word of a caption: is it content, wrong for us, absent for the floor, flagged by people;
    and all of it. tokens: likewise, but our score and the floor's, of each token as PoSh's table 2
    counts them.
    """

    content: tuple[bool, ...]
    ours: tuple[bool, ...]
    floor: tuple[bool, ...]
    people: tuple[bool, ...]
    suspicion: float
    floor_suspicion: float
    hallucinated: bool
    tokens: tuple[tuple[float, float, bool], ...]


def measure_hat(folder: Path, reward: Reward | Joined) -> list[Agreement]:
    records = caption_sets.load_hat(folder)
    verdicts = judge(reward, [(record.caption, record.references) for record in records])
    captions = [
        caption_flags(record, verdict) for record, verdict in zip(records, verdicts, strict=True)
    ]

    def word_f1(chosen: Sequence[CaptionFlags], floor: bool, content: bool) -> float:
        flags = [
            (predicted, true)
            for caption in chosen
            for predicted, true, counts in zip(
                caption.floor if floor else caption.ours,
                caption.people,
                caption.content,
                strict=True,
            )
            if counts or not content
        ]
        return flag_retrieval([predicted for predicted, _ in flags], [true for _, true in flags]).f1

    def caption_auroc(chosen: Sequence[CaptionFlags], floor: bool) -> float:
        suspicion = [caption.floor_suspicion if floor else caption.suspicion for caption in chosen]
        return auroc(suspicion, [caption.hallucinated for caption in chosen])

    def macro_f1(chosen: Sequence[CaptionFlags], floor: bool) -> float:
        tokens = [token for caption in chosen for token in caption.tokens]
        return best_macro_f1(
            [token[floor] for token in tokens], [flagged for *_, flagged in tokens]
        )

    tokens = sum(len(caption.tokens) for caption in captions)
    words, every = (sum(measure(c.content) for c in captions) for measure in (sum, len))
    return [
        _row(
            "hat_aloha",
            "F1 of hallucinated content words",
            captions,
            lambda c, f: word_f1(c, f, True),
            0.30,
            words,
        ),
        _row(
            "hat_aloha",
            "F1 of hallucinated words",
            captions,
            lambda c, f: word_f1(c, f, False),
            None,
            every,
        ),
        _row(
            "hat_aloha",
            "AUROC of captions, 1 - precision",
            captions,
            caption_auroc,
            None,
            len(captions),
        ),
        _row(
            "hat_aloha", "macro F1 of tokens, as PoSh's table 2", captions, macro_f1, None, tokens
        ),
    ]


def caption_flags(record: caption_sets.FlaggedCaption, verdict: Verdict) -> CaptionFlags:
    wrong, absent = wrong_places(verdict), absent_words(record.caption, record.references)
    content = tuple(
        bool(bag_of_words.content_words(record.caption[word.start : word.end]))
        for word in record.words
    )
    unknown = tuple(overlaps((word.start, word.end), absent) for word in record.words)
    places = token_places(record.caption)
    ours = token_scores(places, [(span.start, span.end, span.score) for span in verdict.spans])
    floor = token_scores(places, [(start, end, 0.0) for start, end in absent])
    flagged = token_flags(places, [(word.start, word.end) for word in record.words if word.flagged])
    return CaptionFlags(
        content=content,
        ours=tuple(overlaps((word.start, word.end), wrong) for word in record.words),
        floor=unknown,
        people=tuple(word.flagged for word in record.words),
        suspicion=1 - verdict.parts["precision"],
        floor_suspicion=sum(unknown) / max(sum(content), 1),
        hallucinated=record.hallucinated,
        tokens=tuple(zip(ours, floor, flagged, strict=True)),
    )


@dataclass(frozen=True, slots=True)
class RatedScores:
    """One image: our score and the floor's of each single rating, and the ratings."""

    ours: tuple[float, ...]
    floor: tuple[float, ...]
    ratings: tuple[float, ...]


def measure_flickr8k(folder: Path, reward: Reward | Joined) -> list[Agreement]:
    records = caption_sets.load_flickr8k_expert(folder)
    asked = [(caption, record.references) for record in records for caption, _ in record.candidates]
    verdicts = iter(judge(reward, asked))
    images = [
        rated_scores(record, [next(verdicts) for _ in record.candidates]) for record in records
    ]

    def tau(chosen: Sequence[RatedScores], floor: bool) -> float:
        scores = [score for image in chosen for score in (image.floor if floor else image.ours)]
        return kendall_tau_c(scores, [rating for image in chosen for rating in image.ratings])

    count = sum(len(image.ratings) for image in images)
    return [_row("flickr8k_expert", "Kendall tau-c with single ratings", images, tau, 0.47, count)]


def rated_scores(record: caption_sets.RatedImage, verdicts: Sequence[Verdict]) -> RatedScores:
    ours: list[float] = []
    floor: list[float] = []
    ratings: list[float] = []
    for (caption, given), verdict in zip(record.candidates, verdicts, strict=True):
        ours += [score_of(verdict)] * len(given)
        floor += [bag_of_words.bag_f1(caption, record.references)] * len(given)
        ratings += given
    return RatedScores(tuple(ours), tuple(floor), tuple(ratings))


def measure_haelm(folder: Path, reward: Reward | Joined) -> list[Agreement]:
    records = caption_sets.load_haelm(folder)
    verdicts = judge(reward, [(record.caption, record.references) for record in records])
    scored = [
        (
            verdict.parts["precision"],
            token_precision(record.caption, record.references),
            record.accurate,
        )
        for record, verdict in zip(records, verdicts, strict=True)
    ]

    def area(chosen: Sequence[tuple[float, float, bool]], floor: bool) -> float:
        return auroc([score[floor] for score in chosen], [accurate for *_, accurate in chosen])

    return [_row("haelm", "AUROC of accurate captions, precision", scored, area, None, len(scored))]


def measure_sugarcrepe(folder: Path, reward: Reward | Joined) -> list[Agreement]:
    records = caption_sets.load_sugarcrepe(folder)
    asked = [
        (text, record.references)
        for record in records
        for text in (record.caption, record.negative)
    ]
    scores = [score_of(verdict) for verdict in judge(reward, asked)]
    floor = [bag_of_words.bag_f1(text, references) for text, references in asked]
    targets = {"swap_att": 0.65, "swap_obj": 0.60}
    rows = []
    for edit in sorted({record.edit_type for record in records}):
        chosen = [number for number, record in enumerate(records) if record.edit_type == edit]
        pairs = [(_pair(scores, number), _pair(floor, number)) for number in chosen]
        rows.append(_pair_row("sugarcrepe", f"pair accuracy, {edit}", pairs, targets.get(edit)))
    return rows


def measure_foil(folder: Path, reward: Reward | Joined) -> list[Agreement]:
    records = caption_sets.load_discosg_foil(folder)
    asked = [
        (text, [record.reference])
        for record in records
        for text in (record.corrected, record.hallucinated)
    ]
    verdicts = judge(reward, asked)
    rows = []
    for part, floor_of in (("f1", bag_of_words.bag_f1), ("precision", token_precision)):
        scores = [verdict.parts[part] for verdict in verdicts]
        floor = [floor_of(text, references) for text, references in asked]
        pairs = [(_pair(scores, number), _pair(floor, number)) for number in range(len(records))]
        rows.append(
            _pair_row(
                "discosg_foil", f"pair accuracy, {part}", pairs, 0.95 if part == "f1" else None
            )
        )
    found = []
    for record, verdict in zip(records, verdicts[1::2], strict=True):
        if record.hallucination is not None:
            worst = [(span.start, span.end) for span in worst_spans(verdict)]
            absent = absent_words(record.hallucinated, [record.reference])[:WORST]
            found.append(
                (overlaps(record.hallucination, worst), overlaps(record.hallucination, absent))
            )

    def share(chosen: Sequence[tuple[bool, bool]], floor: bool) -> float:
        return sum(hit[floor] for hit in chosen) / len(chosen)

    return [
        *rows,
        _row("discosg_foil", "hallucination in 3 worst spans", found, share, None, len(found)),
    ]


def _pair(scores: Sequence[float], number: int) -> tuple[float, float]:
    return scores[2 * number], scores[2 * number + 1]


def _pair_row(
    name: str, measure: str, pairs: Sequence[ScoredPair], target: float | None
) -> Agreement:
    def accuracy(chosen: Sequence[ScoredPair], floor: bool) -> float:
        return pair_accuracy(
            [pair[floor][0] for pair in chosen], [pair[floor][1] for pair in chosen]
        )

    ties = sum(ours[0] == ours[1] for ours, _ in pairs) / len(pairs) if pairs else float("nan")
    return _row(name, measure, pairs, accuracy, target, len(pairs), f"ties {ties:.3f}")


def _row(
    name: str,
    measure: str,
    units: Sequence[T],
    statistic: Callable[[Sequence[T], bool], float],
    target: float | None,
    n: int,
    note: str = "",
) -> Agreement:
    """`statistic(units, floor)` is the measure of our scores, or of the floor's."""
    interval = bootstrap(units, lambda drawn: statistic(drawn, False))
    return Agreement(
        name, measure, statistic(units, False), interval, statistic(units, True), target, n, note
    )


SETS: dict[str, Callable[[Path, Reward | Joined], list[Agreement]]] = {
    "hat_aloha": measure_hat,
    "flickr8k_expert": measure_flickr8k,
    "sugarcrepe": measure_sugarcrepe,
    "discosg_foil": measure_foil,
    "haelm": measure_haelm,
}
