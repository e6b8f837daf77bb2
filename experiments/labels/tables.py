"""The tables that metrics are compared by: what people judged, and the statistics that a paper
takes of it.

    table = TABLES["docent-coarse"]
    records = table.read(Path("coarse.jsonl"))
    judged = {metric.__name__: judge_records(records, metric) for metric in (PoshReward(judge), other_metric)}
    for row in fill_table(table, records, judged):
        row.slice, row.measure, row.metrics["posh"].value, row.metrics["posh"].interval

Every metric is measured on the records that it has scores for; the number of the others stands
beside it. Intervals are 95 % bootstraps over groups: pictures, or questions.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import nan
from pathlib import Path
from typing import Any

from experiments.labels import measures
from experiments.labels.column_map import JudgedMap, load_map
from experiments.labels.judgments import Judgment, read_judgments
from experiments.labels.measures import Measure, OfTwo, pairs, ratings, statistic_of
from experiments.labels.pair_statistics import three_way_accuracy
from experiments.labels.statistics import kendall_tau_b, kendall_tau_c, pearson, spearman
from spanreward.rewards.base.verdict import Verdict
from spanreward.rewards.comparison.resampling import Interval, bootstrap
from spanreward.rewards.lave.reward import is_binary
from spanreward.rewards.reward.reward import Reward

CHUNK = 128  # samples judged together
ALL, PERSONS = "all", "three and more persons"
EVERY_COMPONENT = "experiments/labels/every_component.py:EveryComponent"

Judged = Sequence[tuple[Verdict, ...]]  # per record a verdict of each of its texts


@dataclass(frozen=True, slots=True)
class Measured:
    """A measure of one metric, nan where it has no score at all. interval: 95 % over groups, nan
    for one group and where the measure has none. n: records measured. failed: records that it has
    no score for.
    """

    value: float
    interval: Interval
    n: int
    failed: int


@dataclass(frozen=True, slots=True)
class TableRow:
    """One measure on one part of the records, by metric.

    Metrics that do not measure such a thing are left out.
    """

    slice: str
    measure: str
    metrics: dict[str, Measured]


@dataclass(frozen=True, slots=True)
class Table:
    """A table's judgments and measures.

    Attributes:
        paper: the table of the paper that it repeats, "" for none.
        metric: the paper's metric.
        measures: the rows of every slice.
        columns: the packaged column map of its file.
        pictures: whether the paper's metric is shown pictures.
        slices: the parts of the table that a record is in.
    """

    paper: str
    metric: str
    measures: tuple[Measure, ...]
    columns: str
    pictures: bool = False
    slices: Callable[[Judgment], Sequence[str]] = lambda record: (
        (record.slice, ALL) if record.slice else (ALL,)
    )

    def read(
        self, path: Path, columns: JudgedMap | None = None, pictures: Path | None = None
    ) -> list[Judgment]:
        """Returns a file's judgments. columns: a map in place of the packaged one.

        Raises as `read_judgments` does.
        """
        return read_judgments(path, columns or load_map(self.columns), pictures)


def fill_table(
    table: Table, records: Sequence[Judgment], judged: Mapping[str, Judged]
) -> list[TableRow]:
    """Returns a row per slice and measure, from each metric's verdicts. Spans are measured of
    metrics that have them. Raises ValueError where there is no score at all.
    """
    places: dict[str, list[int]] = {}
    for number, record in enumerate(records):
        for name in table.slices(record):
            places.setdefault(name, []).append(number)
    rows = []
    for name, chosen in sorted(places.items(), key=lambda part: part[0] == ALL):
        for measure in [one for one in table.measures if name in (ALL, PERSONS) or not one.whole]:
            measured = {
                metric: measure_one(
                    measure, [records[n] for n in chosen], [given[n] for n in chosen]
                )
                for metric, given in judged.items()
            }
            found = {metric: one for metric, one in measured.items() if one is not None}
            if found:
                rows.append(TableRow(name, measure.name, found))
    if not any(measured.n for row in rows for measured in row.metrics.values()):
        nothing = (
            "people judged nothing that this table measures, or no metric says which words "
            "are wrong."
        )
        raise ValueError(f"nothing can be measured: {' '.join(unscored(judged)) or nothing}")
    return rows


def unscored(judged: Mapping[str, Judged]) -> list[str]:
    """Returns a sentence for each metric that has no score for a text, with the first reason."""
    sentences = []
    for metric, given in judged.items():
        verdicts = [verdict for several in given for verdict in several]
        without = [verdict for verdict in verdicts if verdict.score is None]
        if without:
            share, first = (
                f"{len(without)} of {len(verdicts)}",
                f"{without[0].status}: {without[0].note.rstrip('.')}",
            )
            sentences.append(f"{metric} has no score for {share} texts, the first is {first}.")
    return sentences


def judge_records(records: Sequence[Judgment], metric: Reward) -> Judged:
    """Returns, per record, a verdict of each of its texts, failed ones too."""
    samples = [sample for record in records for sample in record.samples]
    chunks = (samples[start : start + CHUNK] for start in range(0, len(samples), CHUNK))
    verdicts = iter([verdict for chunk in chunks for verdict in metric.judge_samples(chunk)])
    return [tuple(next(verdicts) for _ in record.samples) for record in records]


def measure_one(measure: Measure, records: Sequence[Judgment], verdicts: Judged) -> Measured | None:
    """Returns the measure over the records without a failed verdict; records of one group are drawn
    together. None where people did not judge this, or the metric does not measure it.
    """
    units: dict[str, list[Any]] = {}
    counted = failed = 0
    for record, several in zip(records, verdicts, strict=True):
        if any(verdict.score is None for verdict in several):
            failed += 1
            continue
        items = measure.items(record, several)
        if items:
            counted += 1
            units.setdefault(record.group, []).extend(items)
    if not counted:
        return Measured(nan, Interval(nan, nan), 0, failed) if failed else None

    def statistic(drawn: Sequence[Sequence[Any]]) -> float:
        return measure.statistic([item for unit in drawn for item in unit])

    chosen = list(units.values())
    drawn_too = len(chosen) > 1 and not measure.whole
    interval = bootstrap(chosen, statistic) if drawn_too else Interval(nan, nan)
    return Measured(statistic(chosen), interval, counted, failed)


def answer_slices(record: Judgment) -> Sequence[str]:
    """The record's slices: its own (model and dataset), ALL, and "binary" (yes or no) or "other"
    (LAVE, table 9).
    """
    kind = "binary" if is_binary(record.samples[0].answers) else "other"
    return (record.slice, kind, ALL) if record.slice else (kind, ALL)


def correlations(
    criteria: Sequence[str], mean: bool, named: Mapping[str, OfTwo]
) -> tuple[Measure, ...]:
    return tuple(
        Measure(f"{criterion}: {name}", ratings(criterion, mean), statistic_of(of))
        for criterion in criteria
        for name, of in named.items()
    )


def persons_slices(record: Judgment) -> Sequence[str]:
    """The record's cluster, ALL, and PERSONS for the pictures with three persons or more (PoSh,
    section 6).
    """
    parts = [PERSONS] if Path(record.group).stem in pictures_with_persons() else []
    return (record.slice, *parts, ALL) if record.slice else (*parts, ALL)


@cache
def pictures_with_persons() -> frozenset[str]:
    return frozenset(
        json.loads(Path(__file__).with_name("caparena_three_plus_persons.json").read_text())
    )


# HarmonicEval, table 3
CRITERIA = ("correctness", "completeness", "clarity", "fluency", "conciseness")
TAU_B, TAU_C = {"tau-b": kendall_tau_b}, {"tau-c": kendall_tau_c}
COARSE = tuple(
    Measure(f"{dimension}: {name}", pairs(dimension), statistic_of(of))
    for dimension in ("mistakes", "omissions", "overall")  # PoSh, table 3
    for name, of in {"accuracy": three_way_accuracy, "Spearman": spearman, **TAU_B}.items()
)
CAPARENA = (
    Measure("captions: accuracy", pairs("overall"), statistic_of(three_way_accuracy)),
    *(measures.model_ranking(name, of) for name, of in {"Spearman": spearman, **TAU_B}.items()),
)
LAVE = tuple(
    Measure(f"quality: {name}", measures.answer_quality, statistic_of(of))
    for name, of in {"Spearman": spearman, **TAU_B}.items()
)
PREFERRED = (Measure("pair accuracy", pairs("overall"), measures.pair_choice),)
THUMB = correlations(
    ("overall", "correctness", "completeness"), True, {"Pearson": pearson, **TAU_C}
)

TABLES: dict[str, Table] = {
    "docent-coarse": Table("PoSh, tables 3 and 6", "posh", COARSE, "docent_coarse"),
    "docent-granular": Table(
        "PoSh, table 2", EVERY_COMPONENT, measures.alarms(), "docent_granular"
    ),
    "caparena": Table("PoSh, tables 3 and 6", "posh", CAPARENA, "caparena", slices=persons_slices),
    "mmhe-best": Table(
        "HarmonicEval, table 2",
        "harmonic",
        (measures.accuracy_of_best(),),
        "mmhe_best",
        pictures=True,
    ),
    "mmhe-criteria": Table(
        "HarmonicEval, table 3",
        "harmonic",
        correlations(CRITERIA, True, TAU_B),
        "mmhe_criteria",
        pictures=True,
    ),
    "flickr8k-expert": Table(
        "HarmonicEval, table 8",
        "harmonic",
        correlations(["overall"], False, TAU_C),
        "flickr8k_expert",
        pictures=True,
    ),
    "flickr8k-cf": Table(
        "HarmonicEval, table 8",
        "harmonic",
        correlations(["overall"], False, TAU_B),
        "flickr8k_cf",
        pictures=True,
    ),
    "composite": Table(
        "", "harmonic", correlations(CRITERIA[:2], False, TAU_C), "composite", pictures=True
    ),
    "lave": Table("LAVE, tables 2, 8 and 9", "lave", LAVE, "lave", slices=answer_slices),
    "thumb": Table("", "posh", THUMB, "thumb"),
    "polaris": Table("", "posh", correlations(["overall"], False, TAU_C), "polaris"),
    "pascal50s": Table("", "posh", PREFERRED, "pascal50s"),
    "sugarcrepe": Table("", "posh", PREFERRED, "sugarcrepe"),
    "discourse-foil": Table("", "posh", PREFERRED, "discourse_foil"),
}
