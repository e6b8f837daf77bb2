"""Pulse: says in each step whether anything was learnt, and stops a run that learns nothing, with
the cause.

    trainer = SpanGRPOTrainer(...)          # it has one: trainer.pulse
    trainer.train()
    trainer.pulse.stopped  # "5 steps moved no weight: every completion was cut ..." or ""

It logs, over all ranks: `learning/rows` and `learning/tokens`, the shares of the completions and of
the sampled tokens that have an advantage and count in the loss; `learning/gradients`, the share of
trained tensors with a gradient; and `learning/moved`, the share of a sample of the trained weights
that the step has changed. A step is idle where no sampled weight moved or, where weights are
sharded out of sight (ZeRO-3), where no row has an advantage.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.distributed.tensor import DTensor
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

log = logging.getLogger(__name__)

IDLE = 5  # steps
# that must have equal rewards before that ends a run, since a small batch may have them by chance
GROUPS = 32
TENSORS = 256  # of the trained weights that are looked at, at most
EACH = 1024  # entries of each, at most


@dataclass(frozen=True, slots=True)
class BatchCounts:
    """Counts of the last batch of completions, over all ranks.

    completions; kept: whose tokens count in the loss; rows: of these, with an advantage; tokens: of
    these rows, with one; sampled: tokens of all completions.
    """

    completions: int = 0
    kept: int = 0
    rows: int = 0
    tokens: int = 0
    sampled: int = 0


class Pulse(TrainerCallback):
    """stopped: why the run was ended, or "". batch: counts of the last one. idle: so many idle
    steps end it.
    """

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer
        self.stopped = ""
        self.batch = BatchCounts()
        self.idle = IDLE
        self._before: list[torch.Tensor] = []
        self._gradients: tuple[int, int] = (0, 0)  # tensors with a gradient, and trained ones
        self._idle = self._groups = 0

    def see(self, output: Mapping[str, torch.Tensor]) -> None:
        """Counts a training batch. output: as TRL's `_generate_and_score_completions` returns it,
        of this rank.
        """
        mask = output["completion_mask"].bool()
        if "tool_mask" in output:
            mask = mask & output["tool_mask"].bool()
        advantages = output["advantages"].reshape(len(mask), -1)
        moving = mask & (advantages != 0)
        counts = [
            torch.ones_like(mask[:, 0]).sum(),
            mask.any(1).sum(),
            moving.any(1).sum(),
            moving.sum(),
            mask.sum(),
        ]
        self.batch = BatchCounts(*self._over_ranks(torch.stack(counts)))

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self._before = sample_of(self.trainer.model.parameters())

    def on_pre_optimizer_step(
        self, args: Any, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        trained = [
            parameter for parameter in self.trainer.model.parameters() if parameter.requires_grad
        ]
        gradients = [local(parameter.grad) for parameter in trained if parameter.grad is not None]
        norms = [gradient.float().norm().to(args.device) for gradient in gradients]
        self._gradients = (0, 0)
        if norms:
            self._gradients = (int(torch.stack(norms).count_nonzero()), len(trained))

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        both = zip(sample_of(self.trainer.model.parameters()), self._before, strict=True)
        # ZeRO-3 gathers some and empties others
        pairs = [(now, then) for now, then in both if len(now) == len(then)]
        counts = torch.tensor(
            [0, sum(len(now) for now, _ in pairs), *self._gradients], device=args.device
        )
        for now, then in pairs:  # without waiting for the device at each of them
            counts[0] += (now != then).sum().to(args.device)
        moved, looked_at, with_gradient, trained = self._over_ranks(counts)
        batch = self.batch
        shares = {"rows": (batch.rows, batch.completions), "tokens": (batch.tokens, batch.sampled)}
        shares |= {"gradients": (with_gradient, trained), "moved": (moved, looked_at)}
        if self.trainer.recorders:  # without them the log is TRL's
            for name, (part, whole) in shares.items():
                if whole:
                    self.trainer._metrics["train"][f"learning/{name}"].append(part / whole)
        if moved or (not looked_at and batch.rows):
            self._idle = self._groups = 0
            return
        self._idle += 1
        self._groups += batch.completions // self.trainer.num_generations
        equal = batch.kept and not batch.rows
        if self._idle >= self.idle and (not equal or self._groups >= GROUPS):
            self.stopped = (
                f"{self._idle} steps moved no weight, so nothing is learnt: "
                f"{self._cause(with_gradient)}"
            )
            control.should_training_stop = True
            if state.is_world_process_zero:
                log.error("training stops at step %d: %s", state.global_step, self.stopped)

    def _over_ranks(self, counts: torch.Tensor) -> list[int]:
        sums = self.trainer.accelerator.reduce(counts.double(), reduction="sum")
        return [int(total) for total in sums.tolist()]

    def _cause(self, with_gradient: int) -> str:
        """Returns the likeliest reason, and what to do."""
        trainer = self.trainer
        batch = self.batch
        parameters = {id(one) for one in trainer.model.parameters() if one.requires_grad}
        held = {id(one) for group in trainer.optimizer.param_groups for one in group["params"]}
        if not batch.kept and trainer.mask_truncated_completions:
            longest = trainer.max_completion_length
            cut = f"every completion was cut at max_completion_length ({longest})"
            if trainer.endless is not None:
                return f"{cut}, where {trainer.endless}: {trainer.endless.cure}."
            return (
                f"{cut}, and mask_truncated_completions leaves those out: raise the one, or set "
                "the other to False."
            )
        if not batch.rows:
            return (
                "no completion has an advantage, since all of a group have the same reward, or "
                "none: look at some of them, raise the temperature, set dynamic_sampling, or take "
                "a reward that tells them apart."
            )
        rates = [group["lr"] for group in trainer.optimizer.param_groups]
        if not any(rates):
            return "the learning rate is 0: set learning_rate, or another lr_scheduler_type."
        # DeepSpeed's optimizer has its own tensors
        if not trainer.is_deepspeed_enabled and not parameters & held:
            return (
                "the optimizer holds no trained parameter of the model: see requires_grad, and "
                "peft_config."
            )
        if not with_gradient:
            return (
                "no trained parameter has a gradient: the loss does not reach it (see "
                "requires_grad, peft_config)."
            )
        return (
            f"the learning rate {max(rates):g} is too small for weights of this dtype: raise "
            "it, or take float32."
        )


def sample_of(parameters: Iterable[torch.nn.Parameter]) -> list[torch.Tensor]:
    """Returns copies of up to EACH entries, evenly spaced, of up to TENSORS trained tensors that
    this rank has.
    """
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    step = max(1, len(trained) // TENSORS)
    copies = []
    for parameter in trained[::step][:TENSORS]:
        entries = local(parameter.detach()).reshape(-1)
        stride = max(1, entries.numel() // EACH)
        copies.append(entries[::stride][:EACH].clone())
    return copies


def local(tensor: torch.Tensor) -> torch.Tensor:
    """Returns this rank's part of a sharded tensor, any other as it is."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor
