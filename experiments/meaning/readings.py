"""What each of the product's readings makes of pairs that differ in meaning, or in markup alone.

A pair of the family "apart" is held if the reading tells its texts apart, and one of the family
"same" if it makes them equal. A pair that is not held is silent if nothing says so: neither text
came out empty, and neither score is missing.
"""

import csv
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.meaning.marks import CELLS, Mark
from experiments.meaning.pairs import Pair
from spanreward.rewards import FunctionJudge, LaveReward, MatchJudge, PoshReward, Reward, Sample
from spanreward.rewards.base.verdict import Status
from spanreward.rewards.lave.vqa import vqa_accuracy
from spanreward.rewards.rows.lines import read_rows
from spanreward.rewards.text.written import read_text

PEOPLE = 10  # who all gave the right answer
TOLERANCE = 1e-9  # of scores that are equal
BARE = "the right text itself"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a reading made of one pair. results: what came of its two texts, to show."""

    family: str
    dimension: str
    held: bool
    silent: bool
    texts: tuple[str, str]
    results: tuple[str, str]


def compared(pair: Pair, first: str, second: str) -> Outcome:
    """Returns the outcome of a reading whose results are texts. White space does not count."""
    results = (" ".join(first.split()), " ".join(second.split()))
    equal = results[0] == results[1]
    held = equal if pair.family == "same" else not equal
    silent = not held and all(results)
    return Outcome(pair.family, pair.dimension, held, silent, (pair.right, pair.candidate), results)


def scored(
    pair: Pair, right: float | None, candidate: float | None, empty: bool = False
) -> Outcome:
    """Returns the outcome of a reading whose results are scores. None is a missing score.

    empty: whether the metric says that one of the texts holds nothing.
    """
    if right is None or candidate is None:
        held = pair.family == "same" and right is candidate
    elif pair.family == "same":
        held = abs(right - candidate) < TOLERANCE
    else:
        held = candidate < right - TOLERANCE
    silent = not held and not empty and right is not None and candidate is not None
    texts = (pair.right, pair.candidate)
    return Outcome(pair.family, pair.dimension, held, silent, texts, (f"{right}", f"{candidate}"))


def paid_in_full(text: str, score: float | None, empty: bool = False) -> Outcome:
    """Returns the outcome of the right text as it is, which should have the highest score."""
    held = score is not None and score > 1 - TOLERANCE
    silent = not held and not empty and score is not None
    return Outcome("same", BARE, held, silent, (text, text), ("1.0", f"{score}"))


def plain_texts(pairs: Sequence[Pair]) -> Iterator[Outcome]:
    """Yields the outcomes of the text that a judge is shown of a completion."""
    for pair in pairs:
        if pair.family == "apart" or pair.kind == "markup":
            right, candidate = read_text(pair.right).plain, read_text(pair.candidate).plain
            yield compared(pair, right, candidate)


def verdict_outcomes(
    pairs: Sequence[Pair], samples: Sequence[Sample], reward: Reward
) -> Iterator[Outcome]:
    """Yields the outcomes of a metric. samples: of each pair its right text, its candidate and its
    reference.
    """
    verdicts = iter(reward.assess(samples))
    seen = set()
    for pair in pairs:
        right, candidate, bare = next(verdicts), next(verdicts), next(verdicts)
        empty = Status.EMPTY in (right.status, candidate.status)
        yield scored(pair, right.score, candidate.score, empty)
        if pair.reference not in seen and pair.family == "apart":
            seen.add(pair.reference)
            yield paid_in_full(pair.reference, bare.score, bare.status is Status.EMPTY)


def answer_samples(pairs: Sequence[Pair]) -> list[Sample]:
    samples = []
    for pair in pairs:
        people = (pair.reference,) * PEOPLE
        for text in (pair.right, pair.candidate, pair.reference):
            samples.append(Sample("", text, question=pair.question, answers=people))
    return samples


def lave_scores(pairs: Sequence[Pair]) -> Iterator[Outcome]:
    """Yields the outcomes of LAVE's scores by the judge `match`."""
    answers = [pair for pair in pairs if pair.texts == "answer"]
    return verdict_outcomes(answers, answer_samples(answers), LaveReward(MatchJudge()))


