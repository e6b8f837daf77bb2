"""Whether any text breaks a reward: thousands of random samples, and how time grows with their
length.

python -m experiments benchmark fuzz --cases 10000
"""

import argparse
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from experiments.caprl.reward import CaprlReward
from experiments.hacking.hostile_texts import CONTROL, HOSTILE
from spanreward.rewards import (
    CriteriaReward,
    HarmonicReward,
    LaveReward,
    PairwiseReward,
    PoshReward,
)
from spanreward.rewards.base.verdict import Sample, Span, Status, Verdict
from spanreward.rewards.judges import closing, load_judge
from spanreward.rewards.judges.judge import Judge
from spanreward.rewards.reward.reward import Reward

DESCRIPTION = """Draws --cases samples (hypothesis) for each reward: completion, references, question, answers, context,
criteria and anchor out of scene words, control tokens, placeholders, ratings and any characters at all. Nothing may be
raised, no verdict may be an error or late unless the row is with a plain completion, too, scores lie in [0, 1], spans
inside their text, numbers are finite, and a verdict can be written as JSON. The smallest sample that breaks one of
these is told. Verdicts that are unparsed, as the judge put next to nothing on its ratings, are the judge's, and are
counted. Then each reward judges texts of four kinds and of --lengths characters, and the growth of its CPU seconds with
the length is an exponent, 1 where time is linear. Texts past 10,000 characters are not judged and cost no more."""
PIECES = (
    *(
        "A red circle",
        "a small blue square",
        "two dogs",
        "above",
        "is in the top left corner",
        ". ",
        ", ",
        " and ",
        "\n",
    ),
    *(
        "There is no",
        "left of it",
        "its",
        "they",
        "Rating: 5",
        "rating=3",
        "{answer}",
        "{{text}}",
        "1. ",
        "2) ",
        "A",
        "yes",
    ),
    *(
        "\0",
        "\ud83d",
        "\udc00",
        "\u202e",
        "\u200b",
        "\u0301",
        "🟥",
        "赤い丸",
        "\u2028",
        "<|",
        "|>",
        '"',
        "\\",
    ),
)
LONG = {
    "scene": "A small red circle is left of a large blue square. ",
    "one word": "circle ",
    "commas": "red, ",
    "signs": "!a",
}
PLAIN = "A red circle."
BATCH = 64  # samples judged together
BROKEN = (Status.ERROR, Status.TIMEOUT)
REPEATS = 3  # of each time, of which the shortest counts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--cases", type=int, default=10_000, help="samples for each reward (default 10000)"
    )
    parser.add_argument(
        "--judge",
        default="experiments/scenes/word_judge.py:WordJudge",
        help="(default: words alone)",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the samples (default 0)")
    parser.add_argument("--metrics", nargs="+", metavar="NAME", help="only these (default all)")
    parser.add_argument(
        "--lengths", type=int, nargs=2, default=[2000, 8000], help="characters (default 2000 8000)"
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    short, long = arguments.lengths
    if arguments.cases < 1 or not 1 <= short < long:
        raise ValueError(
            "--cases and --lengths are 1 or more and the first length is shorter, "
            f"got {arguments.cases} and {arguments.lengths}"
        )
    judge = load_judge(arguments.judge)
    found = {}
    with closing([judge]):
        rewards = rewards_with(judge)
        unknown = set(arguments.metrics or ()) - rewards.keys()
        if unknown:
            raise ValueError(
                f"there is no metric {sorted(unknown)} here: there are {sorted(rewards)}"
            )
        for name in arguments.metrics or rewards:
            began = time.process_time()
            found[name] = fuzz(rewards[name], arguments.cases, arguments.seed)
            found[name]["cpu_seconds"] = time.process_time() - began
            found[name]["exponents"] = {
                kind: exponent(rewards[name], unit, short, long) for kind, unit in LONG.items()
            }
    show(found)
    return {
        "cases": arguments.cases,
        "seed": arguments.seed,
        "judge": arguments.judge,
        "metrics": found,
    }


def rewards_with(judge: Judge) -> dict[str, Reward]:
    """Every reward in its default mode, shown texts in place of pictures."""
    return {
        "posh": PoshReward(judge),
        "harmonic": HarmonicReward(judge, evidence="context"),
        "lave": LaveReward(judge, rationale=False),
        "pairwise": PairwiseReward(judge, anchor="anchor", evidence="context"),
        "criteria": CriteriaReward(judge, evidence="context"),
        "caprl": CaprlReward(judge),
    }


def fuzz(reward: Reward, cases: int, seed: int) -> dict[str, Any]:
    """problem: the smallest sample that breaks the reward, and how; "" where none of so many does.
    statuses: how many verdicts had each, "row" for those that are broken with a plain completion,
    too.
    """
    statuses: Counter[str] = Counter()
    problem = ""
    drawn: list[Sample] = []
    for_each(cases, seed, drawn.append)
    batches = [drawn[start : start + BATCH] for start in range(0, len(drawn), BATCH)]
    try:
        for batch in track(batches, reward.__name__, console=Console(stderr=True)):
            for sample, verdict in zip(batch, reward.assess(batch), strict=True):
                statuses[counted_as(reward, sample, verdict)] += 1
    except Exception as error:  # whatever a reward raises is what is looked for
        problem = (
            smallest(reward, cases, seed)
            or f"in a batch of {BATCH} only: {type(error).__name__}: {error}"
        )
    return {"problem": problem, "statuses": dict(statuses)}


def for_each(cases: int, seed: int, do: Callable[[Sample], object]) -> None:
    """Draw so many samples, the same ones for one seed, and shrink the first on which `do`
    raises.
    """
    given, settings, samples = hypothesis_parts()

    @settings(max_examples=cases, seed=seed)
    @given(samples)
    def with_one(sample: Sample) -> None:
        do(sample)

    with_one()


def smallest(reward: Reward, cases: int, seed: int) -> str:
    """What the first sample that breaks the reward by itself shrinks to, and how it does; "" where
    none does.
    """
    try:
        for_each(cases, seed, lambda sample: counted_as(reward, sample, reward.assess([sample])[0]))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def counted_as(reward: Reward, sample: Sample, verdict: Verdict) -> str:
    """The name under which a verdict is counted. Raises AssertionError for one that must not be."""
    if verdict.status in BROKEN and is_hopeless(reward, sample):
        return "row"
    if reason := wrong_with(sample, verdict):
        raise AssertionError(f"{reason}: {sample!r}")
    return str(verdict.status)


def is_hopeless(reward: Reward, sample: Sample) -> bool:
    """Whether the row fails whatever is written to it, as one does whose prompt is longer than the
    judge can read.
    """
    return reward.assess([replace(sample, completion=PLAIN)])[0].status.failed


def hypothesis_parts() -> tuple[Any, Any, Any]:
    """hypothesis' `given`, its settings with a seed, and samples to draw. Raises ImportError."""
    try:
        import hypothesis
        from hypothesis import strategies as st
    except ImportError:
        raise ImportError(
            "fuzz draws its samples with hypothesis: pip install hypothesis"
        ) from None

    def settings(max_examples: int, seed: int) -> Callable[[Any], Any]:
        chosen = hypothesis.settings(
            max_examples=max_examples,
            deadline=None,
            database=None,
            suppress_health_check=list(hypothesis.HealthCheck),
            phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
        )
        return lambda test: hypothesis.seed(seed)(chosen(test))

    pieces = st.one_of(
        st.sampled_from(PIECES),
        st.sampled_from(CONTROL),
        st.text(st.characters(exclude_categories=()), max_size=8),
    )
    made = st.tuples(st.sampled_from(("", " ")), st.lists(pieces, max_size=14)).map(
        lambda both: both[0].join(both[1])
    )
    short = st.sampled_from(sorted(text for text in HOSTILE.values() if len(text) < 4000))
    texts = st.one_of(made, made, made, short)
    filled = st.lists(texts.filter(str.strip), min_size=1, max_size=3).map(tuple)
    some = st.integers(0, 9).flatmap(lambda number: st.just(()) if number == 5 else filled)
    maybe = st.integers(0, 9).flatmap(lambda number: st.none() if number == 5 else texts)
    samples = st.builds(
        Sample,
        prompt=texts,
        completion=texts,
        references=some,
        question=maybe,
        answers=some,
        task=st.sampled_from(("ic", "vqa")),
        context=maybe,
        anchor=maybe,
        criteria=some,
    )
    return hypothesis.given, settings, samples


def wrong_with(sample: Sample, verdict: Verdict) -> str:
    """What of the verdict must not be, "" where all is well."""
    if verdict.status in BROKEN:
        return f"the verdict is {verdict.status}: {verdict.note}"
    if verdict.score is not None and not 0.0 <= verdict.score <= 1.0:
        return f"the score is {verdict.score}"
    reference = sample.references[verdict.reference] if verdict.missed else ""
    if outside(verdict.spans, sample.completion) or outside(verdict.missed, reference):
        return "a span lies outside its text"
    numbers = [
        *verdict.parts.values(),
        *(number for span in verdict.spans for number in (span.score, span.credit)),
    ]
    if not all(map(math.isfinite, numbers)):
        return "a number is not finite"
    json.dumps(asdict(verdict), allow_nan=False).encode("ascii")
    return ""


def outside(spans: Sequence[Span], text: str) -> bool:
    return any(span.end > len(text) for span in spans)


def exponent(reward: Reward, unit: str, short: int, long: int) -> float:
    """The slope of log CPU seconds over log length, from texts of `short` characters to texts of
    `long`.
    """
    return math.log(seconds_of(reward, unit, long) / seconds_of(reward, unit, short)) / math.log(
        long / short
    )


def seconds_of(reward: Reward, unit: str, length: int) -> float:
    """CPU seconds in which the reward judges so many characters: the least of REPEATS times, of a
    new text each.
    """
    times = []
    for repeat in range(REPEATS):
        # nothing of it is remembered from another length
        said = f"{length} {repeat} {unit * length}"[:length]
        sample = Sample(
            "Describe.", said, (), (unit,), "What is it?", (unit,), "vqa", None, unit, unit, (unit,)
        )
        began = time.process_time()
        reward.assess([sample])
        times.append(time.process_time() - began)
    return min(times)


def show(found: dict[str, Any]) -> None:
    table = Table(title="samples that break a reward, and the exponent of time over length")
    for column in ("metric", "problem", "verdicts", "CPU s", *LONG):
        table.add_column(column)
    for name, line in found.items():
        exponents = (f"{value:.2f}" for value in line["exponents"].values())
        verdicts = ", ".join(f"{count} {status}" for status, count in line["statuses"].items())
        table.add_row(
            name,
            line["problem"][:200] or "none",
            verdicts,
            f"{line['cpu_seconds']:.0f}",
            *exponents,
        )
    Console(stderr=True, width=140).print(table)
