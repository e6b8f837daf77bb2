"""How fast each judge answers the same questions, beside what its engine does alone.

python -m experiments benchmark judge --pairs pairs.jsonl --judges vllm:smollm2 transformers:smollm2
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

DESCRIPTION = """Each judge rates the same PoSh questions, taken evenly from all that default mode asks about the pairs,
with nothing remembered from before, --rounds times in turn with the others. Beside a vllm: judge the same token ids go
to its engine alone (one generated token, same order, cold prefix cache). --loop questions of them are also answered as
one would without a judge: one model.generate for each. Then the first judge is asked twice through CachedJudge.
Numbers per line: questions and prompt tokens per second (medians over rounds), the tokens computed, and the ratio of
each line's time per question to the first line's. Seconds are this machine's; ratios of one run are what to read."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pairs", required=True, type=Path, metavar="PAIRS.jsonl", help="completion and reference"
    )
    parser.add_argument(
        "--judges", nargs="+", default=["vllm:smollm2", "transformers:smollm2"], metavar="JUDGE"
    )
    parser.add_argument("--questions", type=int, default=500, help="how many (default 500)")
    parser.add_argument("--rounds", type=int, default=3, help="of all judges in turn (default 3)")
    parser.add_argument(
        "--loop", type=int, default=0, help="questions for model.generate one by one (default none)"
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    from experiments.benchmark.posh import read_pairs
    from spanreward.rewards.judges import load_judge
    from spanreward.rewards.judges.local.local_judge import LocalJudge
    from spanreward.rewards.judges.local.vllm_judge import VllmJudge

    questions = posh_questions(read_pairs(arguments.pairs), arguments.questions)
    judges = {spec: load_judge(spec) for spec in arguments.judges}
    times: dict[str, list[float]] = {}
    tokens: dict[str, tuple[int, int]] = {}
    failed: dict[str, int] = {}

    def timed(line: str, work: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = work()
        times.setdefault(line, []).append(time.perf_counter() - start)
        return result

    for judge in judges.values():
        with judge:
            judge.rate(questions[:2])  # starts engines, compiles kernels
    for _ in track(range(arguments.rounds), "rounds", console=Console(stderr=True)):
        for spec, judge in judges.items():
            forget(judge)
            before = copy(judge.usage)
            with judge:
                ratings = timed(spec, partial(judge.rate, questions))
            spent = judge.usage.since(before)
            tokens[spec] = spent.prompt_tokens, spent.prompt_tokens - spent.cached_tokens
            failed[spec] = sum(rating.__class__.__name__ == "Failure" for rating in ratings)
            if isinstance(judge, VllmJudge):
                line = f"the engine of {spec} alone"
                prompts = sorted(
                    {tuple(judge.encoder.encode(question.messages)) for question in questions}
                )
                forget(judge)
                timed(line, partial(engine_alone, judge, prompts))
                tokens[line] = tokens[spec]
    lines = [
        line_of(name, seconds, len(questions), *tokens.get(name, (0, 0)), failed.get(name, 0))
        for name, seconds in times.items()
    ]
    if arguments.loop:
        lines.append(generate_loop(questions, arguments.loop))
    lines += cached_lines(judges[arguments.judges[0]], questions)
    for judge in judges.values():
        if isinstance(judge, LocalJudge):
            judge.close()
    first = lines[0]["seconds_per_question"]
    lines = [{**line, "times_the_first": line["seconds_per_question"] / first} for line in lines]
    show(lines)
    return {"questions": len(questions), "rounds": arguments.rounds, "lines": lines}


def posh_questions(pairs: Sequence[tuple[str, str]], count: int) -> list[Any]:
    """Different questions of PoSh's default mode, evenly from all about the pairs.

    Raises ValueError for fewer.
    """
    from experiments.benchmark.posh import Meter, content
    from spanreward.rewards import MatchJudge, PoshReward, Sample

    meter = Meter(MatchJudge())
    PoshReward(meter).assess(
        [Sample("", completion, references=(reference,)) for completion, reference in pairs]
    )
    asked = list(
        {content(question): question for wave in meter.asked for question in wave}.values()
    )
    if len(asked) < count:
        raise ValueError(f"the pairs give {len(asked)} questions, fewer than --questions {count}")
    return [asked[i * len(asked) // count] for i in range(count)]


def forget(judge: Any) -> None:
    """Empty the engine's prefix cache."""
    from spanreward.rewards.judges.local.vllm_judge import VllmJudge

    if isinstance(judge, VllmJudge) and not judge._engine.reset_prefix_cache():
        raise RuntimeError("the engine did not empty its prefix cache")


def engine_alone(judge: Any, prompts: Sequence[tuple[int, ...]]) -> None:
    """vLLM's own offline use: one greedy token for each prompt, nothing read of it."""
    from vllm import SamplingParams

    requests = [{"prompt_token_ids": list(prompt)} for prompt in prompts]
    judge._engine.generate(
        requests, SamplingParams(max_tokens=1, temperature=0.0, detokenize=False), use_tqdm=False
    )


def generate_loop(questions: Sequence[Any], count: int) -> dict[str, Any]:
    """One `model.generate` for each of `count` questions, evenly taken."""
    import torch

    from spanreward.rewards.judges.local.transformers_judge import TransformersJudge

    chosen = [questions[i * len(questions) // count] for i in range(count)]
    judge = TransformersJudge("smollm2")
    tokens = 0
    with judge:
        judge.rate(chosen[:1])
        start = time.perf_counter()
        for question in chosen:
            ids = torch.tensor([judge.encoder.encode(question.messages)])
            tokens += ids.shape[1]
            judge._model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=1,
                do_sample=False,
            )
        seconds = time.perf_counter() - start
    return line_of("model.generate, one by one (smollm2)", [seconds], count, tokens, tokens, 0)


def cached_lines(judge: Any, questions: Sequence[Any]) -> list[dict[str, Any]]:
    """The judge through a new cache, twice."""
    from spanreward.rewards.judges.cache.cached_judge import CachedJudge

    lines = []
    with (
        tempfile.TemporaryDirectory() as folder,
        CachedJudge(judge, Path(folder) / "ratings.sqlite") as cached,
    ):
        for name in ("through an empty CachedJudge", "from a CachedJudge"):
            forget(judge)
            misses = cached.misses
            start = time.perf_counter()
            cached.rate(questions)
            seconds = time.perf_counter() - start
            lines.append(
                {
                    **line_of(name, [seconds], len(questions), 0, 0, 0),
                    "judged": cached.misses - misses,
                }
            )
    return lines


def line_of(
    name: str, seconds: Sequence[float], questions: int, tokens: int, computed: int, failed: int
) -> dict[str, Any]:
    middle = statistics.median(seconds)
    return {
        "what": name,
        "questions": questions,
        "seconds_per_question": middle / questions,
        "questions_per_second": questions / middle,
        "prompt_tokens": tokens,
        "computed": computed,
        "prompt_tokens_per_second": tokens / middle,
        "failed": failed,
        "rounds": list(seconds),
    }


def show(lines: Sequence[dict[str, Any]]) -> None:
    table = Table(title="the same questions, cold")
    for column in (
        "what",
        "questions / s",
        "prompt tokens / s",
        "prompt tokens",
        "computed",
        "time, first = 1",
    ):
        table.add_column(column, justify="left" if column == "what" else "right")
    for line in lines:
        table.add_row(
            line["what"],
            f"{line['questions_per_second']:.1f}",
            f"{line['prompt_tokens_per_second']:.0f}",
            str(line["prompt_tokens"]),
            str(line["computed"]),
            f"{line['times_the_first']:.4f}",
        )
    Console(stderr=True, width=120).print(table)
