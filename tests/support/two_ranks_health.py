"""One of two ranks, started by torchrun in test_two_ranks_health.py: stock trainers, whose judge fails on rank 1.

    torchrun --nproc_per_node 2 two_ranks_health.py FOLDER

From GRPO's second step on half of rank 1 cannot be judged, a quarter of all. SFT has one evaluation prompt, so that one
rank has none. Each rank leaves FOLDER/RANK.json.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

from experiments.scenes.parts import TINY, scenes_part
from spanreward import RewardHealthCallback, SpanTableCallback
from spanreward.rewards import Reward, Sample, Status, Verdict
from spanreward.training.callbacks.reward_health import Limits
from spanreward.training.callbacks.sft_prompts import EvaluationPrompts
from spanreward.training.data.load import load_data
from spanreward.training.grpo.recorder import Recorder
from spanreward.training.policy import load_policy
from tests.support.tiny_trainer import COMMON, Scored, scenes

FOLDER = Path(sys.argv[1])


class Failing(Reward):
    """Half of rank 1's completions fail from the second batch on; all others get 0.25 on rank 0 and 0.75 on rank 1."""

    rank = 0
    batches = 0

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        self.batches += 1
        lost = self.rank == 1 and self.batches > 1
        failed = Verdict(None, Status.ERROR, note="its engine is gone")
        scored = Verdict(0.25 + 0.5 * self.rank)
        return [failed if lost and number % 2 else scored for number in range(len(samples))]


def sft() -> list[dict[str, Any]]:
    """Two steps of SFT, the evaluation prompt answered at both: the log."""
    reward = Recorder(Scored(lambda sample: 0.75))
    model, processor = load_policy(TINY, seed=1)
    settings = {name: COMMON[name] for name in COMMON if name not in ("num_generations", "max_completion_length")}
    args = SFTConfig(output_dir=str(FOLDER / "sft"), max_length=None, **settings)
    data = load_data(scenes_part(count=32), completions=True)
    trainer = SFTTrainer(model=model, processing_class=processor, args=args, train_dataset=data)
    prompts = EvaluationPrompts(trainer, list(scenes().select(range(1))), every=1, max_tokens=4)
    trainer.add_callback(SpanTableCallback([reward], prompts=prompts))
    trainer.add_callback(RewardHealthCallback([reward], prompts=prompts))
    trainer.train()
    return trainer.state.log_history


if __name__ == "__main__":
    model, processor = load_policy(TINY, seed=1)
    metric = Failing("failing")
    reward = Recorder(metric)
    health = RewardHealthCallback([reward], limits=Limits(failed_fraction=0.2))
    args = GRPOConfig(**{**COMMON, "output_dir": str(FOLDER), "per_device_train_batch_size": 2, "max_steps": 4})
    trainer = GRPOTrainer(
        model=model,
        processing_class=processor,
        reward_funcs=[reward],
        args=args,
        train_dataset=scenes(),
        callbacks=[SpanTableCallback([reward], every=1, best=2, worst=2), health],
    )
    metric.rank = trainer.accelerator.process_index
    trainer.train()
    ended = {"step": trainer.state.global_step, "stopped": health.stopped, "log": trainer.state.log_history}
    ended["sft"] = sft()
    (FOLDER / f"{metric.rank}.json").write_text(json.dumps(ended))
    trainer.accelerator.wait_for_everyone()
    trainer.accelerator.end_training()
