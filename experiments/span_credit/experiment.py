"""Does span credit teach faster than the scalar alone? One run of one arm, on Scenes, measured by
the referee.

    run = train_arm(Arm(0.5), "truth", base="outputs/credit/base2", level=2, seed=0, steps=30,
                    learning_rate=2e-4, evaluate_every=5, prompts=256)
    run["evaluations"][-1]["f1"]                 # truth F1 of each held-out prompt, greedy
    run["steps"][-1]["truth_f1"]  # of what was sampled in this step, on pictures not seen before

Every arm has the same prompts, batch, optimiser and reward: "truth", the referee itself
(experiments/scenes/truth_reward.py), or "posh:JUDGE", whose spans err as that judge does.
Advantages are matched in RMS: those of an arm with spans are scaled, each step, to the RMS over
tokens of the scalar's.
"""

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import torch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from experiments.perturb import perturb
from experiments.scenes.parts import scenes_of, scenes_part
from experiments.scenes.referee import judge_description
from experiments.scenes.truth_reward import TruthReward
from experiments.scenes.world import Scene
from experiments.span_credit.arm import Arm
from experiments.span_credit.panel import MAX_TOKENS
from spanreward.rewards import PoshReward, Reward
from spanreward.rewards.judges.by_name import load_judge
from spanreward.training.data.load import load_data
from spanreward.training.evaluation.answers.greedy import continue_prompts
from spanreward.training.grpo.batch import Batch
from spanreward.training.grpo.config import SpanGRPOConfig
from spanreward.training.grpo.span_credit import SpanCredit
from spanreward.training.grpo.trainer import SpanGRPOTrainer
from spanreward.training.policy import load_policy
from spanreward.training.recipe import FilePart

TRAINING_PROMPTS = 2000
EVALUATION_BATCH = 128
OF_STEP = {  # what is kept of a step's log line
    "reward": "reward",
    "truth_f1": "rewards/truth/mean",
    "truth_precision": "truth/precision",
    "truth_recall": "truth/recall",
    "completions/mean_length": "completions/mean_length",
    "completions/clipped_ratio": "completions/clipped_ratio",
    "entropy": "entropy",
    "grad_norm": "grad_norm",
}


class MatchedCredit(SpanCredit):
    """SpanCredit whose token advantages have the RMS that the scalar ones had."""

    def add(self, output: dict[str, Any], batch: Batch) -> None:
        mask = output["completion_mask"].bool()
        before = token_rms(output["advantages"].unsqueeze(1).expand(mask.shape), mask)
        super().add(output, batch)
        output["advantages"] = output["advantages"] * (
            before / token_rms(output["advantages"], mask).clamp(min=1e-8)
        )


def scenes_data(level: int, split: str, count: int) -> FilePart:
    return scenes_part(**{"level": level, "split": split, "count": count, "references": 1})


