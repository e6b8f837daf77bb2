"""Whether any text breaks a reward: thousands of random samples, and how time grows with their length.

spanreward benchmark fuzz --cases 10000
"""

import argparse
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from rewards import CriteriaReward, HarmonicReward, LaveReward, PairwiseReward, PoshReward
from rewards.judges import closing, load_judge
from rewards.judges.judge import Judge
from rewards.reward import Reward
from rewards.verdict import Sample, Span
from training.hacking.hostile_texts import CONTROL, HOSTILE

DESCRIPTION = """Draws --cases samples (hypothesis) for each reward: completion, references, question, answers, context,
criteria and anchor out of scene words, control tokens, placeholders, ratings and any characters at all. Nothing may be
raised, no verdict may have failed, scores lie in [0, 1], spans inside their text, numbers are finite, and a verdict can
be written as JSON. The smallest sample that breaks one of these is told. Then each reward judges --lengths words of
four kinds, and the growth of its CPU seconds with the length is an exponent, 1 where time is linear: texts past
10,000 characters are not judged and cost no more."""
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
    *("\0", "\ud83d", "\udc00", "\u202e", "\u200b", "\u0301", "🟥", "赤い丸", "\u2028", "<|", "|>", '"', "\\"),
)
LONG = {
    "scene": "A small red circle is left of a large blue square. ",
    "one word": "circle ",
    "commas": "red, ",
    "signs": "!a",
}
REPEATS = 3  # of each time, of which the shortest counts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cases", type=int, default=10_000, help="samples for each reward (default 10000)")
    parser.add_argument("--judge", default="match", help="(default match)")
    parser.add_argument("--seed", type=int, default=0, help="of the samples (default 0)")
    parser.add_argument("--metrics", nargs="+", metavar="NAME", help="only these (default all)")
    parser.add_argument("--lengths", type=int, nargs="+", default=[200, 400, 800], help="(default 200 400 800)")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.cases < 1 or min(arguments.lengths) < 1:
        raise ValueError(f"--cases and --lengths are 1 or more, got {arguments.cases} and {arguments.lengths}")
    judge = load_judge(arguments.judge)
    found = {}
    with closing([judge]):
        rewards = rewards_with(judge)
        unknown = set(arguments.metrics or ()) - rewards.keys()
        if unknown:
            raise ValueError(f"there is no metric {sorted(unknown)} here: there are {sorted(rewards)}")
        for name in arguments.metrics or rewards:
            began = time.process_time()
            problem = fuzz(rewards[name], arguments.cases, arguments.seed)
            seconds = time.process_time() - began
            found[name] = {"problem": problem, "cpu_seconds": seconds}
            found[name]["exponents"] = {
                kind: exponent(rewards[name], unit, arguments.lengths) for kind, unit in LONG.items()
            }
    show(found)
    return {"cases": arguments.cases, "seed": arguments.seed, "judge": arguments.judge, "metrics": found}


def rewards_with(judge: Judge) -> dict[str, Reward]:
    """Every reward in its default mode, shown texts in place of pictures."""
    return {
        "posh": PoshReward(judge),
        "harmonic": HarmonicReward(judge, evidence="context"),
        "lave": LaveReward(judge, rationale=False),
        "pairwise": PairwiseReward(judge, anchor="anchor", evidence="context"),
        "criteria": CriteriaReward(judge, evidence="context"),
    }


def fuzz(reward: Reward, cases: int, seed: int) -> str:
    """The smallest sample that breaks the reward, and how; "" where none of so many does."""
    given, settings, strategies = hypothesis_parts()

    @settings(max_examples=cases, seed=seed)
    @given(strategies)
    def judge_one(sample: Sample) -> None:
        (verdict,) = reward.assess([sample])
        reason = wrong_with(sample, verdict)
        if reason:
            raise AssertionError(f"{reason}: {sample!r}")

    try:
        judge_one()
    except Exception as error:  # whatever a reward raises is what is looked for
        return f"{type(error).__name__}: {error}"
    return ""


def hypothesis_parts() -> tuple[Any, Any, Any]:
    """hypothesis' `given`, its settings with a seed, and samples to draw. Raises ImportError."""
    try:
        import hypothesis
        from hypothesis import strategies as st
    except ImportError:
        raise ImportError("fuzz draws its samples with hypothesis: pip install hypothesis") from None

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
    made = st.tuples(st.sampled_from(("", " ")), st.lists(pieces, max_size=14)).map(lambda both: both[0].join(both[1]))
    short = st.sampled_from(sorted(text for text in HOSTILE.values() if len(text) < 4000))
    texts = st.one_of(made, made, made, short)
    some = st.lists(texts.filter(str.strip), max_size=3).map(tuple)
    samples = st.builds(
        Sample,
        prompt=texts,
        completion=texts,
        references=some,
        question=st.none() | texts,
        answers=some,
        context=st.none() | texts,
        anchor=st.none() | texts,
        criteria=some,
    )
    return hypothesis.given, settings, samples


def wrong_with(sample: Sample, verdict: Any) -> str:
    """What of the verdict must not be, "" where all is well."""
    if verdict.status.failed:
        return f"the verdict is {verdict.status}: {verdict.note}"
    if verdict.score is not None and not 0.0 <= verdict.score <= 1.0:
        return f"the score is {verdict.score}"
    reference = sample.references[verdict.reference] if verdict.missed else ""
    if outside(verdict.spans, sample.completion) or outside(verdict.missed, reference):
        return "a span lies outside its text"
    numbers = [*verdict.parts.values(), *(number for span in verdict.spans for number in (span.score, span.credit))]
    if not all(map(math.isfinite, numbers)):
        return "a number is not finite"
    json.dumps(asdict(verdict), allow_nan=False).encode("ascii")
    return ""


def outside(spans: Sequence[Span], text: str) -> bool:
    return any(span.end > len(text) for span in spans)


def exponent(reward: Reward, unit: str, lengths: Sequence[int]) -> float:
    """The slope of log CPU seconds over log length, from the shortest text to the longest."""
    if len(set(lengths)) < 2:
        return math.nan
    seconds = {}
    for length in (min(lengths), max(lengths)):
        times = []
        for repeat in range(REPEATS):
            said = f"{repeat} {unit * length}"[:9000]  # a new text each time, all of it judged
            sample = Sample("Describe.", said, (), (unit,), "What is it?", (unit,), None, None, unit, unit, (unit,))
            began = time.process_time()
            reward.assess([sample])
            times.append(time.process_time() - began)
            characters = len(said)
        seconds[characters] = min(times)
    (short, quick), (long, slow) = sorted(seconds.items())
    return math.log(slow / quick) / math.log(long / short)


def show(found: dict[str, Any]) -> None:
    table = Table(title="samples that break a reward, and the exponent of time over length")
    for column in ("metric", "problem", "CPU s", *LONG):
        table.add_column(column)
    for name, line in found.items():
        exponents = (f"{value:.2f}" for value in line["exponents"].values())
        table.add_row(name, line["problem"][:200] or "none", f"{line['cpu_seconds']:.0f}", *exponents)
    Console(stderr=True, width=140).print(table)
