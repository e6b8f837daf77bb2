"""Makes a resumed run equal to an uninterrupted run, step by step.

    trainer.train(resume_from_checkpoint="outputs/run/checkpoint-100")

transformers 5.19 and TRL 1.16 have six gaps, which this module closes or warns of:

- Weights. A checkpoint of a vision-language model has other names of weights than the model in
  memory. Trainer knows only the names in memory, and so continues with the weights of the start.
  `from_pretrained` knows the names of both, and is used here.
- Order. TRL shuffles all epochs with one random generator. A resumed run starts the generator
  anew. Here the generator first shuffles once for each earlier epoch.
- Phase. A batch of completions may be used for several passes. TRL counts the passes from 0 after
  resuming; here the count continues. No checkpoint holds the batch. So a run that is resumed
  between two passes completes the batch's prompts again, and a warning is logged.
- Completeness. The last file of a checkpoint is trainer_state.json, which marks the checkpoint as
  complete. Rank 0 would write this file before the other ranks have saved their random states.
  Here rank 0 waits for the other ranks.
- Streams. Trainer does not count the passes over a streamed dataset. A run that is resumed in a
  later pass gets other prompts than the uninterrupted run, and a warning is logged.
- The end. Trainer checks only after a step whether the run is finished. So a finished run that is
  resumed would make one more step. Here the run makes no more steps.
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
    """Mixin that loads the weights of a checkpoint into the model, for any Trainer.

    Put the mixin before TRL's class: `class MyTrainer(CheckpointWeights, GRPOTrainer)`.
    """

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        """Loads the weights of the checkpoint from which a run is resumed."""
        if self._uses_from_pretrained():
            load_weights(self.model if model is None else model, resume_from_checkpoint)
        else:
            super()._load_from_checkpoint(resume_from_checkpoint, model)

    def _load_best_model(self) -> None:
        """Loads the weights of the best checkpoint at the end of a run (load_best_model_at_end)."""
        if self._uses_from_pretrained():
            load_weights(self.model, str(self.state.best_model_checkpoint))
        else:
            super()._load_best_model()

    def _save_rng_state(self, output_dir: str) -> None:
        """Saves this rank's random state, and waits until all ranks have saved theirs."""
        super()._save_rng_state(output_dir)
        self.accelerator.wait_for_everyone()  # before rank 0 marks the checkpoint as whole

    def _run_epoch(self, *arguments: Any, **settings: Any) -> None:
        """Makes a pass over the data, unless all steps of the run are made already."""
        if self.state.global_step < self.state.max_steps:
            super()._run_epoch(*arguments, **settings)
        else:  # the run was resumed from the checkpoint of its last step
            max_steps = self.state.max_steps
            log.warning(
                "the run had made its %d steps: no more is made, and its policy is saved.",
                max_steps,
            )
            self.control.should_training_stop = True

    def _uses_from_pretrained(self) -> bool:
        """Returns whether to load the weights by `from_pretrained`, and not by Trainer.

        In the checkpoint of a whole model, a weight may have another name than in memory, and only
        `from_pretrained` can translate the names. In the checkpoints of adapters and sharded
        weights, each weight has its name in memory. So Trainer loads these checkpoints.
        """
        if self.is_deepspeed_enabled or self.is_fsdp_enabled:
            return False
        return isinstance(self.model, PreTrainedModel)


def load_weights(model: Any, folder: str) -> None:
    """Loads the weights that `save_pretrained` wrote into the folder.

    Raises OSError for a folder without weights.
    """
    saved = type(model).from_pretrained(folder, dtype=model.dtype, trust_remote_code=False)
    model.load_state_dict(saved.state_dict())


class ResumingTrainer(CheckpointWeights, GRPOTrainer):
    """GRPOTrainer that also resumes the order of the data and the count of passes over a batch."""

    args: SpanGRPOConfig

    _sampler_of_rows: Sampler[int] | None = None  # the training data's sampler; None for a stream

    def _get_train_sampler(self, dataset: Any = None) -> Sampler[int]:
        """Returns TRL's sampler of the training rows, and keeps it for a resumed run."""
        self._sampler_of_rows = super()._get_train_sampler(dataset)
        return self._sampler_of_rows

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        """Loads a checkpoint's state, and continues the order of the data and the count of passes.

        checkpoint: the folder of the checkpoint; None for a new run.
        """
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is None:
            return
        # Order: shuffle once for each earlier pass over the data
        epoch = self.state.epoch or 0
        for _ in range(int(epoch)):
            if self._sampler_of_rows is not None:
                next(iter(self._sampler_of_rows))  # shuffles for one epoch
        # Streams: warn in a later pass
        if isinstance(self.train_dataset, IterableDataset) and epoch > 1:
            log.warning(
                "%s was saved in a later pass over the streamed training data, whose place is not "
                "known: the run asks other prompts than the uninterrupted one. Load the data "
                "whole, or make the stream endless (dataset.repeat(None)).",
                checkpoint,
            )
        # Phase: set the count of passes, which TRL has set to 0
        self._step = self.state.global_step * self.args.gradient_accumulation_steps
        if self._step % self.args.passes_per_batch:
            log.warning(
                "%s was saved within the %d passes over a batch of completions: its prompts are "
                "completed again, and the run is not the uninterrupted one.",
                checkpoint,
                self.args.passes_per_batch,
            )
