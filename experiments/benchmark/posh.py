"""What PoSh costs: questions and tokens, which are exact, and seconds, which are this machine's.

python -m experiments benchmark posh --judge vllm:smollm2 --pairs pairs.jsonl --json posh.json
"""

import argparse
import json
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from experiments.benchmark.given_graphs import assess_graphs
from spanreward.rewards.judges.judge import Judge, OuterJudge

DESCRIPTION = """PoSh over all pairs as one batch: in published mode, in published mode with noun phrases made by rule
(by-rule), and in default mode, each with a judge that has seen nothing. A pair is a JSON object with `completion` and
`reference`. Prints JSON:

waves            one entry per call: questions asked, how many of them are unique, and what these cost:
                 prompt_tokens, computed (no earlier prompt began with them, as the engine counted), generated, seconds
by_rule          the computed tokens by arithmetic, for prefix caches that keep blocks of 1, 32 or 128 tokens
precision        the share of the unique questions, and of the tokens computed in blocks of 32, that are precision's
seconds          parse, judge and rest (templates, cache, arithmetic); the start of an engine is in none
second_call      questions of a second call on the same pairs, and how many of them reached the judge
names            noun phrases the judge wrote, and how many are those made by rule (articles and case aside)
groups           of pairs with one reference: the tokens computed together, over the mean of each pair alone
names_by_rule_move_f1   how far F1 in by-rule is from F1 in published mode"""
MODES = ("published", "by-rule", "default")
BLOCKS = (1, 32, 128)

Tokens = tuple[int, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--judge", default="match", help="who answers (default match, which costs no tokens)"
    )
    parser.add_argument("--pairs", required=True, type=Path, metavar="PAIRS.jsonl")
    parser.add_argument(
        "--modes",
        nargs="+",
        choices=MODES,
        default=MODES,
        help="which to measure (default all three)",
    )
    parser.add_argument(
        "--tokens", default="smollm2", metavar="MODEL", help="whose tokens to count by arithmetic"
    )
    parser.add_argument(
        "--prompts",
        type=Path,
        metavar="FOLDER",
        help="the published prompt files, for published mode",
    )
    parser.add_argument("--coref", default="rules", help="coreference: rules (default) or none")


@dataclass(slots=True)
class Wave:
    """One call of a judge; tokens are None where the judge does not count them."""

    kind: str
    questions: int
    unique: int
    prompt_tokens: int | None
    computed: int | None
    generated: int | None
    seconds: float


class Meter(OuterJudge):
    """A judge that passes everything on and keeps the questions, their answers and what they
    cost.
    """

    def __init__(self, judge: Judge) -> None:
        super().__init__(judge)
        self.waves: list[Wave] = []
        self.asked: list[list[Any]] = []
        self.written: list[tuple[Any, str]] = []

    def rate_each(self, questions: Sequence[Any], scale: Sequence[str]) -> list[Any]:
        return self._measured("rate", questions, lambda: self.judge.rate(questions, scale))

    def write_each(self, questions: Sequence[Any], max_tokens: int) -> list[Any]:
        answers = self._measured(
            "write", questions, lambda: self.judge.write(questions, max_tokens)
        )
        pairs = zip(questions, answers, strict=True)
        self.written += [
            (question, answer) for question, answer in pairs if isinstance(answer, str)
        ]
        return answers

    def _measured(
        self, kind: str, questions: Sequence[Any], ask: Callable[[], list[Any]]
    ) -> list[Any]:
        from spanreward.rewards.judges.local.local_judge import LocalJudge
        from spanreward.rewards.judges.remote.remote_judge import RemoteJudge

        before = copy(self.judge.usage)
        start = time.perf_counter()
        answers = ask()
        seconds = time.perf_counter() - start
        counts = isinstance(self.judge, (LocalJudge, RemoteJudge))
        spent = self.judge.usage.since(before) if counts else None
        self.asked.append(list(questions))
        self.waves.append(
            Wave(
                kind,
                len(questions),
                len({content(question) for question in questions}),
                spent.prompt_tokens if spent else None,
                spent.prompt_tokens - spent.cached_tokens if spent else None,
                spent.generated_tokens if spent else None,
                round(seconds, 3),
            )
        )
        return answers


