"""The second set of trainings.md, what a step of RL does: clipping, the overlong punishment,
entropy, ranks, weights that stand still, policies and rewards of unusual kinds.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from transformers import TrainerCallback

from experiments.trainings.enacting import (
    POLICIES,
    QUESTIONS,
    TEXTS,
    Case,
    outcome_of,
    policy_of,
    rows,
    trained,
    trainer_of,
)
from experiments.trainings.two_ranks import GROUP, KINDS, advantages_of_rank
from spanreward.rewards.base.verdict import Sample, Span, Status, Verdict
from spanreward.rewards.reward.from_function import reward
from spanreward.training.recipe import load_recipe
from tests.support.paths import ROOT
from tests.support.tiny_trainer import Scored

RECIPES = ("quickstart/scenes-dapo", "qwen2.5-vl-3b-lora/docent-posh-dapo")
KEPT = (  # of a recipe that is shrunk
    "gradient_accumulation_steps",
    "steps_per_generation",
    "num_iterations",
    "learning_rate",
    "loss_type",
    "epsilon",
    "beta",
    "temperature",
    "max_grad_norm",
)
LOGS: dict[str, Any] = {"logging_strategy": "steps", "logging_steps": 1}
TWO_RANKS = "experiments.trainings.two_ranks"
FAILED = 3  # of the judgments of a reward that is only watched
WRONG = -0.6  # credit of a wrong word
ALIKE = "A red star is here."  # what every completion says, where the words are what differs


def clipping(policy: str, folder: Path) -> str:
    outcomes = []
    for name in RECIPES:
        outcomes.append(
            f"{name}: {outcome_of(clipped_recipe, policy, folder / Path(name).name, name)}"
        )
    return "; ".join(outcomes)


def clipped_recipe(policy: str, folder: Path, name: str) -> str:
    """What the recipe's clipping changes in four small steps with its own updates a rollout."""
    recipe = load_recipe(ROOT / "recipes" / f"{name}.yaml")
    shrunk = {key: recipe.trainer[key] for key in KEPT if key in recipe.trainer}
    batch = {"per_device_train_batch_size": 2, "num_generations": 2, "max_completion_length": 8}
    data = rows(policy, repeats=64)
    losses, ratios = [], []
    for high in (0.28, 0.0001):
        torch.manual_seed(0)
        trainer = trainer_of(
            policy,
            folder / str(high),
            data,
            **{**shrunk, **batch, **LOGS, "epsilon_high": high, "max_steps": 4},
        )
        trained(trainer)
        logs = [log for log in trainer.state.log_history if "loss" in log]
        losses.append([log["loss"] for log in logs])
        ratios.append(max(log["clip_ratio/high_mean"] for log in logs))
    pairs = zip(*losses, strict=True)
    difference = max(abs(one - other) for one, other in pairs)
    return f"losses differ by up to {difference:.2g}, clip_ratio/high_mean up to {max(ratios):.2g}"


def overlong(policy: str, folder: Path) -> str:
    """The advantages of a group whose last completion is cut, with the punishment and without."""
    spreads, stds, last = [], [], False
    for cache in (None, 32):
        trainer = trainer_of(
            policy,
            folder / str(cache),
            rewards=[Scored(lambda sample: 0.4 + min(sample.completion.count("red"), 7) / 100)],
            soft_overlong_cache=cache,
            max_completion_length=96,
            num_generations=GROUP,
        )
        tokenizer = trainer._tokenizer
        ids = [[*tokenizer(text)["input_ids"], tokenizer.eos_token_id] for text in TEXTS]
        ids[-1] = tokenizer("red " * 96)["input_ids"][:96]
        advantages = advantages_with(trainer, ids)
        others = advantages[:-1]
        spreads.append(max(others) - min(others))
        stds.append(trainer._metrics["train"]["reward_std"][-1])
        last = advantages[-1] < min(others)
    place = "last" if last else "not last"
    return (
        f"the others keep {spreads[1] / spreads[0]:.3f} of their differences, the cut one is "
        f"{place}; the group's std {stds[0]:.3f} becomes {stds[1]:.3f}"
    )


def advantages_with(trainer: Any, ids: list[list[int]]) -> list[float]:
    """Returns the advantages that the trainer gives these completions of its first row."""
    trainer._generate_single_turn = lambda *_, **__: ([[*row] for row in ids], None)
    trainer.model.train()
    batch = trainer._generate_and_score_completions([trainer.train_dataset[0]] * len(ids))
    advantages: list[float] = batch["advantages"].tolist()
    return advantages


def entropy_quantile(policy: str, folder: Path) -> str:
    """What one step makes of a text whose most confident word is the wrong one, at quantile .5 and
    at 1.
    """
    model, tokenizer = policy_of(policy, folder / "look")
    entropies = [entropy for _, entropy in word_measures(model, tokenizer)]
    word = entropies.index(min(entropies))
    outcomes = []
    for quantile in (0.5, 1.0):
        moved = outcome_of(text_moved, policy, folder / str(quantile), word, quantile)
        outcomes.append(f"at {quantile:g} {moved}")
    return "; ".join(outcomes)


