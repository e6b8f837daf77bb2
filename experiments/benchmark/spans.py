"""What spans cost in a training step, beside stock GRPO with the same reward.

python -m experiments benchmark spans --json spans.json
"""

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from experiments.scenes.parts import TINY, scenes_part
from experiments.scenes.policy import tiny_tokenizer

DESCRIPTION = """One step of the tiny policy on given completions (Scenes sentences cut to --tokens), in turn with TRL's
GRPOTrainer and with ours, --rounds times after one that is not counted. The reward is the same: PoSh's verdicts with
the match judge, made before, so that judging costs nothing; and nothing is sampled, so that a step is as short as it
can be (pictures, forward, backward, optimizer). What is added is the median over rounds of the difference, given as a
fraction of that step, of the step with the time of sampling as many tokens, and of the whole step, with the time that
judging took, too. A table (the page of
SpanTableCallback) is made at every step here, and at every fiftieth by default. Then character offsets of
--offset-tokens tokens, beside one decoding of them. Seconds are this process's on the CPU, so that other work on the
machine counts little; set OMP_NUM_THREADS=1. Ratios of one run are what to read."""
GROUP = 8
WITH_TABLE = "the same with a table"
MIXED = "A small \N{GRINNING FACE} star, \u661f\u306f\u8d64\u3044, caf\N{LATIN SMALL LETTER E WITH ACUTE}. "


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--completions", type=int, default=128, help="of a step (default 128)")
    parser.add_argument("--tokens", type=int, default=256, help="of a completion (default 256)")
    parser.add_argument(
        "--rounds", type=int, default=5, help="steps of each trainer, in turn (default 5)"
    )
    parser.add_argument(
        "--offset-tokens", type=int, default=10_000, help="for the offsets alone (default 10000)"
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.completions % GROUP or arguments.completions < 1:
        raise ValueError(
            f"--completions must be a multiple of {GROUP}, got {arguments.completions}"
        )
    if arguments.tokens < 2 or arguments.rounds < 1:
        raise ValueError("--tokens must be 2 or more and --rounds 1 or more")
    with tempfile.TemporaryDirectory() as folder:
        steps = measure_steps(
            arguments.completions, arguments.tokens, arguments.rounds, Path(folder)
        )
    lines = [
        measure_offsets(name, text, arguments.offset_tokens) for name, text in sentences().items()
    ]
    show(steps, lines)
    return {
        "completions": arguments.completions,
        "tokens": arguments.tokens,
        **steps,
        "offsets": lines,
    }


def measure_steps(completions: int, tokens: int, rounds: int, folder: Path) -> dict[str, Any]:
    """Seconds of a step by trainer, and what our trainers add to the first one's."""
    from spanreward.training.data.load import load_data

    dataset = load_data(scenes_part(level=3, count=completions // GROUP))
    tokenizer: Any = tiny_tokenizer()
    ids = [[*row, tokenizer.eos_token_id] for row in given_ids(tokenizer, completions, tokens - 1)]
    references = [row for row in dataset["reference"] for _ in range(GROUP)]
    reward, judging = replayed(
        [tokenizer.decode(row, skip_special_tokens=True) for row in ids], references
    )
    components = [
        len({span.component for span in verdict.spans}) for verdict in reward.verdicts.values()
    ]
    trainers = build_trainers(reward, dataset, completions, tokens, folder)
    sampling = seconds_of(lambda: sample(trainers["GRPOTrainer"], dataset, completions))
    for trainer in trainers.values():
        trainer._generate_single_turn = lambda *_args, **_kwargs: (ids, None)
    times: dict[str, list[float]] = {name: [] for name in trainers}
    for number in track(range(rounds + 1), "rounds", console=Console(stderr=True)):
        for name, trainer in trainers.items():
            spent = seconds_of(trainer.train)
            if number:
                times[name].append(spent)
    stock = statistics.median(times["GRPOTrainer"])
    lines = []
    for name, seconds in times.items():
        added = statistics.median(
            ours - theirs for ours, theirs in zip(seconds, times["GRPOTrainer"], strict=True)
        )
        lines.append(
            {
                "trainer": name,
                "seconds": statistics.median(seconds),
                "added": added,
                "added_to_step": added / stock,
                "added_to_step_and_sampling": added / (stock + sampling),
                "added_to_whole_step": added / (stock + sampling + judging),
                "rounds": seconds,
            }
        )
    return {
        "components_per_completion": statistics.mean(components),
        "sampling_seconds": sampling,
        "judging_seconds": judging,
        "steps": lines,
    }


def given_ids(tokenizer: Any, count: int, tokens: int) -> list[list[int]]:
    """That many token ids of different Scenes descriptions, `count` times."""
    from experiments.scenes.language import describe
    from experiments.scenes.world import make_scenes

    generator = random.Random("benchmark")
    said = (
        describe(scene, generator)
        for scene in make_scenes("train", level=3, count=count * (1 + tokens // 8))
    )
    rows = []
    for _ in range(count):
        ids: list[int] = []
        while len(ids) < tokens:
            ids += tokenizer(f"{next(said)} ", add_special_tokens=False)["input_ids"]
        rows.append(ids[:tokens])
    return rows


def replayed(texts: Sequence[str], references: Sequence[Any]) -> tuple[Any, float]:
    """A reward that gives PoSh's verdicts on these texts, judged now, and the seconds that took."""
    from spanreward.rewards import MatchJudge, PoshReward, Reward, Sample, Verdict

    class Replayed(Reward):
        def __init__(self, verdicts: dict[str, Verdict]) -> None:
            super().__init__("posh")
            self.verdicts = verdicts

        def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
            return [self.verdicts[sample.completion] for sample in samples]

    samples = [
        Sample("", text, references=tuple(reference))
        for text, reference in zip(texts, references, strict=True)
    ]
    posh = PoshReward(MatchJudge())
    posh.assess(samples[:1])  # loads the parser
    start = time.process_time()
    verdicts = posh.assess(samples)
    return Replayed(dict(zip(texts, verdicts, strict=True))), time.process_time() - start


def build_trainers(
    reward: Any, dataset: Any, completions: int, tokens: int, folder: Path
) -> dict[str, Any]:
    """Each with a policy of its own, of the same weights."""
    from transformers import PrinterCallback
    from trl import GRPOConfig, GRPOTrainer

    from spanreward.training.callbacks.span_table import SpanTableCallback
    from spanreward.training.grpo.trainer import SpanGRPOConfig, SpanGRPOTrainer
    from spanreward.training.policy import load_policy

    settings: dict[str, Any] = {
        "output_dir": str(folder),
        "per_device_train_batch_size": completions,
        "num_generations": GROUP,
        "shuffle_dataset": False,  # the verdicts were made with the references of these rows
        "max_completion_length": tokens,
        "max_steps": 1,
        "save_strategy": "no",
        "report_to": "none",
        "bf16": False,
        "use_cpu": True,
        "disable_tqdm": True,
        "gradient_checkpointing": False,
    }
    kinds = {
        "GRPOTrainer": (GRPOTrainer, GRPOConfig(**settings)),
        "SpanGRPOTrainer, span_coef=0": (SpanGRPOTrainer, SpanGRPOConfig(**settings)),
        "SpanGRPOTrainer, span_coef=0.1": (
            SpanGRPOTrainer,
            SpanGRPOConfig(**settings, span_coef=0.1),
        ),
        WITH_TABLE: (SpanGRPOTrainer, SpanGRPOConfig(**settings, span_coef=0.1)),
    }
    trainers: dict[str, Any] = {}
    for name, (kind, args) in kinds.items():
        model, processor = load_policy(TINY)
        trainers[name] = kind(
            model, reward, args, processing_class=processor, train_dataset=dataset
        )
        trainers[name].remove_callback(PrinterCallback)
    trainers[WITH_TABLE].add_callback(SpanTableCallback(trainers[WITH_TABLE].recorders, every=1))
    return trainers


def sample(trainer: Any, dataset: Any, completions: int) -> None:
    """One batch of completions by the policy, nearly all of the full length, as it is untrained."""
    trainer.model.train()
    trainer._generate([dataset[number // GROUP]["prompt"] for number in range(completions)])


def sentences() -> dict[str, str]:
    return {
        "words": "A small red star sits in the top left corner. ",
        "emoji, CJK and accents": MIXED,
    }


def measure_offsets(name: str, sentence: str, count: int) -> dict[str, Any]:
    """Medians of ten."""
    from spanreward.training.grpo.credit import special_ids, token_offsets

    tokenizer = tiny_tokenizer().backend_tokenizer
    ids = (tokenizer.encode(sentence).ids * count)[:count]
    text = tokenizer.decode(ids)
    special = special_ids(tokenizer)
    offsets = statistics.median(
        seconds_of(lambda: token_offsets(tokenizer, special, ids, text)) for _ in range(10)
    )
    decode = statistics.median(seconds_of(lambda: tokenizer.decode(ids)) for _ in range(10))
    return {
        "text": name,
        "tokens": count,
        "characters": len(text),
        "aligned": token_offsets(tokenizer, special, ids, text) is not None,
        "milliseconds": 1000 * offsets,
        "times_decode": offsets / decode,
    }


def seconds_of(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def show(steps: dict[str, Any], lines: Sequence[dict[str, Any]]) -> None:
    took = (
        f"sampling takes {steps['sampling_seconds']:.2f} s, judging "
        f"{steps['judging_seconds']:.2f} s"
    )
    table = Table(title=f"a step without sampling and judging; {took}")
    for column in ("trainer", "seconds", "added", "of the step", "with sampling", "and judging"):
        table.add_column(column, justify="left" if column == "trainer" else "right")
    for line in steps["steps"]:
        table.add_row(
            line["trainer"],
            f"{line['seconds']:.3f}",
            f"{line['added']:.3f}",
            f"{line['added_to_step']:.1%}",
            f"{line['added_to_step_and_sampling']:.1%}",
            f"{line['added_to_whole_step']:.1%}",
        )
    console = Console(stderr=True, width=120)
    console.print(table)
    table = Table(title="character offsets")
    for column in ("text", "tokens", "milliseconds", "times one decode"):
        table.add_column(column, justify="left" if column == "text" else "right")
    for line in lines:
        table.add_row(
            line["text"],
            str(line["tokens"]),
            f"{line['milliseconds']:.1f}",
            f"{line['times_decode']:.1f}",
        )
    console.print(table)
