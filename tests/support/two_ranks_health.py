"""One of two ranks, started by torchrun in test_two_ranks_health.py: a stock trainer, whose judge
fails on rank 1.

    torchrun --nproc_per_node 2 two_ranks_health.py FOLDER

From the second step on half of rank 1 cannot be judged, a quarter of all. Each rank leaves
FOLDER/RANK.json.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from spanreward import RewardHealthCallback, SpanTableCallback
from spanreward.rewards import Reward, Sample, Status, Verdict
from spanreward.training.grpo.recorder import Recorder
from spanreward.training.health import Limits
from tests.support.tiny_trainer import make_trainer, scenes

FOLDER = Path(sys.argv[1])


class Failing(Reward):
    """Half of rank 1's completions fail from the second batch on; others get 0.25 or 0.75."""

    rank = 0
    batches = 0

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        self.batches += 1
        lost = self.rank == 1 and self.batches > 1
        failed = Verdict(None, Status.ERROR, note="its engine is gone")
        scored = Verdict(0.25 + 0.5 * self.rank)
        return [failed if lost and number % 2 else scored for number in range(len(samples))]


if __name__ == "__main__":
    metric = Failing("failing")
    reward = Recorder(metric)
    health = RewardHealthCallback([reward], limits=Limits(failed_fraction=0.2))
    callbacks = [SpanTableCallback([reward], every=1), health]
    sizes = {"per_device_train_batch_size": 2, "max_steps": 4}
    trainer = make_trainer(FOLDER, scenes(), [reward], stock=True, callbacks=callbacks, **sizes)
    metric.rank = trainer.accelerator.process_index
    trainer.train()
    ended = {"step": trainer.state.global_step, "stopped": health.stopped}
    ended["log"] = trainer.state.log_history  # type: ignore[assignment]
    (FOLDER / f"{metric.rank}.json").write_text(json.dumps(ended))
    trainer.accelerator.wait_for_everyone()
    trainer.accelerator.end_training()
