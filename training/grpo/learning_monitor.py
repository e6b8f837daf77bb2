"""LearningMonitor: logs for each step whether anything was learnt, and stops a run that learns
nothing. The log names the cause.

    trainer = SpanGRPOTrainer(...)          # makes trainer.learning_monitor
    trainer.train()
    trainer.learning_monitor.stopped
    # "5 steps moved no weight, so nothing is learnt: every completion was cut ..." or ""

The monitor logs four shares over all ranks:

- `learning/rows`: the completions with an advantage other than 0 that count in the loss.
- `learning/tokens`: the sampled tokens with an advantage other than 0 that count in the loss.
- `learning/gradients`: the trained tensors with a gradient other than 0.
- `learning/moved`: the entries of a sample of the trained weights that the step changed.

A step teaches if a completion has an advantage, a trained tensor has a gradient, and a sampled
weight moved. The advantage is needed because weight decay and momentum also move weights. A
condition that cannot be checked counts as met: DeepSpeed, for example, hides the gradients. A
batch of completions may make several updates. The batch is idle if none of its steps taught.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple

import torch
from torch.distributed.tensor import DTensor
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

log = logging.getLogger(__name__)

# so many idle batches in a row end a run, or so many steps if a step takes several batches
MAX_IDLE_BATCHES = 5
# Equal rewards in all groups end a run only after so many groups in a row. The few groups of a
# small batch may have equal rewards by chance.
MIN_EQUAL_GROUPS = 32
MAX_TENSORS = 256  # at most so many trained tensors are sampled
MAX_ENTRIES = 1024  # at most so many entries of each tensor are sampled
# A larger KL before the first update means that the reference is another model than the policy.
# For the same model the KL is 0; rounding in bfloat16 makes less than a hundredth of LARGEST_KL.
LARGEST_KL = 0.01


@dataclass(frozen=True, slots=True)
class BatchCounts:
    """Counts of a batch of completions, over all ranks.

    Args:
        completions: the completions of the batch.
        in_loss: the completions with tokens that count in the loss.
        teaching: the completions that count in the loss with a token whose advantage is not 0.
        tokens_in_loss: the tokens that count in the loss.
        teaching_tokens: the tokens that count in the loss and whose advantage is not 0.
    """

    completions: int = 0
    in_loss: int = 0
    teaching: int = 0
    tokens_in_loss: int = 0
    teaching_tokens: int = 0


class StepCounts(NamedTuple):
    """Counts of an update, over all ranks.

    moved: the sampled entries of weights that the update changed. compared: the sampled entries
    that could be compared. with_gradient: the trained tensors with a gradient other than 0.
    trained: the trained tensors; 0 if their gradients cannot be seen.
    """

    moved: int
    compared: int
    with_gradient: int
    trained: int


class LearningMonitor(TrainerCallback):
    """Logs in each step whether anything was learnt, and ends a run that learns nothing.

    Args:
        trainer: a SpanGRPOTrainer.

    Attributes:
        stopped: the reason for which the monitor ended the run, or "".
        batch: the counts of the last batch of completions.
        idle: how many idle batches in a row end the run.
    """

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer
        self.stopped = ""
        self.batch = BatchCounts()
        self.idle = MAX_IDLE_BATCHES  # how many idle batches in a row end the run
        self._weights_before: list[tuple[torch.nn.Parameter, torch.Tensor]] = []
        self._gradients: tuple[int, int] = (0, 0)  # tensors with a gradient, and trained tensors
        # the batches of completions that `_close_batch` has not counted yet: a batch is open from
        # its first pass until the end of the step with its last pass
        self._open_batches: list[BatchCounts] = []
        self._first_pass = 0  # the value of the trainer's `_step` at the last batch's first pass
        self._taught = False  # whether a step of the open batches taught
        self._moved_while_idle = False  # whether weights changed in a step that taught nothing
        # how many batches, steps and groups there were since the last batch that taught
        self._batches_since_taught = 0
        self._steps_since_taught = 0
        self._groups_since_taught = 0

    def count_batch(self, output: Mapping[str, torch.Tensor]) -> None:
        """Counts the completions and tokens of a training batch, and how many of them have an
        advantage other than 0. Every rank must call this method, which sums over the ranks.

        output: the dict that TRL's `_generate_and_score_completions` returns on this rank.
        """
        mask = output["completion_mask"].bool()
        if "tool_mask" in output:  # leave out the tokens of a tool's answer: they were not sampled
            mask = mask & output["tool_mask"].bool()
        # (B, 1) without span credit, (B, T) with span credit
        advantages = output["advantages"].reshape(len(mask), -1)
        teaching = mask & (advantages != 0)  # (B, T), True on the tokens that move the policy
        # the counts of this rank, by the field of BatchCounts
        counts = {
            "completions": torch.ones_like(mask[:, 0]).sum(),
            "in_loss": mask.any(1).sum(),
            "teaching": teaching.any(1).sum(),
            "tokens_in_loss": mask.sum(),
            "teaching_tokens": teaching.sum(),
        }
        sums = self._over_ranks(torch.stack(list(counts.values())))
        self.batch = BatchCounts(**dict(zip(counts, sums, strict=True)))
        self._open_batches.append(self.batch)
        self._first_pass = self.trainer._step
        self._groups_since_taught += self.batch.completions // self.trainer.num_generations

    def on_pre_optimizer_step(
        self, args: Any, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Notes what `on_step_end` compares: copies of some weights before the update, and the
        number of trained tensors with a gradient. Before the first update, also warns of a
        reference model that is not the policy.
        """
        # copy the weights just before the update: a callback may have frozen or unfrozen layers
        self._weights_before = sample_of(self.trainer.model.parameters())
        if state.global_step == 0 and state.is_world_process_zero:
            self._warn_of_other_reference()
        # count the trained tensors whose gradient is not 0
        trained = 0
        norms = []
        for parameter in self.trainer.model.parameters():
            if not parameter.requires_grad:
                continue
            trained += 1
            if parameter.grad is not None:
                gradient = local_part(parameter.grad)
                norms.append(gradient.float().norm().to(args.device))
        self._gradients = (0, 0)
        # norms is empty if DeepSpeed hides the gradients, or if the loss reaches no parameter
        if norms:
            self._gradients = (int(torch.stack(norms).count_nonzero()), trained)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Logs the shares of this step, and notes whether the step taught. After the last update
        with a batch of completions, the batch is counted (`_close_batch`).
        """
        counts = self._count_step(args.device)
        if self.trainer.recorders:  # without a Reward, the log has only TRL's keys
            self._log_shares(counts)
        if self._has_taught(counts):
            self._taught = True
        elif counts.moved > 0:
            self._moved_while_idle = True
        self._steps_since_taught += 1
        # Only the newest batch can have passes left: a new batch begins after the last pass of the
        # batch before.
        passes = self.trainer._step - self._first_pass  # over the newest batch
        newest_is_used_up = passes >= self.trainer.args.passes_per_batch
        has_used_up_batch = newest_is_used_up or len(self._open_batches) > 1
        if has_used_up_batch:
            self._close_batch(counts.with_gradient, state, control)
        self._open_batches = [] if newest_is_used_up else self._open_batches[-1:]

    def _count_step(self, device: torch.device) -> StepCounts:
        """Returns the counts of this step's update over all ranks. Every rank must call this
        method.
        """
        moved, compared = self._compare_weights(device)
        others = torch.tensor([compared, *self._gradients], device=device)
        return StepCounts(*self._over_ranks(torch.cat([moved.reshape(1), others])))

    def _log_shares(self, counts: StepCounts) -> None:
        """Logs four shares of this step as `learning/...`: the completions and the tokens with an
        advantage, the trained tensors with a gradient, and the compared weights that moved.
        """
        parts_and_wholes = {
            "rows": (self.batch.teaching, self.batch.completions),
            "tokens": (self.batch.teaching_tokens, self.batch.tokens_in_loss),
            "gradients": (counts.with_gradient, counts.trained),
            "moved": (counts.moved, counts.compared),
        }
        for name, (part, whole) in parts_and_wholes.items():
            if whole:
                self.trainer._metrics["train"][f"learning/{name}"].append(part / whole)

    def _has_taught(self, counts: StepCounts) -> bool:
        """Returns whether this step taught: a completion had an advantage, a tensor had a gradient,
        and a weight moved.

        A condition that cannot be checked counts as met: DeepSpeed, for example, hides the
        gradients.
        """
        has_advantage = any(open_batch.teaching for open_batch in self._open_batches)
        no_weights_compared = counts.compared == 0
        has_moved = no_weights_compared or counts.moved > 0
        gradients_are_hidden = counts.trained == 0
        has_gradient = gradients_are_hidden or counts.with_gradient > 0
        return has_advantage and has_moved and has_gradient

    def _compare_weights(self, device: torch.device) -> tuple[torch.Tensor, int]:
        """Returns how many of this rank's sampled entries of weights the step has changed, as a
        scalar tensor, and how many entries were compared.

        The tensor stays on the device, so that the process does not wait for the device. The copies
        of the weights are dropped.
        """
        moved = torch.tensor(0, device=device)
        compared = 0
        for parameter, entries_before in self._weights_before:
            entries = sampled_entries(parameter)
            # ZeRO-3 may have gathered or emptied a tensor since: then nothing can be compared
            if len(entries) == len(entries_before):
                moved += (entries != entries_before).sum().to(device)
                compared += len(entries)
        self._weights_before = []
        return moved, compared

    def _close_batch(
        self, with_gradient: int, state: TrainerState, control: TrainerControl
    ) -> None:
        """Counts a batch of completions after its last update. Ends the run after too many idle
        batches in a row.

        A batch is idle if none of its steps taught: in each step, no completion had an advantage,
        no tensor had a gradient, or no weight moved. A batch whose groups all have equal rewards
        ends the run only after MIN_EQUAL_GROUPS such groups, because few may be equal by chance.

        with_gradient: the number of trained tensors with a gradient in this step, over all ranks.
        """
        if self._taught:
            self._count_from_0()
            return
        self._batches_since_taught += 1
        if self._batches_since_taught < self.idle:
            return
        # if completions count in the loss, but none has an advantage, the rewards of each group are
        # equal, maybe by chance
        equal_rewards = self.batch.in_loss > 0 and self.batch.teaching == 0
        if equal_rewards and self._groups_since_taught < MIN_EQUAL_GROUPS:
            return
        how = "moved no weight"
        if self._moved_while_idle:
            how = "moved weights without a reward, as by weight decay or momentum"
        cause = self._cause_of_idleness(with_gradient)
        self.stopped = f"{self._steps_since_taught} steps {how}, so nothing is learnt: {cause}"
        control.should_training_stop = True
        if state.is_world_process_zero:
            log.error("training stops at step %d: %s", state.global_step, self.stopped)

    def _count_from_0(self) -> None:
        """Begins to count idle batches, steps and groups again, after a batch that taught."""
        self._taught = False
        self._moved_while_idle = False
        self._batches_since_taught = 0
        self._steps_since_taught = 0
        self._groups_since_taught = 0

    def _warn_of_other_reference(self) -> None:
        """Warns if the reference model differs from the policy before the first update.

        The two models are the same if their KL is 0, apart from rounding.
        """
        if not self.trainer.beta:  # TRL has no reference model
            return
        kl = fmean(self.trainer._metrics["train"]["kl"])
        if not kl > LARGEST_KL:  # also returns for NaN
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
        """Returns the sums of the counts over all ranks. counts: (n,), the counts of this rank."""
        sums = self.trainer.accelerator.reduce(counts.double(), reduction="sum")
        return [int(total) for total in sums.tolist()]

    def _cause_of_idleness(self, with_gradient: int) -> str:
        """Returns a sentence with the likeliest reason why the steps taught nothing, and a remedy.

        The reasons are checked in the order of a step: completions, advantages, optimizer,
        gradients, weights. After the first reason that fits, a later reason cannot matter.

        with_gradient: the number of trained tensors with a gradient in the last step.
        """
        trainer = self.trainer
        if not self.batch.in_loss and trainer.mask_truncated_completions:
            return self._why_all_are_cut()
        if not self.batch.teaching:
            return (
                "no completion has an advantage, since all of a group have the same reward, or "
                "none: look at some of them, raise the temperature, set dynamic_sampling, or take "
                "a reward that tells them apart."
            )
        rates = [group["lr"] for group in trainer.optimizer.param_groups]
        if not any(rates):
            return "the learning rate is 0: set learning_rate, or another lr_scheduler_type."
        # DeepSpeed's optimizer holds copies, so that its parameters cannot be compared
        if not trainer.is_deepspeed_enabled and not self._updates_a_trained_parameter():
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

    def _why_all_are_cut(self) -> str:
        """Returns a sentence on a batch in which every completion was cut at the length limit, and
        so left out of the loss. The remedy depends on whether the chat template can end a turn.
        """
        trainer = self.trainer
        longest = trainer.max_completion_length
        cut = f"every completion was cut at max_completion_length ({longest})"
        if trainer.endless is not None:
            return f"{cut}, where {trainer.endless}: {trainer.endless.cure}."
        return (
            f"{cut}, and mask_truncated_completions leaves those out: raise the one, or set "
            "the other to False."
        )

    def _updates_a_trained_parameter(self) -> bool:
        """Returns whether the optimizer has at least one of the model's trained parameters."""
        optimizer_ids: set[int] = set()  # the ids of the parameters that the optimizer updates
        for group in self.trainer.optimizer.param_groups:
            optimizer_ids.update(map(id, group["params"]))
        for parameter in self.trainer.model.parameters():
            if parameter.requires_grad and id(parameter) in optimizer_ids:
                return True
        return False


def sample_of(
    parameters: Iterable[torch.nn.Parameter],
) -> list[tuple[torch.nn.Parameter, torch.Tensor]]:
    """Returns up to MAX_TENSORS trained tensors, each with a copy of up to MAX_ENTRIES entries."""
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    stride = max(1, len(trained) // MAX_TENSORS)  # spread the sample evenly over the layers
    chosen = trained[::stride][:MAX_TENSORS]
    return [(parameter, sampled_entries(parameter)) for parameter in chosen]


def sampled_entries(parameter: torch.nn.Parameter) -> torch.Tensor:
    """Returns copies of up to MAX_ENTRIES evenly spaced entries of this rank's part of a tensor.

    The copies of two steps show whether the steps changed the tensor.
    """
    entries = local_part(parameter.detach()).reshape(-1)
    stride = max(1, entries.numel() // MAX_ENTRIES)
    return entries[::stride][:MAX_ENTRIES].clone()


def local_part(tensor: torch.Tensor) -> torch.Tensor:
    """Returns this rank's part of a sharded tensor, or a tensor that is not sharded unchanged."""
    if isinstance(tensor, DTensor):
        part: torch.Tensor = tensor.to_local()
        return part
    return tensor
