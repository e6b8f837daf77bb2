"""What it saves that a judge elsewhere judges while log-probabilities are computed.

python -m experiments benchmark overlap --json overlap.json
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from experiments.scenes.parts import TINY, scenes_part
from spanreward.rewards.judges.judge import Judge, Rating

DESCRIPTION = """Steps of the tiny policy on given completions, with a judge that sleeps for --latency seconds at every
call, as one does that waits for a server: asked in its turn, and in a thread from the moment that the completions are
there (training/grpo/recorder.py). The step before the optimizer's is timed, in which TRL computes the old policy's
log-probabilities, as it does with steps_per_generation 2 and one gradient accumulation. --latency is in multiples of
the time without a judge, which is measured first, and again in turn with the others. Two cores show nothing of a real
server's work; the sleep stands for it. Seconds are this machine's; the ratios of one run are what to read. A judge that
is hidden wholly leaves the time without one."""
GROUP = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--completions", type=int, default=64, help="of a batch (default 64)")
    parser.add_argument("--tokens", type=int, default=128, help="of a completion (default 128)")
    parser.add_argument("--rounds", type=int, default=5, help="steps of each kind, in turn (default 5)")
    parser.add_argument(
        "--latency", type=float, nargs="+", default=[0.5, 1.0, 2.0], help="of the judge (default 0.5 1 2)"
    )


class SleepingJudge(Judge):
    """Rates everything with 5 after `latency` seconds."""

    name = "sleeping"
    remote = False

    def __init__(self) -> None:
        self.latency = 0.0

    def rate(self, questions: Sequence[Any], scale: Sequence[str] = ("1", "5")) -> list[Any]:
        time.sleep(self.latency)
        return [Rating({entry: float(entry == scale[-1]) for entry in scale}) for _ in questions]

    def write(self, questions: Sequence[Any], max_tokens: int) -> list[Any]:
        raise NotImplementedError("nothing is written here")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.completions % GROUP or arguments.completions < GROUP:
        raise ValueError(f"--completions must be a multiple of {GROUP}, got {arguments.completions}")
    if arguments.tokens < 2 or arguments.rounds < 1 or min(arguments.latency) < 0:
        raise ValueError("--tokens must be 2 or more, --rounds 1 or more and --latency 0 or more")
    judge = SleepingJudge()
    with tempfile.TemporaryDirectory() as folder:
        step = prepared_step(judge, arguments.completions, arguments.tokens, folder)
        step()
        alone = statistics.median(seconds_of(step) for _ in range(arguments.rounds))
        lines = []
        for latency in track(arguments.latency, "latencies", console=Console(stderr=True)):
            kinds = {"no_judge": (0.0, False), "in_turn": (latency * alone, False), "beside": (latency * alone, True)}
            times: dict[str, list[float]] = {kind: [] for kind in kinds}
            for _ in range(arguments.rounds):
                for kind, (judge.latency, judge.remote) in kinds.items():
                    times[kind].append(seconds_of(step))
            middle = {kind: statistics.median(seconds) for kind, seconds in times.items()}
            ratio = middle["beside"] / middle["in_turn"]
            lines.append({"latency": latency, **middle, "beside_to_in_turn": ratio})
    show(lines)
    return {
        "completions": arguments.completions,
        "tokens": arguments.tokens,
        "rounds": arguments.rounds,
        "seconds_without_judge": alone,
        "lines": lines,
    }


def prepared_step(judge: SleepingJudge, completions: int, tokens: int, folder: str) -> Any:
    """A function that scores one batch of given completions, all but the loss of a step."""
    from spanreward.training.data.load import load_data
    from spanreward.training.grpo.trainer import SpanGRPOConfig, SpanGRPOTrainer
    from spanreward.training.policy import load_policy

    dataset = load_data(scenes_part(count=completions // GROUP))
    model, processor = load_policy(TINY)
    args = SpanGRPOConfig(
        output_dir=folder,
        per_device_train_batch_size=completions // 2,
        steps_per_generation=2,
        num_generations=GROUP,
        max_completion_length=tokens,
        report_to="none",
        bf16=False,
        use_cpu=True,
    )
    trainer: Any = SpanGRPOTrainer(model, asking(judge), args, processing_class=processor, train_dataset=dataset)
    word = processor.tokenizer(" star", add_special_tokens=False)["input_ids"][-1]
    ids = [[word] * (tokens - 1) + [processor.tokenizer.eos_token_id]] * completions
    trainer._generate_single_turn = lambda *_args, **_kwargs: (ids, None)
    trainer.model.train()
    rows = [dataset[number // GROUP] for number in range(completions)]
    return lambda: trainer._generate_and_score_completions(rows)


def asking(judge: SleepingJudge) -> Any:
    """A reward of one question about each completion."""
    from spanreward.rewards import Reward, Sample, Verdict
    from spanreward.rewards.judges import Question

    class Asking(Reward):
        judges = (judge,)

        def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
            ratings = judge.rate([Question([{"role": "user", "content": sample.completion}]) for sample in samples])
            return [Verdict((rating.mean - 1) / 4) for rating in ratings]

    return Asking("asking")


def seconds_of(work: Any) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def show(lines: Sequence[dict[str, float]]) -> None:
    table = Table(title="a batch, all but its loss")
    for column in ("latency of the judge", "no judge", "asked in its turn", "in a thread", "ratio of the two"):
        table.add_column(column, justify="right")
    for line in lines:
        table.add_row(
            f"{line['latency']:g} x",
            f"{line['no_judge']:.2f} s",
            f"{line['in_turn']:.2f} s",
            f"{line['beside']:.2f} s",
            f"{line['beside_to_in_turn']:.2f}",
        )
    Console(stderr=True, width=120).print(table)
