"""A stopped run that is resumed makes the steps of the uninterrupted one.

    trainer.train(resume_from_checkpoint="outputs/run/checkpoint-100")

transformers 5.19 and TRL 1.16 leave six things out:

- Weights. A checkpoint holds a vision-language model's weights under the hub's names. Trainer knows
  those in memory, and trains on from the weights it began with. `from_pretrained`, which is used
  here, knows both.
- Order. TRL shuffles every epoch with one generator, which begins again in a resumed run.
- Phase. TRL counts the passes over a batch of completions from 0, and no checkpoint holds the
  batch. A run resumed between two passes completes the batch's prompts again for the remaining
  passes, and warns.
- Wholeness. trainer_state.json, written last, marks a checkpoint as whole, but rank 0 writes it
  without waiting for the other ranks' random states. Here it waits.
- Streams. Trainer counts no passes over a stream, so that a run resumed in the second one asks
  other prompts than the uninterrupted run, and warns.
- The end. Trainer checks after a step whether the run is finished, and so makes one more step of a
  finished run.
"""

import logging
from typing import Any

from datasets import IterableDataset
from torch.utils.data import Sampler
from transformers import PreTrainedModel, Trainer
from trl import GRPOTrainer

from spanreward.training.grpo.config import SpanGRPOConfig

log = logging.getLogger(__name__)


class CheckpointWeights(Trainer):
    """Mixin for any Trainer, before TRL's class in the bases, that resumes a model's weights."""

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        if self._reads_itself():
            load_weights(self.model if model is None else model, resume_from_checkpoint)
        else:
            super()._load_from_checkpoint(resume_from_checkpoint, model)

    def _load_best_model(self) -> None:
        if self._reads_itself():
            load_weights(self.model, str(self.state.best_model_checkpoint))
        else:
            super()._load_best_model()

    def _save_rng_state(self, output_dir: str) -> None:
        super()._save_rng_state(output_dir)
        self.accelerator.wait_for_everyone()  # before rank 0 marks the checkpoint as whole

    def _run_epoch(self, *arguments: Any, **settings: Any) -> None:
        if self.state.global_step < self.state.max_steps:
            super()._run_epoch(*arguments, **settings)
        else:  # resumed from the last step's checkpoint
            max_steps = self.state.max_steps
            log.warning(
                "the run had made its %d steps: no more is made, and its policy is saved.",
                max_steps,
            )
            self.control.should_training_stop = True

    def _reads_itself(self) -> bool:
        """Whether the weights are read here. An adapter's, and those sharded over ranks, keep the
        names of the memory, and Trainer reads them.
        """
        if self.is_deepspeed_enabled or self.is_fsdp_enabled:
            return False
        return isinstance(self.model, PreTrainedModel)


def load_weights(model: Any, folder: str) -> None:
    """Gives the model the weights that `save_pretrained` wrote into the folder.

    Raises OSError where there are none.
    """
    saved = type(model).from_pretrained(folder, dtype=model.dtype, trust_remote_code=False)
    model.load_state_dict(saved.state_dict())


class ResumingTrainer(CheckpointWeights, GRPOTrainer):
    """GRPOTrainer that resumes the order of the data and the phase of its batches too."""

    args: SpanGRPOConfig

    _order: Sampler[int] | None = None  # of the training data, where its rows have numbers

    def _get_train_sampler(self, dataset: Any = None) -> Sampler[int]:
        self._order = super()._get_train_sampler(dataset)
        return self._order

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is None:
            return
        # Order: shuffle once for each pass over the data that was made before
        epoch = self.state.epoch or 0
        for _ in range(int(epoch)):
            if self._order is not None:
                next(iter(self._order))  # shuffles for one epoch
        # Streams
        if isinstance(self.train_dataset, IterableDataset) and epoch > 1:
            log.warning(
                "%s was saved in a later pass over the streamed training data, whose place is not "
                "known: the run asks other prompts than the uninterrupted one. Load the data "
                "whole, or make the stream endless (dataset.repeat(None)).",
                checkpoint,
            )
        # Phase: the passes that were made, in place of TRL's 0
        self._step = self.state.global_step * self.args.gradient_accumulation_steps
        if self._step % self.args.passes_per_batch:
            log.warning(
                "%s was saved within the %d passes over a batch of completions: its prompts are "
                "completed again, and the run is not the uninterrupted one.",
                checkpoint,
                self.args.passes_per_batch,
            )
