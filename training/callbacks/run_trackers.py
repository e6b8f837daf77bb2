"""RunTrackers: what a run is made of, in W&B's and trackio's configuration, and the same run there after `--resume`.

    trackers = RunTrackers({"recipe": recipe.model_dump(), "versions": versions()}, rewards)
    trackers.go_on(args, checkpoint)                       # before trainer.train(resume_from_checkpoint=checkpoint)
    trainer.add_callback(trackers)                         # after transformers' callbacks, which begin the runs

Trainer keeps `state()` in each checkpoint's trainer_state.json. So a resumed run finds the ids of its tracker's runs.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_callback import ExportableState

from spanreward.rewards.http_client import without_secret
from spanreward.rewards.reward import Reward
from spanreward.training.run_folder import STATE


class RunTrackers(TrainerCallback, ExportableState):
    """Adds `config` and each reward's metric, judges and prompts' version to the W&B and trackio runs, on rank 0.

    A url that may hold a secret is left out.
    """

    def __init__(self, config: Mapping[str, Any], rewards: Sequence[Reward] = ()) -> None:
        judged = {
            reward.__name__: {
                "metric": type(reward).__name__,
                "judges": [judge.name for judge in reward.judges],
                "prompts": reward.wording,
            }
            for reward in rewards
        }
        self.config: dict[str, Any] = public({**config, "rewards": judged})
        self.runs: dict[str, Any] = {}  # by the tracker's name, what its `init` needs to find the run

    def go_on(self, args: TrainingArguments, checkpoint: Path | None) -> None:
        """Open the runs that the checkpoint names. Without a checkpoint, transformers' callbacks begin new ones."""
        kept = {} if checkpoint is None else json.loads((checkpoint / STATE).read_text("utf-8"))
        runs = kept.get("stateful_callbacks", {}).get(type(self).__name__, {}).get("attributes", {}).get("runs", {})
        if "wandb" in runs and "wandb" in (args.report_to or ()):
            import wandb

            wandb.init(**runs["wandb"], resume="allow", name=args.run_name)
        if "trackio" in runs:
            args.run_name = runs["trackio"]

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        trackers = (args.report_to or ()) if state.is_world_process_zero else ()
        if "wandb" in trackers:
            import wandb

            if wandb.run is not None:
                self.runs["wandb"] = {"id": wandb.run.id, "project": wandb.run.project, "entity": wandb.run.entity}
                wandb.config.update(self.config, allow_val_change=True)
        if "trackio" in trackers:
            import trackio

            if (run := trackio.context_vars.current_run.get()) is not None:
                self.runs["trackio"] = run.name
                trackio.config.update(self.config, allow_val_change=True)
        assert isinstance(state.stateful_callbacks, dict)  # Trainer's, by the callback's name
        state.stateful_callbacks[type(self).__name__] = self.state()  # a checkpoint of an earlier version has none

    def state(self) -> dict[str, Any]:
        return {"args": {}, "attributes": {"runs": self.runs}}


def public(value: Any) -> Any:
    """Returns plain data with every url in it as `without_secret` shows it."""
    if isinstance(value, Mapping):
        return {key: public(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [public(entry) for entry in value]
    return without_secret(value) if isinstance(value, str) and "://" in value else value
