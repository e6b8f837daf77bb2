"""What the sets of re-enacted trainings share: tiny random policies, their trainers, and words for
how a training ended.

    class Case names a row of trainings.md, a policy, and the function that enacts it in a folder
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasets import Dataset
from PIL import Image
from transformers import PrinterCallback
from trl import GRPOTrainer

from spanreward import SpanGRPOConfig, SpanGRPOTrainer
from spanreward.training.policy import load_policy
from spanreward.training.recipe import RecipeError
from tests.support.tiny_models import save_llava
from tests.support.tiny_policies import SAVE
from tests.support.tiny_trainer import COMMON, Scored

POLICIES = {
    "Qwen2.5-VL": SAVE["Qwen/Qwen2.5-VL"],
    "Qwen3-VL": SAVE["Qwen/Qwen3-VL"],
    "LLaVA": save_llava,
}
POLICIES |= {"Llama": SAVE["smollm2"]}
SIZES = ((56, 56), (112, 56), (56, 140), (168, 112))
QUESTIONS = (
    "What is it?",
    "What is it, and where is it, if anywhere?",
    "Why?",
    "What colour is the thing here?",
)
TEXTS = tuple(f"A {'red ' * number}star" for number in range(8))


@dataclass(frozen=True, slots=True)
class Case:
    """row: of trainings.md's table, from 0. policy: a name in POLICIES. enact: says what happens in
    the folder.
    """

    row: int
    policy: str
    enact: Callable[[str, Path], str]


def rows(
    policy: str,
    sizes: Sequence[tuple[int, int]] = SIZES,
    *turns: dict[str, str],
    repeats: int = 1,
) -> Dataset:
    """Four questions, with pictures where the policy reads them; turns: messages after each
    question.
    """
    columns: dict[str, Any] = {
        "prompt": [[{"role": "user", "content": one}, *turns] for one in QUESTIONS] * repeats
    }
    if policy != "Llama":
        columns["image"] = [Image.new("RGB", size, "red") for size in sizes] * repeats
    return Dataset.from_dict(columns)


def policy_of(policy: str, folder: Path) -> Any:
    """Returns a new policy and its processor, loaded from the folder as any other model is."""
    POLICIES[policy](folder / "policy")
    return load_policy(str(folder / "policy"))


def trainer_of(
    policy: str,
    folder: Path,
    data: Any = None,
    side: str = "left",
    stock: bool = False,
    rewards: Sequence[Any] = (),
    loaded: Any = None,
    **settings: Any,
) -> Any:
    """Returns a trainer of a new policy.

    side: where the processor that it is handed pads. rewards: by default one that knows only
    lengths. loaded: a policy and its processor, where they are not new. settings: of the
    configuration. Raises Refused as the trainer does.
    """
    model, processor = loaded or policy_of(policy, folder)
    tokenizer: Any = processor if policy == "Llama" else processor.tokenizer
    tokenizer.padding_side = side
    settings = {**COMMON, "logging_strategy": "no", **settings}
    by_length = Scored(lambda sample: len(sample.completion) % 5 / 5)
    kind = GRPOTrainer if stock else SpanGRPOTrainer
    try:
        args = SpanGRPOConfig(str(folder / "out"), **settings)
        return kind(
            model,
            list(rewards) or [by_length],
            args,
            data or rows(policy),
            processing_class=processor,
        )
    except ValueError as error:
        raise Refused(str(error)) from error


def batch_of(trainer: Any, texts: Sequence[str], extra: Sequence[int] = ()) -> dict[str, Any]:
    """Returns the batch that the trainer makes of these eight completions, the fourth with more
    tokens before it. Each group of completions answers the next row of the trainer's data.
    """
    tokenizer = trainer._tokenizer
    ids = [[*tokenizer(text)["input_ids"], tokenizer.eos_token_id] for text in texts]
    ids[3] = [*extra, *ids[3]]
    trainer._generate_single_turn = lambda *_, **__: ([[*row] for row in ids], None)
    trainer.model.train()
    prompts = [trainer.train_dataset[i // trainer.num_generations] for i in range(len(texts))]
    made: dict[str, Any] = trainer._generate_and_score_completions(prompts)
    return made


def trained(trainer: Any, checkpoint: str | None = None) -> str:
    """Trains, from a checkpoint if there is one, and prints no log between the lines of the
    table.
    """
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=checkpoint)
    return f"{trainer.state.global_step} steps"


class Refused(ValueError):
    """A trainer could not be made."""


def refused(act: Callable[..., Any], *arguments: Any, **settings: Any) -> str:
    """Returns the sentence with which `act` refuses, "not refused" if it does not."""
    try:
        act(*arguments, **settings)
    except ValueError as error:
        return f"refused: {error}"
    return "not refused"


def outcome_of(act: Callable[..., str], *arguments: Any, **settings: Any) -> str:
    """Returns what `act` says, or the error that ended it."""
    try:
        return act(*arguments, **settings)
    except (Refused, RecipeError) as error:
        return f"refused: {error}"
    except Exception as error:
        return f"ends with {type(error).__name__}: {error}"


def watched(act: Callable[..., str], *arguments: Any, **settings: Any) -> str:
    """Returns what `outcome_of` does, and the warnings that were logged meanwhile."""
    with messages_logged() as messages:
        outcome = outcome_of(act, *arguments, **settings)
    if not messages:
        return outcome
    return f"{outcome}; warns: {' '.join(dict.fromkeys(messages))}"


class Messages(logging.Handler):
    """Keeps the texts of warnings and errors."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


@contextmanager
def messages_logged() -> Iterator[list[str]]:
    """Gives the list of what this package warns of within the block."""
    handler = Messages()
    log = logging.getLogger("spanreward")
    log.addHandler(handler)
    try:
        yield handler.texts
    finally:
        log.removeHandler(handler)