def text_moved(policy: str, folder: Path, wrong: int, quantile: float) -> str:
    scored = Scored(lambda sample: verdict_with(wrong))
    trainer = trainer_of(
        policy,
        folder,
        Dataset.from_dict({"prompt": [prompt()] * 8}),
        rewards=[scored],
        span_coef=0.5,
        top_entropy_quantile=quantile,
        optim="sgd",
        learning_rate=1e-2,
        max_steps=1,
    )
    tokenizer = trainer._tokenizer
    ids = [*tokenizer(ALIKE)["input_ids"], tokenizer.eos_token_id]
    trainer._generate_single_turn = lambda *_, **__: ([[*ids] for _ in range(8)], None)
    was = [logp for logp, _ in word_measures(trainer.model, tokenizer)]
    trained(trainer)
    now = [logp for logp, _ in word_measures(trainer.model, tokenizer)]
    return (
        f"the text's log-probability moves by {sum(now) - sum(was):+.4f}, the word's by "
        f"{now[wrong] - was[wrong]:+.4f}"
    )


def verdict_with(wrong: int) -> Verdict:
    """Returns the verdict on ALIKE with one wrong word, and a little credit for the others."""
    spans, start = [], 0
    for number, word in enumerate(ALIKE.split(" ")):
        credit = WRONG if number == wrong else 0.1
        spans.append(Span(start, start + len(word), 0.5, credit, "entity", "", number))
        start += len(word) + 1
    return Verdict(0.5, spans=tuple(spans))


def prompt() -> list[dict[str, str]]:
    return [{"role": "user", "content": QUESTIONS[0]}]


def word_measures(model: Any, tokenizer: Any) -> list[tuple[float, float]]:
    """Returns the log-probability of each word of ALIKE, and the mean entropy where its tokens are
    chosen.
    """
    asked = tokenizer.apply_chat_template(
        prompt(), add_generation_prompt=True, tokenize=True, return_dict=True
    )["input_ids"]
    model.eval()
    measures = []
    context = list(asked)
    for number, word in enumerate(ALIKE.split(" ")):
        ids = tokenizer(word if number == 0 else f" {word}")["input_ids"]
        with torch.no_grad():
            logits = model(torch.tensor([[*context, *ids]])).logits[0]
        chosen = logits[len(context) - 1 : -1].log_softmax(-1)
        logps = chosen[torch.arange(len(ids)), torch.tensor(ids)]
        entropy = -(chosen.exp() * chosen).sum(-1)
        measures.append((logps.sum().item(), entropy.mean().item()))
        context += ids
    return measures


def half_a_group(policy: str, folder: Path) -> str:
    """A group of eight on two ranks beside the same group on one: the advantage of the fourth
    best.
    """
    POLICIES[policy](folder / "policy")
    whole = advantages_of_rank(folder, False, 0, 1)
    torchrun = [str(Path(sys.executable).with_name("torchrun")), "--standalone"]
    settings = {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*torchrun, "--nproc_per_node", "2", "-m", TWO_RANKS, str(folder)],
        cwd=ROOT,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    files = sorted(folder.glob("*.json"))
    if len(files) < 2:
        errors = [line for line in done.stderr.splitlines() if "Error" in line]
        return f"ends with {errors[:1]}"
    ranks = [json.loads(file.read_text()) for file in files]
    outcomes = []
    for kind in KINDS:
        outcomes.append(f"{kind}: {of_both([rank[kind] for rank in ranks], whole)}")
    return "; ".join(outcomes)


def of_both(ranks: Sequence[Any], whole: Sequence[float]) -> str:
    """Says what two ranks' outcomes are: advantages, or the sentence of one that refuses."""
    for outcome in ranks:
        if isinstance(outcome, str):
            return f"refused: {outcome}"
    advantages = [*ranks[0], *ranks[1]]
    return f"quality 4 of 8 has {advantages[3]:+.2f} (on one rank {whole[3]:+.2f})"


def weight_decay(policy: str, folder: Path) -> str:
    trainer = trainer_of(
        policy,
        folder,
        rewards=[Scored(lambda sample: 0.5)],
        weight_decay=0.1,
        max_steps=60,
        max_completion_length=4,
    )
    steps = trained(trainer)
    return f"{steps} of 60: {trainer.learning_monitor.stopped or 'no reason given'}"


