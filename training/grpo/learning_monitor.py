"""LearningMonitor: says in each step whether anything was learnt, and stops a run that learns
nothing, with the cause.

    trainer = SpanGRPOTrainer(...)          # it has one: trainer.learning_monitor
    trainer.train()
    trainer.learning_monitor.stopped
    # "5 steps moved no weight: every completion was cut ..." or ""

It logs, over all ranks: `learning/rows` and `learning/tokens`, the shares of the completions and of
the sampled tokens that have an advantage and count in the loss; `learning/gradients`, the share of
trained tensors with a gradient; and `learning/moved`, the share of a sample of the trained weights
that the step has changed.

A step teaches where a row has an advantage, a trained tensor has a gradient and a sampled weight
moved. Weight decay and momentum move weights in steps that teach nothing. What is sharded out of
sight, as DeepSpeed's gradients are, is not asked for. With several updates a batch of completions,
the batch is idle where none of its steps taught.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import torch
from torch.distributed.tensor import DTensor
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

log = logging.getLogger(__name__)

IDLE = 5  # batches of completions, or steps if a step takes several batches
# that must have equal rewards before that ends a run, since a small batch may have them by chance
GROUPS = 32
TENSORS = 256  # of the trained weights that are looked at, at most
EACH = 1024  # entries of each, at most
# of an untrained policy to itself is 0; rounding in bfloat16 makes less than a hundredth of this
LARGEST_KL = 0.01


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


class LearningMonitor(TrainerCallback):
    """stopped: why the run was ended, or "". batch: counts of the last one. idle: so many idle
    batches end it.
    """

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer
        self.stopped = ""
        self.batch = BatchCounts()
        self.idle = IDLE
        self._before: list[tuple[torch.nn.Parameter, torch.Tensor]] = []
        self._gradients: tuple[int, int] = (0, 0)  # tensors with a gradient, and trained ones
        self._open: list[BatchCounts] = []  # batches that are not used up, or end with this step
        self._first_pass = 0  # TRL's number of the last batch's first pass
        self._taught = False  # whether a step of the open batches did
        self._moved = False  # whether weights moved in an idle step
        self._idle_batches = 0
        self._idle_steps = 0
        self._idle_groups = 0

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
        self._open.append(self.batch)
        self._first_pass = self.trainer._step
        self._idle_groups += self.batch.completions // self.trainer.num_generations

    def on_pre_optimizer_step(
        self, args: Any, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        # as late as can be: a callback may have frozen or unfrozen layers
        self._before = sample_of(self.trainer.model.parameters())
        if state.global_step == 0 and state.is_world_process_zero:
            self._name_another_reference()
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
        counts = torch.tensor([0, 0, *self._gradients], device=args.device)
        for parameter, then in self._before:
            now = sampled_entries(parameter)
            if len(now) == len(then):  # ZeRO-3 gathers some and empties others
                counts[0] += (now != then).sum().to(args.device)  # without waiting for the device
                counts[1] += len(now)
        self._before = []
        moved, looked_at, with_gradient, trained = self._over_ranks(counts)
        batch = self.batch
        shares = {"rows": (batch.rows, batch.completions), "tokens": (batch.tokens, batch.sampled)}
        shares |= {"gradients": (with_gradient, trained), "moved": (moved, looked_at)}
        if self.trainer.recorders:  # without them the log is TRL's
            for name, (part, whole) in shares.items():
                if whole:
                    self.trainer._metrics["train"][f"learning/{name}"].append(part / whole)
        rows = sum(seen.rows for seen in self._open)
        if rows and (moved or not looked_at) and (with_gradient or not trained):
            self._taught = True
        else:
            self._moved = self._moved or moved > 0
        self._idle_steps += 1
        passes = self.trainer._step - self._first_pass
        used_up = passes >= self.trainer.args.passes_per_batch
        if used_up or len(self._open) > 1:
            self._close(with_gradient, state, control)
            self._open = self._open[-1:]
        if used_up:
            self._open = []

    def _close(self, with_gradient: int, state: TrainerState, control: TrainerControl) -> None:
        """A batch is used up. Ends the run after too many that taught nothing."""
        equal = self.batch.kept and not self.batch.rows
        self._idle_batches += 1
        if self._taught:
            self._taught = False
            self._moved = False
            self._idle_batches = 0
            self._idle_steps = 0
            self._idle_groups = 0
            return
        if self._idle_batches < self.idle or (equal and self._idle_groups < GROUPS):
            return
        how = "moved no weight"
        if self._moved:
            how = "moved weights without a reward, as by weight decay or momentum"
        self.stopped = (
            f"{self._idle_steps} steps {how}, so nothing is learnt: {self._cause(with_gradient)}"
        )
        control.should_training_stop = True
        if state.is_world_process_zero:
            log.error("training stops at step %d: %s", state.global_step, self.stopped)

    def _name_another_reference(self) -> None:
        """Warns where the KL before the first update says that the reference is another policy."""
        if not self.trainer.beta:
            return
        kl = fmean(self.trainer._metrics["train"]["kl"])
        if not kl > LARGEST_KL:
            return
        reference = "the model without its adapter"
        if self.trainer.ref_model is not None:
            reference = f"loaded from {self.trainer.ref_model.config._name_or_path!r}"
        log.warning(
            "the KL before the first update is %.3g and should be 0: beta=%g holds the policy to a "
            "reference that is %s, and this is another policy. Save the policy, with an adapter "
            "merged, and load it from that folder.",
            kl,
            self.trainer.beta,
            reference,
        )

    def _over_ranks(self, counts: torch.Tensor) -> list[int]:
        sums = self.trainer.accelerator.reduce(counts.double(), reduction="sum")
        return [int(total) for total in sums.tolist()]

    def _cause(self, with_gradient: int) -> str:
        """Returns the likeliest reason, and what to do."""
        trainer = self.trainer
        batch = self.batch
        parameters = set()
        for parameter in trainer.model.parameters():
            if parameter.requires_grad:
                parameters.add(id(parameter))
        held: set[int] = set()  # by the optimizer
        for group in trainer.optimizer.param_groups:
            held.update(map(id, group["params"]))
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


def sample_of(
    parameters: Iterable[torch.nn.Parameter],
) -> list[tuple[torch.nn.Parameter, torch.Tensor]]:
    """Returns up to TENSORS trained tensors, each with copies of some of its entries."""
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    step = max(1, len(trained) // TENSORS)
    return [(parameter, sampled_entries(parameter)) for parameter in trained[::step][:TENSORS]]


def sampled_entries(parameter: torch.nn.Parameter) -> torch.Tensor:
    """Returns copies of up to EACH entries, evenly spaced, of what this rank has."""
    entries = local(parameter.detach()).reshape(-1)
    stride = max(1, entries.numel() // EACH)
    return entries[::stride][:EACH].clone()


def local(tensor: torch.Tensor) -> torch.Tensor:
    """Returns this rank's part of a sharded tensor, any other as it is."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor
