"""The tables that metrics are compared by: what people judged, and the statistics that a paper takes of it.

    table = TABLES["docent-coarse"]
    records = table.read(Path("coarse.jsonl"))
    judged = {metric.__name__: judge_records(records, metric) for metric in (PoshReward(judge), *baselines)}
    for row in fill_table(table, records, judged):
        row.slice, row.measure, row.metrics["posh"].value, row.metrics["posh"].interval

Every metric is measured on the records that it has scores for; how many it has none for stands beside it. Intervals are
95 % bootstraps over groups: pictures, or questions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Any

from rewards.agreement.column_map import ColumnMap, load_map
from rewards.agreement.known_sets import read_evouna, read_hat
from rewards.agreement.measures import (
    Measure,
    accuracy_of_best,
    agreement_at_half,
    alarms,
    answer_quality,
    area,
    kappa_at_half,
    model_ranking,
    pair_choice,
    pairs,
    ratings,
    statistic_of,
)
from rewards.agreement.pair_statistics import three_way_accuracy
from rewards.agreement.records import Record, read_records
from rewards.agreement.statistics import Interval, bootstrap, kendall_tau_b, kendall_tau_c, pearson, spearman
from rewards.lave.references import is_binary
from rewards.reward import Reward
from rewards.verdict import Verdict

CHUNK = 128  # samples judged together
ALL = "all"

Judged = Sequence[tuple[Verdict, ...]]  # per record a verdict of each of its texts


@dataclass(frozen=True, slots=True)
class Measured:
    """A measure of one metric, nan where it has no score at all.

    interval: 95 %, over groups; nan for a single one. n: records that it is measured on. failed: those that the metric
    has no score for.
    """

    value: float
    interval: Interval
    n: int
    failed: int


@dataclass(frozen=True, slots=True)
class TableRow:
    """One measure on one part of the records, by metric; one that does not measure such a thing is left out."""

    slice: str
    measure: str
    metrics: dict[str, Measured]


@dataclass(frozen=True, slots=True)
class Table:
    """What a table is made of.

    Attributes:
        paper: which table of which paper it repeats, "" for none.
        metric: the metric that the paper is about.
        measures: the rows of every slice.
        columns: the packaged column map of its file, "" for a set with a reader of its own.
        reader: that reader.
        granular: whether it measures spans, so that the paper's span baselines belong to it.
        pictures: whether the paper's metric is shown pictures.
        slices: the parts of the table that a record is in.
    """

    paper: str
    metric: str
    measures: tuple[Measure, ...]
    columns: str = ""
    reader: Callable[[Path], list[Record]] | None = None
    granular: bool = False
    pictures: bool = False
    slices: Callable[[Record], Sequence[str]] = lambda record: (record.slice, ALL) if record.slice else (ALL,)

    def read(self, path: Path, columns: ColumnMap | None = None, pictures: Path | None = None) -> list[Record]:
        """The records of a file. columns: the map in place of the packaged one. Raises what `read_records` raises."""
        if self.reader is not None and columns is None:
            return self.reader(path)
        return read_records(path, columns or load_map(self.columns), pictures)


def fill_table(table: Table, records: Sequence[Record], judged: Mapping[str, Judged]) -> list[TableRow]:
    """A row per slice and measure, from each metric's verdicts. Raises ValueError where there is no score at all.

    Metrics without spans have no measures of spans.
    """
    places: dict[str, list[int]] = {}
    for number, record in enumerate(records):
        for name in table.slices(record):
            places.setdefault(name, []).append(number)
    rows = []
    for name in sorted(places, key=lambda part: part == ALL):
        for measure in table.measures:
            found = {}
            for metric, given in judged.items():
                measured = measure_one(measure, [records[n] for n in places[name]], [given[n] for n in places[name]])
                if measured is not None:
                    found[metric] = measured
            if found:
                rows.append(TableRow(name, measure.name, found))
    if not any(measured.n for row in rows for measured in row.metrics.values()):
        nothing = "people judged nothing that this table measures, or no metric says which words are wrong."
        raise ValueError(f"nothing can be measured: {' '.join(unscored(judged)) or nothing}")
    return rows


def unscored(judged: Mapping[str, Judged]) -> list[str]:
    """A sentence for each metric that has no score for a text, with the first reason."""
    sentences = []
    for metric, given in judged.items():
        verdicts = [verdict for several in given for verdict in several]
        without = [verdict for verdict in verdicts if verdict.score is None]
        if without:
            share, first = f"{len(without)} of {len(verdicts)}", f"{without[0].status}: {without[0].note.rstrip('.')}"
            sentences.append(f"{metric} has no score for {share} texts, the first is {first}.")
    return sentences


def judge_records(records: Sequence[Record], metric: Reward) -> Judged:
    """Per record a verdict of each of its texts, failed ones too."""
    samples = [sample for record in records for sample in record.samples]
    found = [v for at in range(0, len(samples), CHUNK) for v in metric.judge_samples(samples[at : at + CHUNK])]
    verdicts = iter(found)
    return [tuple(next(verdicts) for _ in record.samples) for record in records]


def measure_one(measure: Measure, records: Sequence[Record], verdicts: Judged) -> Measured | None:
    """The measure over the records without a failed verdict, those of one group drawn together.

    None where people did not judge this, or the metric does not measure it.
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
    interval = bootstrap(chosen, statistic) if len(chosen) > 1 else Interval(nan, nan)
    return Measured(statistic(chosen), interval, counted, failed)


