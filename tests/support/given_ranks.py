"""A step on given completions, on one rank in test_ranks_agree.py or on several under torchrun:
every row's advantages.

    torchrun --nproc_per_node 2 given_ranks.py FOLDER

Each rank leaves FOLDER/RANK.json. 24 completions in groups of 8: on two ranks the second group
straddles them.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from trl import GRPOTrainer

from spanreward.rewards import Sample, Span, Verdict
from tests.support.tiny_trainer import Scored, make_trainer, number_of, scenes

ROWS, GROUP = 24, 8
WORDS = ("red", "small", "star", "circle", "blue", "left", "center", "large")


def text(row: int, place: int) -> str:
    """The completion that a place in the group of a row of the dataset gets."""
    steps = range(1, 2 + place % 3)
    return f"A {' '.join(WORDS[(row + place * step) % len(WORDS)] for step in steps)}."


def judge(sample: Sample) -> Verdict:
    """Prompts of even number are solved; every word has a span, of a credit by its letters."""
    words = sample.completion.rstrip(".").split()[1:]
    spans, start = [], 1
    for number, word in enumerate(words):
        start = sample.completion.index(word, start)
        end = start + len(word)
        spans.append(Span(start, end, 1.0, len(word) / 10 - 0.45, "entity", "", number))
        start = end
    solved = number_of(sample) % 2 == 0
    return Verdict(0.5 if solved else len(sample.completion) / 40, spans=tuple(spans))


def given(
    trainer: Any, prompt_ids: list[list[int]], *args: Any, **kwargs: Any
) -> tuple[list[list[int]], None]:
    tokenizer = trainer.processing_class.tokenizer
    rows = [int(tokenizer.decode(ids, skip_special_tokens=True).split()[-1]) for ids in prompt_ids]
    first = trainer.accelerator.process_index * len(rows)
    ids = []
    for number, row in enumerate(rows):
        written = text(row, (first + number) % trainer.num_generations)
        ids.append(tokenizer(written)["input_ids"] + [tokenizer.eos_token_id])
    return ids, None


def steps(folder: Path) -> list[dict[str, Any]]:
    """This rank's rows with and without dynamic sampling, and what is logged of the batch."""
    rank, ranks = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    found = []
    for dynamic in (False, True):
        sizes = {"per_device_train_batch_size": ROWS // ranks, "num_generations": GROUP}
        options = {"span_coef": 0.5, "dynamic_sampling": dynamic, "max_resamples": 8}
        output_folder, rewards = folder / f"{rank}-{dynamic}", [Scored(judge)]
        trainer = make_trainer(output_folder, scenes(16), rewards, **sizes, **options)
        trainer.model.train()
        prompts = [2, 4, 6] if dynamic else [1, 2, 3]
        own = range(rank * ROWS // ranks, (rank + 1) * ROWS // ranks)
        output = trainer._generate_and_score_completions(
            [trainer.train_dataset[prompts[row // GROUP]] for row in own]
        )
        mask = output["completion_mask"].bool()
        metrics = trainer._metrics["train"].items()
        logged = {name: values[0] for name, values in metrics if "seconds" not in name}
        rows: dict[str, Any] = {}
        for name in ("completion_ids", "advantages"):
            rows[name] = [row[kept].tolist() for row, kept in zip(output[name], mask, strict=True)]
        counts = {
            "items": output["num_items_in_batch"].item(),
            "drawn": trainer.sampling.drawn if dynamic else 0,
        }
        both = {"ids": rows["completion_ids"], "advantages": rows["advantages"]}
        found.append({**both, **counts, "metrics": logged})
    return found


if __name__ == "__main__":
    GRPOTrainer._generate_single_turn = given  # type: ignore[assignment, method-assign]
    (Path(sys.argv[1]) / f"{os.environ['RANK']}.json").write_text(
        json.dumps(steps(Path(sys.argv[1])))
    )
