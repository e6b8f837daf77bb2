"""PoSh with spans in TRL's AsyncGRPOTrainer, which samples ahead of training. Run in parts with TRL 1.16; since TRL
1.18 its names are other ones, which were read in the release notes and never run.

    CUDA_VISIBLE_DEVICES=0,1 vllm serve POLICY --weight-transfer-config '{"backend": "nccl"}'     # the policy writes
    CUDA_VISIBLE_DEVICES=2,3 vllm serve JUDGE --port 8001 --max-logprobs 20                       # it never sleeps
    POLICY=... JUDGE=server:http://127.0.0.1:8001#... DATA=captions.jsonl CUDA_VISIBLE_DEVICES=4,5,6,7 \\
        accelerate launch trl_async.py                                                            # these train

A process without a GPU has completions written and judged, group by group, while the trainer trains on earlier ones.
TRL gives all tokens of a completion one advantage. SpanLoop adds one for each, SpanTrainer has them trained on. The
policy is a text model, and answers in one turn. DATA has the columns `prompt` and `reference`.
"""

import os

import torch
import trl
from datasets import load_dataset

try:  # TRL 1.18 and later
    from trl import AsyncGRPOConfig, AsyncGRPOTrainer
    from trl.trainer import async_grpo_trainer as parts
except ImportError:
    from trl.experimental.async_grpo import (
        AsyncGRPOConfig,
        AsyncGRPOTrainer,
        async_rollout_worker as parts,
    )

from spanreward import PoshReward, load_judge
from spanreward.training.grpo.by_group import group_advantages
from spanreward.training.grpo.recorder import Recorder

KEY, SPAN_COEF = "token_advantages", float(os.environ.get("SPAN_COEF", "0.5"))


def check(owner, *names):
    """Raises ImportError for what this file uses and the installed TRL lacks."""
    for name in names:
        if not hasattr(owner, name):
            raise ImportError(
                f"{owner} of TRL {trl.__version__} has no {name}, which this file was written for."
            )


loops = [name for name in vars(parts) if name.endswith("RolloutLoop")]
if len(loops) != 1:
    raise ImportError(
        f"{parts.__name__} of TRL {trl.__version__} has no single rollout loop, but {loops}."
    )
Loop = vars(parts)[loops[0]]
check(Loop, "_score_group")
check(AsyncGRPOTrainer, "get_train_dataloader")


class SpanLoop(Loop):
    async def _score_group(self, group):
        samples = await super()._score_group(group)  # which asks the recorder, once for the group
        (recorder,) = self.reward_funcs
        texts = [sample.completion for sample in recorder.samples]
        finished = [ids[-1:] and ids[-1] in self.eos_token_ids for ids in group.completions_ids]
        tokenizer, scalars = (
            self.tokenizer.backend_tokenizer,
            [sample.advantage for sample in samples],
        )
        found = group_advantages(
            recorder.verdicts, texts, group.completions_ids, finished, tokenizer, scalars, SPAN_COEF
        )
        for sample, values in zip(samples, found, strict=True):
            sample.metrics[KEY] = values
        return samples


class SpanTrainer(AsyncGRPOTrainer):
    def get_train_dataloader(self):
        loader = super().get_train_dataloader()
        loader.collate_fn = by_token(loader.collate_fn)
        return loader


def by_token(collate):
    def collated(examples):
        values = [
            [v for sample in row.samples for v in sample["metrics"].pop(KEY)] for row in examples[0]
        ]
        batch = collate(examples)
        for row, own in enumerate(values):
            batch["advantages"][row, : len(own)] = torch.tensor(own)
        return batch

    return collated


if __name__ == "__main__":
    args = AsyncGRPOConfig(
        "outputs/async", max_staleness=1, epsilon_high=0.28, max_completion_length=512
    )
    reward = Recorder(PoshReward(load_judge(os.environ["JUDGE"])))
    data = load_dataset("json", data_files=os.environ["DATA"], split="train")
    trainer = SpanTrainer(os.environ["POLICY"], reward, args, train_dataset=data)
    if trainer.rollout_worker is not None:  # on the main process
        check(trainer.rollout_worker, "_loop_cls")
        trainer.rollout_worker._loop_cls = SpanLoop
    trainer.train()