def token_rms(advantages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Root mean square over the tokens that were sampled; both (B, T)."""
    return advantages[mask].square().mean().sqrt()


class HeldOutMeasure(TrainerCallback):
    """Greedy completions of held-out prompts, before the first step and every so many; and TRL's
    own log lines.
    """

    def __init__(self, level: int, processor: Any, every: int, prompts: int) -> None:
        data = scenes_data(level, "validation", prompts)
        self.rows, self.scenes = list(load_data(data)), scenes_of(data)
        self.level, self.processor, self.every = level, processor, every
        self.evaluations: list[dict[str, Any]] = []
        self.steps: list[dict[str, float]] = []

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self.evaluate(kwargs["model"], state.global_step)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        if state.global_step % self.every == 0:
            self.evaluate(kwargs["model"], state.global_step)

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, float] | None = None,
        **kwargs: Any,
    ) -> None:
        if logs and "reward" in logs:
            self.steps.append(
                {"step": state.global_step, **{name: logs[key] for name, key in OF_STEP.items()}}
            )

    def evaluate(self, model: Any, step: int) -> None:
        model.eval()
        texts, lengths = continue_prompts(
            model, self.processor, self.rows, MAX_TOKENS[self.level], batch_size=EVALUATION_BATCH
        )
        model.train()
        truths = [
            judge_description(text, scene) for text, scene in zip(texts, self.scenes, strict=True)
        ]
        self.evaluations.append(
            {
                "step": step,
                "f1": [round(truth.f1, 4) for truth in truths],
                "precision": sum(truth.precision for truth in truths) / len(truths),
                "recall": sum(truth.recall for truth in truths) / len(truths),
                "length": sum(lengths) / len(lengths),
            }
        )


def experiment_reward(name: str, scenes: Mapping[str, Scene], arm: Arm) -> Reward:
    """ "truth", or "posh:" and a judge's name.

    Raises ValueError for another, and for noise in a judge's spans.
    """
    if name == "truth":
        return TruthReward(scenes, arm.flipped, arm.permuted)
    metric, _, judge = name.partition(":")
    if metric != "posh" or not judge:
        raise ValueError(
            f"there is no reward {name!r}: take truth, or posh: and a judge, such as posh:match."
        )
    if arm.flipped or arm.permuted:
        raise ValueError(
            f"the spans of {name} are a judge's own: leave --flipped and --permuted out, or take "
            "truth."
        )
    return PoshReward(load_judge(judge))


def train_arm(
    arm: Arm,
    reward: str,
    base: str,
    level: int,
    seed: int,
    steps: int,
    learning_rate: float,
    evaluate_every: int,
    prompts: int,
    perturbation: float = 0.0,
    completions: int = 128,
    group: int = 8,
    overlong: int = 0,
) -> dict[str, Any]:
    """Train and measure one run; the result is plain data, as it goes into a file.

    reward: see experiment_reward. perturbation: of the base's weights, another numerical
    environment (`perturb`). completions: of a step, `group` for each prompt. overlong: so many
    tokens more than MAX_TOKENS a completion may have and is punished for (`soft_overlong_cache`),
    since a completion that is cut gets no span credit.
    """
    data = scenes_data(level, "train", TRAINING_PROMPTS)
    dataset = load_data(data)
    scenes = dict(zip(map(str, dataset["id"]), scenes_of(data), strict=True))
    paid = experiment_reward(reward, scenes, arm)
    # of weight 0: it is measured and teaches nothing
    watched = [] if reward == "truth" else [TruthReward(scenes)]
    model, processor = load_policy(base)
    perturb(model, perturbation)
    measure = HeldOutMeasure(level, processor, evaluate_every, prompts)
    folder = tempfile.mkdtemp()
    trainer = SpanGRPOTrainer(
        model=model,
        args=SpanGRPOConfig(
            output_dir=folder,
            span_coef=arm.span_coef,
            seed=seed,
            max_steps=steps,
            learning_rate=learning_rate,
            lr_scheduler_type="constant_with_warmup",
            warmup_steps=5,
            per_device_train_batch_size=completions,
            num_generations=group,
            max_completion_length=MAX_TOKENS[level] + overlong,
            soft_overlong_cache=overlong or None,
            temperature=1.0,
            loss_type="dapo",
            epsilon_high=0.28,
            beta=0.0,
            reward_weights=[1.0, *(0.0 for _ in watched)],
            logging_steps=1,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            bf16=False,
            gradient_checkpointing=False,
            use_cpu=True,
        ),
        processing_class=processor,
        train_dataset=dataset,
        reward_funcs=[paid, *watched],
        callbacks=[measure],
    )
    trainer.span_credit = MatchedCredit(trainer)
    trainer.train()
    shutil.rmtree(folder)
    return {
        "arm": asdict(arm) | {"name": arm.name},
        "reward": reward,
        "base": base,
        "level": level,
        "seed": seed,
        "perturbation": perturbation,
        "learning_rate": learning_rate,
        "completions": completions,
        "group": group,
        "overlong": overlong,
        "evaluations": measure.evaluations,
        "steps": measure.steps,
    }
