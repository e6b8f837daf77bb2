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

# idle batches of completions that end a run, or steps if a step takes several batches
IDLE = 5
# groups that must have equal rewards before that ends a run, since a small batch may have them by
# chance
GROUPS = 32
TENSORS = 256  # of the trained weights that are looked at, at most
EACH = 1024  # entries of each, at most
# The KL of an untrained policy to itself is 0. Rounding in bfloat16 makes less than a hundredth of
# this.
LARGEST_KL = 0.01


@dataclass(frozen=True, slots=True)
class BatchCounts:
    """Counts of the last batch of completions, over all ranks.

    Args:
        completions: of the batch.
        kept: completions whose tokens count in the loss.
        rows: of these, those with a token that has an advantage.
        tokens: of these rows, those that have one.
        sampled: the tokens of all completions that count in the loss.
    """

    completions: int = 0
    kept: int = 0
    rows: int = 0
    tokens: int = 0
    sampled: int = 0


class LearningMonitor(TrainerCallback):
    """Counts in each step what was learnt, and ends a run that learns nothing.

    Args:
        trainer: a SpanGRPOTrainer.

    Attributes:
        stopped: why the run was ended, or "".
        batch: counts of the last batch of completions.
        idle: so many idle batches end the run.
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
        """Counts a training batch. Every rank must call it, for it sums over them.

        output: as TRL's `_generate_and_score_completions` returns it, of this rank.
        """
        mask = output["completion_mask"].bool()
        if "tool_mask" in output:  # what a tool returned was not sampled
            mask = mask & output["tool_mask"].bool()
        # (B, 1) without span credit, (B, T) with it
        advantages = output["advantages"].reshape(len(mask), -1)
        moving = mask & (advantages != 0)
        # in the order of BatchCounts
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
        # count the trained tensors whose gradient is not 0
        trained = 0
        norms = []
        for parameter in self.trainer.model.parameters():
            if not parameter.requires_grad:
                continue
            trained += 1
            if parameter.grad is not None:
                gradient = local(parameter.grad)
                norms.append(gradient.float().norm().to(args.device))
        self._gradients = (0, 0)
        if norms:  # else they are sharded out of sight, or the loss reached nothing
            self._gradients = (int(torch.stack(norms).count_nonzero()), trained)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        # entries that moved, entries looked at, tensors with a gradient, trained tensors
        counts = torch.tensor([0, 0, *self._gradients], device=args.device)
        for parameter, then in self._before:
            now = sampled_entries(parameter)
            if len(now) == len(then):  # ZeRO-3 gathers some and empties others
                counts[0] += (now != then).sum().to(args.device)  # without waiting for the device
                counts[1] += len(now)
        self._before = []
        moved, looked_at, with_gradient, trained = self._over_ranks(counts)
        batch = self.batch
        shares = {
            "rows": (batch.rows, batch.completions),
            "tokens": (batch.tokens, batch.sampled),
            "gradients": (with_gradient, trained),
            "moved": (moved, looked_at),
        }
        if self.trainer.recorders:  # without them the log is TRL's
            for name, (part, whole) in shares.items():
                if whole:
                    self.trainer._metrics["train"][f"learning/{name}"].append(part / whole)
        # what is out of sight, looked_at or trained being 0, is not held against the step
        rows = sum(open_batch.rows for open_batch in self._open)
        any_moved = moved > 0 or looked_at == 0
        any_gradient = with_gradient > 0 or trained == 0
        if rows and any_moved and any_gradient:
            self._taught = True
        else:
            self._moved = self._moved or moved > 0
        self._idle_steps += 1
        passes = self.trainer._step - self._first_pass
        used_up = passes >= self.trainer.args.passes_per_batch
        # a batch beyond the first is there only because those before it are used up
        if used_up or len(self._open) > 1:
            self._close(with_gradient, state, control)
            self._open = self._open[-1:]
        if used_up:
            self._open = []

    def _close(self, with_gradient: int, state: TrainerState, control: TrainerControl) -> None:
        """Takes note that a batch is used up, and ends the run after too many that taught nothing.

        with_gradient: trained tensors with a gradient in this step, over all ranks.
        """
        self._idle_batches += 1
        if self._taught:
            self._taught = False
            self._moved = False
            self._idle_batches = 0
            self._idle_steps = 0
            self._idle_groups = 0
            return
        if self._idle_batches < self.idle:
            return
        # completions count, and none has an advantage: in few groups that may be chance
        equal_rewards = self.batch.kept > 0 and self.batch.rows == 0
        if equal_rewards and self._idle_groups < GROUPS:
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
        if not self.trainer.beta:  # no reference
            return
        kl = fmean(self.trainer._metrics["train"]["kl"])
        if not kl > LARGEST_KL:  # NaN neither
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
        """Returns the sums over ranks. counts: (n,), of this rank."""
        sums = self.trainer.accelerator.reduce(counts.double(), reduction="sum")
        return [int(total) for total in sums.tolist()]

    def _cause(self, with_gradient: int) -> str:
        """Returns the likeliest reason, and what to do.

        The reasons stand in the order of a step: completions, advantages, optimizer, gradients,
        weights. The first that fits keeps all later ones from mattering.
        """
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
    stride = max(1, len(trained) // TENSORS)  # evenly over the layers
    chosen = trained[::stride][:TENSORS]
    return [(parameter, sampled_entries(parameter)) for parameter in chosen]


def sampled_entries(parameter: torch.nn.Parameter) -> torch.Tensor:
    """Returns copies of up to EACH entries, evenly spaced, of what this rank has."""
    entries = local(parameter.detach()).reshape(-1)
    stride = max(1, entries.numel() // EACH)
    return entries[::stride][:EACH].clone()


def local(tensor: torch.Tensor) -> torch.Tensor:
    """Returns this rank's part of a sharded tensor, any other as it is."""
    if isinstance(tensor, DTensor):
        part: torch.Tensor = tensor.to_local()
        return part
    return tensor