def lave_prompts(pairs: Sequence[Pair]) -> Iterator[Outcome]:
    """Yields the outcomes of the prompt that LAVE shows a judge that reads.

    The judge writes a number in place of a reason. LAVE keeps it as the span's note, so that each
    verdict names its prompt.
    """
    prompts: list[str] = []

    def remember(prompt: str) -> str:
        prompts.append(prompt.rsplit("Candidate answer: ", 1)[-1])
        return f"{len(prompts) - 1}. So rating=3"

    shown = []
    for pair in pairs:
        if pair.texts == "answer" and (pair.family == "apart" or pair.kind != "spelling"):
            shown.append(pair)
    verdicts = iter(LaveReward(FunctionJudge("memory", remember)).assess(answer_samples(shown)))
    for pair in shown:
        candidates = []
        for verdict in (next(verdicts), next(verdicts), next(verdicts)):
            candidate = ""
            if verdict.spans:
                candidate = prompts[int(verdict.spans[0].note.split(".")[0])]
            candidates.append(candidate.removesuffix("\nOutput:"))
        yield compared(pair, candidates[0], candidates[1])


def vqa_scores(pairs: Sequence[Pair]) -> Iterator[Outcome]:
    """Yields the outcomes of VQA accuracy, but for answers that the published metric makes equal,
    and spellings that it does not.
    """
    seen = set()
    for pair in pairs:
        if pair.texts != "answer":
            continue
        people = (pair.reference,) * PEOPLE
        if pair.family == "apart" and pair.reference not in seen:
            seen.add(pair.reference)
            yield paid_in_full(pair.reference, vqa_accuracy(pair.reference, people))
        merged_as_published = pair.family == "apart" and pair.merged
        apart_as_published = pair.kind == "spelling" and not pair.merged
        if not merged_as_published and not apart_as_published:
            right = vqa_accuracy(pair.right, people)
            yield scored(pair, right, vqa_accuracy(pair.candidate, people))


def posh_scores(pairs: Sequence[Pair]) -> Iterator[Outcome]:
    """Yields the outcomes of PoSh's scores by the judge `match`."""
    captions = [pair for pair in pairs if pair.texts == "caption"]
    samples = []
    for pair in captions:
        for text in (pair.right, pair.candidate, pair.reference):
            samples.append(Sample("", text, references=(pair.reference,)))
    return verdict_outcomes(captions, samples, PoshReward(MatchJudge()))


def cells(pairs: Sequence[Pair]) -> Iterator[Outcome]:
    """Yields, for each form of a table, whether its cells come back as they were written."""
    texts = list(dict.fromkeys([*CELLS, *(pair.candidate for pair in pairs)]))
    with tempfile.TemporaryDirectory() as folder:
        for ending, separator in (("csv", ","), ("tsv", "\t")):
            path = Path(folder, f"rows.{ending}")
            with path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file, delimiter=separator)
                writer.writerow(["id", "completion", "reference"])
                for number, text in enumerate(texts):
                    writer.writerow([number, text, text])
            yield from read_back(path, texts)
        path = Path(folder, "rows.jsonl")
        with path.open("w", encoding="utf-8") as file:
            for number, text in enumerate(texts):
                row = {"id": number, "completion": text, "answers": [text] * 2}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        yield from read_back(path, texts)


def read_back(path: Path, texts: Sequence[str]) -> Iterator[Outcome]:
    """Yields the outcome of each text in each column of a file of rows."""
    ending = path.suffix.removeprefix(".")
    rows = {row.id: row.sample for row in read_rows(path)}
    for number, text in enumerate(texts):
        sample = rows.get(str(number), "there is no such row")
        if isinstance(sample, str):
            yield Outcome("same", f"{ending}: completion", False, False, (text, text), ("", sample))
            continue
        columns: dict[str, tuple[str, ...]] = {"completion": (sample.completion,)}
        if ending == "jsonl":
            columns["answers"] = sample.answers[:1]
        else:
            columns["reference"] = sample.references
        for column, values in columns.items():
            held = values == (text,)
            dimension = f"{ending}: {column}"
            yield Outcome(
                "same", dimension, held, not held, (text, text), (text, " | ".join(values))
            )


def marks_kept(marks: Sequence[Mark]) -> Iterator[Outcome]:
    """Yields whether a marked word is the same word in the plain text, and leads back to its
    place.
    """
    for mark in marks:
        word = mark.text[mark.start : mark.end]
        reading = read_text(mark.text)
        places = []
        for place, origin in enumerate(reading.origin):
            if mark.start <= origin < mark.end:
                places.append(place)
        held = False
        plain = ""
        if places:
            plain = reading.plain[places[0] : places[-1] + 1]
            back = reading.written(places[0], places[-1] + 1)
            held = plain == word and back == (mark.start, mark.end)
        yield Outcome("same", mark.dimension, held, not held, (mark.text, word), (word, plain))