class NamesByRule(Meter):
    """Its noun phrases are made by rule; the judge only rates."""

    def write_each(self, questions: Sequence[Any], max_tokens: int) -> list[Any]:
        return [question.probe.by_rule for question in questions]


def content(question: Any) -> str:
    """What the judge reads of a question."""
    return "\n".join(message["content"] for message in question.messages)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    pairs = read_pairs(arguments.pairs)
    encode = encoder(arguments.tokens)
    runs = {mode: posh_run(arguments, pairs, encode, mode) for mode in arguments.modes}
    scores = {mode: run["scores"] for mode, run in runs.items()}
    result = {
        "judge": arguments.judge,
        "pairs": len(pairs),
        "coref": arguments.coref,
        "modes": runs,
    }
    if "published" in scores and "by-rule" in scores:
        moved = [abs(a - b) for a, b in zip(scores["published"], scores["by-rule"], strict=True)]
        result["names_by_rule_move_f1"] = {"mean": sum(moved) / len(moved), "largest": max(moved)}
    return result


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """(completion, reference) per line.

    Raises ValueError naming the line that has not both as texts.
    """
    pairs = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        row = json.loads(line)
        for key in ("completion", "reference"):
            if not isinstance(row.get(key), str):
                raise ValueError(
                    f"{path} line {number} needs {key!r} as a text, it has {row.get(key)!r}"
                )
        pairs.append((row["completion"], row["reference"]))
    if not pairs:
        raise ValueError(f"{path} holds no pair")
    return pairs


def encoder(model: str) -> Callable[[Any], Tokens]:
    """Question to the tokens of the model's chat."""
    from transformers import AutoTokenizer

    from spanreward.rewards.judges.encoding.chat import ChatEncoder
    from spanreward.rewards.judges.model_files import model_folder

    chats = ChatEncoder(AutoTokenizer.from_pretrained(model_folder(model)))
    return lambda question: tuple(chats.encode(question.messages))


def posh_run(
    arguments: argparse.Namespace,
    pairs: Sequence[tuple[str, str]],
    encode: Callable[[Any], Tokens],
    measured: str,
) -> dict[str, Any]:
    from spanreward.rewards import PoshReward, Sample
    from spanreward.rewards.base.checks import Mode
    from spanreward.rewards.judges import load_judge
    from spanreward.rewards.judges.cache.cached_judge import CachedJudge
    from spanreward.rewards.judges.local.local_judge import LocalJudge
    from spanreward.rewards.language.parse import scene_graphs

    mode: Mode = "default" if measured == "default" else "published"
    meter_of = {"default": Meter, "published": Meter, "by-rule": NamesByRule}[measured]
    samples = [Sample("", completion, references=(reference,)) for completion, reference in pairs]
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    scene_graphs(["A warm-up."])
    start = time.perf_counter()
    graphs = dict(zip(texts, scene_graphs(texts, coref=arguments.coref, mode=mode), strict=True))
    parse = time.perf_counter() - start

    judge = load_judge(arguments.judge)
    judged = Meter(judge)
    with tempfile.TemporaryDirectory() as folder, judge:
        remembering = CachedJudge(judged, Path(folder) / "ratings.sqlite")

        def run(numbers: Iterable[int]) -> tuple[Meter, list[float | None]]:
            meter = meter_of(remembering)
            reward = PoshReward(
                meter, prompts=arguments.prompts if mode == "published" else None, mode=mode
            )
            chosen = list(numbers)
            verdicts = assess_graphs(
                reward,
                [samples[i] for i in chosen],
                [graphs[pairs[i][0]] for i in chosen],
                [[graphs[pairs[i][1]]] for i in chosen],
            )
            return meter, [verdict.score for verdict in verdicts]

        start = time.perf_counter()
        asked, scores = run(range(len(pairs)))
        spent = time.perf_counter() - start
        waves = list(judged.waves)
        again, _ = run(range(len(pairs)))
        second_call = {
            "questions": sum(map(len, again.asked)),
            "asked": len(judged.waves) - len(waves),
        }
        groups = {
            pairs[numbers[0]][1][:60]: group_cost(
                [run([i])[0].asked for i in numbers], run(numbers)[0].asked, encode
            )
            for numbers in by_reference(pairs)
            if len(numbers) > 1
        }
    if isinstance(judge, LocalJudge):
        judge.close()
    if None in scores:
        raise ValueError(
            f"{scores.count(None)} of {len(scores)} pairs got no score from {arguments.judge}"
        )
    names = [(name(text), name(question.probe.by_rule)) for question, text in asked.written]
    seconds = sum(wave.seconds for wave in waves)
    return {
        "questions": sum(map(len, asked.asked)),
        **{key: total(waves, key) for key in ("unique", "prompt_tokens", "computed", "generated")},
        "by_rule": {size: sum(computed(asked.asked, encode, size)) for size in BLOCKS},
        "precision": precision_share(asked.asked, encode, {reference for _, reference in pairs}),
        "seconds": {
            "parse": round(parse, 2),
            "judge": round(seconds, 2),
            "rest": round(spent - seconds, 2),
        },
        "per_pair": {
            key: per_pair(total(waves, key), len(pairs))
            for key in ("unique", "computed", "generated")
        },
        "second_call": second_call,
        "names": {"written": len(names), "as_by_rule": sum(ours == rule for ours, rule in names)},
        "groups": groups,
        "waves": [asdict(wave) for wave in waves],
        "scores": scores,
    }


