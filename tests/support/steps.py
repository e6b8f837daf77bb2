"""A step of a training, as a trainer tells its callbacks of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments


def arguments(folder: Path | str) -> TrainingArguments:
    return TrainingArguments(output_dir=str(folder), use_cpu=True, bf16=False, report_to="none")


@contextmanager
def step_of(
    callback: TrainerCallback, args: TrainingArguments, number: int, last: int = 5
) -> Iterator[TrainerControl]:
    """Step `number`, which judges what the block does; what the callback asks for is in the
    control.
    """
    state = TrainerState(global_step=number, max_steps=last, is_world_process_zero=True)
    control = TrainerControl()
    callback.on_step_begin(args, state, control)
    yield control
    callback.on_step_end(args, state, control)