def answer_slices(record: Record) -> Sequence[str]:
    """A model on a dataset, all, and LAVE's table 9: questions that yes or no answers, and the others."""
    kind = "binary" if is_binary(record.samples[0].answers) else "other"
    return (record.slice, kind, ALL) if record.slice else (kind, ALL)


def correlations(criterion: str, mean: bool, named: Mapping[str, Any]) -> tuple[Measure, ...]:
    return tuple(
        Measure(f"{criterion}: {name}", ratings(criterion, mean), statistic_of(of)) for name, of in named.items()
    )


DIMENSIONS = ("mistakes", "omissions", "overall")  # PoSh, table 3
CRITERIA = ("correctness", "completeness", "clarity", "fluency", "conciseness")  # HarmonicEval, table 3
COARSE = tuple(
    Measure(f"{dimension}: {name}", pairs(dimension), statistic_of(of))
    for dimension in DIMENSIONS
    for name, of in {"accuracy": three_way_accuracy, "Spearman": spearman, "tau-b": kendall_tau_b}.items()
)
PREFERRED = (Measure("pair accuracy", pairs("overall"), pair_choice),)

TABLES: dict[str, Table] = {
    "docent-coarse": Table("PoSh, tables 3 and 6", "posh", COARSE, "docent_coarse"),
    "docent-granular": Table("PoSh, table 2", "posh", alarms(), "docent_granular", granular=True),
    "caparena": Table(
        "PoSh, tables 3 and 6",
        "posh",
        (
            Measure("captions: accuracy", pairs("overall"), statistic_of(three_way_accuracy)),
            *(model_ranking(name, of) for name, of in {"Spearman": spearman, "tau-b": kendall_tau_b}.items()),
        ),
        "caparena",
    ),
    "mmhe-best": Table("HarmonicEval, table 2", "harmonic", (accuracy_of_best(),), "mmhe_best", pictures=True),
    "mmhe-criteria": Table(
        "HarmonicEval, table 3",
        "harmonic",
        tuple(m for criterion in CRITERIA for m in correlations(criterion, True, {"tau-b": kendall_tau_b})),
        "mmhe_criteria",
        pictures=True,
    ),
    "flickr8k-expert": Table(
        "HarmonicEval, table 8",
        "harmonic",
        correlations("overall", False, {"tau-c": kendall_tau_c}),
        "flickr8k_expert",
        pictures=True,
    ),
    "flickr8k-cf": Table(
        "HarmonicEval, table 8",
        "harmonic",
        correlations("overall", False, {"tau-b": kendall_tau_b}),
        "flickr8k_cf",
        pictures=True,
    ),
    "composite": Table(
        "HarmonicEval, table 8",
        "harmonic",
        tuple(
            m
            for criterion in ("correctness", "completeness")
            for m in correlations(criterion, False, {"tau-c": kendall_tau_c})
        ),
        "composite",
        pictures=True,
    ),
    "lave": Table(
        "LAVE, tables 2, 8 and 9",
        "lave",
        (
            Measure("quality: Spearman", answer_quality, statistic_of(spearman)),
            Measure("quality: tau-b", answer_quality, statistic_of(kendall_tau_b)),
        ),
        "lave",
        slices=answer_slices,
    ),
    "thumb": Table(
        "",
        "posh",
        tuple(
            m
            for criterion in ("overall", "correctness", "completeness")
            for m in correlations(criterion, True, {"Pearson": pearson, "tau-c": kendall_tau_c})
        ),
        "thumb",
    ),
    "polaris": Table("", "posh", correlations("overall", False, {"tau-c": kendall_tau_c}), "polaris"),
    "pascal50s": Table("", "posh", PREFERRED, "pascal50s"),
    "sugarcrepe": Table("", "posh", PREFERRED, "sugarcrepe"),
    "discourse-foil": Table("", "posh", PREFERRED, "discourse_foil"),
    "hat": Table("", "posh", (area("mistakes"), *alarms()), reader=read_hat, granular=True),
    "evouna": Table("", "lave", (area("quality"), agreement_at_half(), kappa_at_half()), reader=read_evouna),
}