def total(waves: Sequence[Wave], key: str) -> int | None:
    values = [asdict(wave)[key] for wave in waves]
    return None if None in values else sum(values)


def per_pair(value: int | None, pairs: int) -> float | None:
    return None if value is None else round(value / pairs, 1)


def by_reference(pairs: Sequence[tuple[str, str]]) -> list[list[int]]:
    """The pairs' numbers, those with one reference together."""
    groups: dict[str, list[int]] = {}
    for number, (_, reference) in enumerate(pairs):
        groups.setdefault(reference, []).append(number)
    return list(groups.values())


def group_cost(
    alone: Sequence[Any], together: Any, encode: Callable[[Any], Tokens]
) -> dict[str, float]:
    """Tokens computed in blocks of 32: of each pair alone, of all in one batch, and how many of one
    all cost.
    """
    each = [sum(computed(waves, encode, 32)) for waves in alone]
    whole = sum(computed(together, encode, 32))
    return {
        "pairs": len(each),
        "alone": sum(each) / len(each),
        "together": whole,
        "ratio": whole * len(each) / sum(each),
    }


def computed(
    waves: Sequence[Sequence[Any]], encode: Callable[[Any], Tokens], size: int
) -> list[int]:
    """Per wave the tokens that a prefix cache with blocks of this size leaves to compute, of its
    unique questions.

    As vLLM counts: whole blocks only, in sorted order, and at least the last token of a prompt.
    Nothing is evicted.
    """
    kept: set[Tokens] = set()
    known: set[Tokens] = set()
    costs = []
    for wave in waves:
        prompts = {encode(question) for question in wave} - known
        known |= prompts
        costs.append(0)
        for prompt in sorted(prompts):
            starts = [prompt[:end] for end in range(size, len(prompt) + 1, size)]
            found = next((i for i, start in enumerate(starts) if start not in kept), len(starts))
            costs[-1] += len(prompt) - min(found, (len(prompt) - 1) // size) * size
            kept.update(starts)
    return costs


def precision_share(
    waves: Sequence[Sequence[Any]], encode: Callable[[Any], Tokens], references: set[str]
) -> dict[str, float]:
    """How much of the ratings is asked of a reference: by unique questions, and by tokens computed
    in blocks of 32.
    """
    from spanreward.rewards.judges.probe import PresenceProbe

    ratings = [
        [question for question in wave if isinstance(question.probe, PresenceProbe)]
        for wave in waves
    ]
    precision = [
        [question for question in wave if question.probe.text in references] for wave in ratings
    ]
    unique, all_unique = (
        len({content(q) for wave in several for q in wave}) for several in (precision, ratings)
    )
    tokens, all_tokens = (sum(computed(several, encode, 32)) for several in (precision, ratings))
    return {"questions": unique / all_unique, "tokens": tokens / all_tokens}


def name(text: str) -> str:
    """A noun phrase without case, articles, quotes and the full stop."""
    return re.sub(r"\b(the|an?)\s+|[\"'.]", "", text.strip().lower()).strip()