def watched_reward(policy: str, folder: Path) -> str:
    """The first step's gradient beside a reward of weight 0 that fails, and without it."""

    def failing(sample: Sample) -> Verdict:
        calls.append(sample)
        if len(calls) <= FAILED:
            return Verdict(None, Status.ERROR, note="out of order")
        return Verdict(0.5)

    calls: list[Sample] = []
    norms = []
    for others in ([], [Scored(failing, "watched")]):
        torch.manual_seed(0)
        rewards = [Scored(lambda sample: len(sample.completion) % 5 / 5), *others]
        weights = [1.0] + [0.0] * len(others)
        trainer = trainer_of(
            policy,
            folder / str(len(others)),
            rewards=rewards,
            reward_weights=weights,
            max_steps=1,
            **LOGS,
        )
        trained(trainer)
        norms.append(trainer.state.log_history[0]["grad_norm"])
    return f"{FAILED} of {len(calls)} fail: gradient {norms[1]:.3f}, without it {norms[0]:.3f}"


class Freezing(TrainerCallback):
    """Trains another part of the weights at each step, as LISA does."""

    def on_step_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        for number, parameter in enumerate(given["model"].parameters()):
            parameter.requires_grad_(number % (2 + state.global_step) == 0)


def freezing(policy: str, folder: Path) -> str:
    trainer = trainer_of(policy, folder, max_steps=4)
    trainer.add_callback(Freezing())
    return f"trains: {trained(trainer)} of 4, {trainer.learning_monitor.stopped or 'not stopped'}"


def merged_policy(policy: str, folder: Path) -> str:
    """A policy whose adapter was merged: peft has frozen its base, and that stays so."""
    model, processor = policy_of(policy, folder)
    merged = get_peft_model(model, LoraConfig(target_modules="all-linear")).merge_and_unload()
    scored = Scored(lambda sample: len(sample.completion) % 5 / 5)
    outcome = outcome_of(train_given, policy, folder, scored, (merged, processor))
    return f"{len(scored.seen)} completions judged, then: {outcome}"


def train_given(policy: str, folder: Path, scored: Scored, loaded: Any) -> str:
    return trained(trainer_of(policy, folder, rewards=[scored], loaded=loaded))


def other_reference(policy: str, folder: Path) -> str:
    """A policy that is no longer the folder that its reference is loaded from."""
    model, processor = policy_of(policy, folder)
    adapted = get_peft_model(
        model, LoraConfig(target_modules="all-linear", init_lora_weights=False)
    )
    merged = adapted.merge_and_unload()
    merged.requires_grad_(True)
    trainer = trainer_of(policy, folder, loaded=(merged, processor), beta=0.1, max_steps=1, **LOGS)
    trained(trainer)
    return f"KL at step 1 is {trainer.state.log_history[0]['kl']:.2g}"


@dataclass
class Length:
    """A reward that people write as a dataclass, which has no hash."""

    longest: int = 100
    __name__ = "length"

    def __call__(self, prompts: Any, completions: Any, **columns: Any) -> list[float]:
        return [len(one[0]["content"]) % 5 / self.longest for one in completions]


def unhashable(policy: str, folder: Path) -> str:
    return "trains: " + trained(trainer_of(policy, folder, rewards=[Length()]))


def resumed_stream(policy: str, folder: Path) -> str:
    """Sixteen streamed rows, two a step, so that step 10 is in the second pass."""
    asked: list[list[str]] = []
    for checkpoint in (None, str(folder / "out" / "checkpoint-10")):
        scored = Scored(lambda sample: len(sample.completion) % 5 / 5)
        prompts = [[{"role": "user", "content": f"What is {row}?"}] for row in range(16)]
        trainer = trainer_of(
            policy,
            folder,
            Dataset.from_dict({"prompt": prompts}).to_iterable_dataset(),
            rewards=[scored],
            max_steps=13,
            save_strategy="steps",
            save_steps=10,
            max_completion_length=4,
        )
        trained(trainer, checkpoint)
        asked.append([sample.prompt for sample in scored.seen[-24::4]])
    pairs = zip(*asked, strict=True)
    same = sum(one == other for one, other in pairs)
    return f"{same} of {len(asked[0])} prompts after the checkpoint as in the uninterrupted run"


@reward()
def boom(sample: Sample) -> float:
    return len(sample.completions) / 100  # type: ignore[attr-defined]  # the mistake


def misspelt(policy: str, folder: Path) -> str:
    trainer = trainer_of(policy, folder, stock=True, rewards=[boom], **LOGS)
    steps = trained(trainer)
    return f"{steps}, rewards/boom/mean {trainer.state.log_history[0].get('rewards/boom/mean')}"


CASES = (
    Case(10, "Llama", clipping),
    Case(11, "Llama", overlong),
    Case(12, "Llama", entropy_quantile),
    Case(13, "Llama", half_a_group),
    Case(16, "Llama", weight_decay),
    Case(17, "Llama", watched_reward),
    Case(18, "Llama", freezing),
    Case(19, "Llama", merged_policy),
    Case(20, "Llama", other_reference),
    Case(21, "Llama", unhashable),
    Case(22, "Llama", resumed_stream),
    Case(23, "Llama", misspelt),
)
