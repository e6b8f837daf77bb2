"""Puts a recipe's parts together and trains.

    run(load_recipe("recipes/quickstart/scenes-dapo.yaml"))

writes the trained policy, its processor and the files that training/run_folder.py lists to the
recipe's output folder.
"""

import logging
import os
import sys
import time
from collections.abc import Callable, Collection, Sequence
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import Any

from accelerate import Accelerator, PartialState
from peft import LoraConfig
from transformers import ProcessorMixin, ProgressCallback, Trainer, TrainerCallback
from transformers.integrations import is_deepspeed_zero3_enabled

from spanreward.rewards.files.custom_file import is_custom
from spanreward.rewards.judges import closing
from spanreward.rewards.judges.local.vllm_engine import END
from spanreward.rewards.reward.reward import Reward, judges_of
from spanreward.training.adapters import check_adapter, lora_config, saved_adapter
from spanreward.training.before_loading import check_before_loading
from spanreward.training.callbacks.json_lines import MetricsFile, ProgressBar, VerdictFile
from spanreward.training.callbacks.reward_health import RewardHealthCallback
from spanreward.training.callbacks.span_table import SpanTableCallback
from spanreward.training.callbacks.stop_on_signal import StopOnSignal
from spanreward.training.callbacks.win_rate import WinRateCallback
from spanreward.training.data.load import load_data
from spanreward.training.data.row_cautions import row_cautions
from spanreward.training.evaluation.answers.prompts import prompts_of_recipe
from spanreward.training.full_disk import named_full_disk
from spanreward.training.garbage import without_the_loaded
from spanreward.training.grpo.preflight import check_pictures, pad_left
from spanreward.training.grpo.trainer import SpanGRPOTrainer
from spanreward.training.policy import Processor, base_of, load_policy
from spanreward.training.ranks.lost import named_lost_rank
from spanreward.training.ranks.rows import check_same_rows
from spanreward.training.ranks.timeout import wait_at_most
from spanreward.training.recipe import (
    JsonlPart,
    MetricPart,
    Recipe,
    RecipeError,
    trainer_arguments,
    trainer_config,
)
from spanreward.training.recipe_rewards import (
    build_rewards,
    columns_asked_by,
    judged_parts,
    one_line,
    readers,
    refusals,
    unseeing_rewards,
)
from spanreward.training.run_folder import begin, check_new, checkpoint_to_resume
from spanreward.training.sft import SupervisedTrainer, check_lengths, whole_rows
from spanreward.training.turn_end import tokenizer_of

log = logging.getLogger(__name__)

TRACKERS = ("wandb", "trackio")
PROCESSES = int(os.environ.get("WORLD_SIZE", "1"))


class Unhealthy(RuntimeError):
    """A problem of the reward, which the message names, ended the run.

    Its policy is saved as it was then.
    """


def run(
    recipe: Recipe,
    resume: bool = False,
    stop: StopOnSignal | None = None,
    stop_on: Collection[str] = (),
    build: Callable[[Recipe, Sequence[Reward]], Trainer] | None = None,
) -> Path:
    """Trains as the recipe says, and returns its output folder.

    The judges start before the policy is loaded, and are closed however the run ends.

    Args:
        recipe: of the run.
        resume: go on from the last checkpoint in the folder.
        stop: a run that it ends keeps its checkpoint and saves no policy.
        stop_on: names in PROBLEMS that end the run; it saves its policy and raises Unhealthy.
        build: makes the trainer in place of `build_trainer`.

    Raises:
        RecipeError: where the recipe cannot be run, mostly before any work.
        Unhealthy: where a problem ended the run.
    """
    output = Path(recipe.output)
    checkpoint = None
    if resume:
        checkpoint = checkpoint_to_resume(recipe, PROCESSES)
    else:
        files = [part.path for part in recipe.data.parts if isinstance(part, JsonlPart)]
        check_new(recipe, [recipe.policy.model, *files])
    # all that can be known before a judge starts, which takes minutes
    check_before_loading(recipe, PROCESSES)
    parts = judged_parts(recipe)
    rewards = build_rewards(parts)
    readers(rewards)  # before anything is loaded
    check_judges_see(recipe, rewards)
    # the win rate's reward, if there is one, is the last, and the trainer does not train on it
    trained_on = rewards[: len(parts) - len(recipe.watching)]
    with closing(judges_of(rewards)), named_lost_rank():
        start_judges(parts, rewards)
        make_trainer = build or build_trainer
        trainer = make_trainer(recipe, trained_on)
        check_launch(trainer.accelerator)
        if stop is not None:
            trainer.add_callback(stop)
        with named_full_disk(output):
            problem = train(trainer, recipe, checkpoint, stop_on, rewards)
            if stop is None or stop.stopped_at is None:  # else its checkpoint is enough
                trainer.save_model(str(output))
        # A rank that leaves its process group, and vLLM's in it, to the interpreter's end may
        # abort, with all written.
        trainer.accelerator.wait_for_everyone()
        if isinstance(trainer, SpanGRPOTrainer) and trainer.colocated:
            attrgetter(END)(trainer.vllm_generation.llm)()
        trainer.accelerator.end_training()
    if problem:
        raise Unhealthy(problem)
    return output


def check_judges_see(recipe: Recipe, rewards: Sequence[Reward]) -> None:
    """Raises RecipeError, before a judge starts, for rows with pictures that a judge would be shown
    and cannot see. No picture is opened, and data are read for such a judge alone.
    """
    for reward, data in unseeing_rewards(recipe, rewards):
        with refusals():
            extra_columns = columns_asked_by([reward])
            rows = load_data(data, look=False, extra_columns=extra_columns)
            check_pictures([reward], "the data", rows)


def train(
    trainer: Any,
    recipe: Recipe,
    checkpoint: Path | None,
    stop_on: Collection[str],
    rewards: Sequence[Reward],
) -> str:
    """Trains, from a checkpoint if there is one, and writes the run's files. Returns the problem
    that ended it, or "".

    rewards: all that the recipe names, the win rate's last.
    """
    output = Path(recipe.output)
    stopping: list[Any] = []  # what may end the run, and then says why in `stopped`
    trainer.remove_callback(ProgressCallback)  # ProgressBar takes its place
    callbacks: list[TrainerCallback] = [ProgressBar(), MetricsFile(output / "metrics.jsonl")]
    if isinstance(trainer, SpanGRPOTrainer):
        # where judges fail the trainer stops itself
        health = RewardHealthCallback(trainer.recorders, stop_on=stop_on)
        callbacks += [health, SpanTableCallback(trainer.recorders, recipe.spans_every)]
        stopping += [health, trainer.learning_monitor]
        if recipe.verdicts:
            callbacks.append(VerdictFile(trainer.recorders, output))
    for part in recipe.watching:  # at most one
        extra_columns = columns_asked_by(rewards[-1:])
        prompts = prompts_of_recipe(recipe, recipe, part.prompts, extra_columns=extra_columns)
        for warning in prompts.warnings:
            log.warning("win_rate: %s", warning.replace("--set ", ""))
        settings = part.model_dump(exclude={"metric", "judge", "options"})
        with refusals():
            win_rate = WinRateCallback(trainer, rewards[-1], prompts.rows, **settings)
        callbacks.append(win_rate)
        stopping.append(win_rate)
    for callback in callbacks:
        trainer.add_callback(callback)
    if trainer.is_world_process_zero():
        begin(recipe, PROCESSES, checkpoint, readers(rewards))
        tell_where_numbers_go(recipe)
    trainer.accelerator.wait_for_everyone()  # for the folder that rank 0 has made
    with without_the_loaded():
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    for callback in stopping:
        if callback.stopped:
            problem: str = callback.stopped
            return problem
    return ""


def tell_where_numbers_go(recipe: Recipe) -> None:
    """Says that no tracker gets the log, where one is installed and the recipe names none."""
    installed = [name for name in TRACKERS if find_spec(name) is not None]
    if "report_to" not in recipe.trainer and installed:
        print(
            f"the log goes to {recipe.output}/metrics.jsonl alone: trainer.report_to="
            f"{installed[0]} sends it there too, and trainer.report_to=none says nothing.",
            file=sys.stderr,
            flush=True,
        )


def build_trainer(recipe: Recipe, rewards: Sequence[Reward]) -> Trainer:
    """Returns TRL's SFTTrainer or a SpanGRPOTrainer with the rewards.

    Raises RecipeError for what they refuse.
    """
    learned = recipe.algorithm == "sft"  # the rows' answers; RL reads their prompts alone
    arguments = trainer_arguments(recipe)
    if learned:
        arguments = {**whole_rows(recipe.trainer), **arguments}  # the recipe's own count
    with refusals():
        args = trainer_config(recipe.algorithm)(**arguments)
    # before the first wait for another rank
    wait_at_most(args.ddp_timeout)
    # No rank loads its policy before all judges have started: a sharded one needs the other ranks'
    # devices.
    PartialState().wait_for_everyone()
    if is_custom(recipe.policy.model) and is_deepspeed_zero3_enabled():
        raise RecipeError(
            f"the policy {recipe.policy.model} cannot be made under ZeRO-3: run its recipe with "
            "accelerate_configs/cpu.yaml, and give policy.model the folder."
        )
    model, processor, peft_config = trained_policy(recipe)
    if not learned:
        pad_left(processor)
    extra_columns = columns_asked_by(rewards)
    dataset = load_data(recipe.data, learned, extra_columns=extra_columns)
    if isinstance(processor, ProcessorMixin) and "image" not in dataset.column_names:
        log.warning(
            "no row of %s has a picture: %s learns from text alone.",
            recipe.data.source,
            recipe.policy.model,
        )
    held_out = recipe.validation_data
    validation = None
    if held_out and args.eval_strategy != "no":
        validation = load_data(held_out, learned, extra_columns=extra_columns)
    shared: dict[str, Any] = {
        "model": model,
        "args": args,
        "processing_class": processor,
        "train_dataset": dataset,
        "eval_dataset": validation,
        "peft_config": peft_config,
    }
    with refusals():
        if not learned:
            if PartialState().is_main_process:
                tokenizer = tokenizer_of(processor)
                limit = args.max_completion_length
                for caution in row_cautions(dataset, validation, tokenizer, limit):
                    log.warning("%s", caution)
            return SpanGRPOTrainer(reward_funcs=[*rewards], **shared)
        # SpanGRPOTrainer compares the ranks' rows itself
        check_same_rows("train_dataset", dataset)
        check_same_rows("eval_dataset", validation)
        check_lengths(processor, dataset, args, "the data")
        if validation is not None:
            check_lengths(processor, validation, args, "the validation data")
        return SupervisedTrainer(**shared)


def check_launch(accelerator: Accelerator) -> None:
    """Raises RecipeError where accelerate silently trains in another way than its configuration
    says.
    """
    for library in ("DEEPSPEED", "FSDP"):  # as accelerate names them in the environment
        is_requested = os.environ.get(f"ACCELERATE_USE_{library}") == "true"
        if is_requested and accelerator.distributed_type.value != library:
            raise RecipeError(
                f"the accelerate configuration asks for {library}, and accelerate does not take it "
                f"on {accelerator.device.type} (it would train with "
                f"{accelerator.distributed_type.value}): leave out trainer.use_cpu where there are "
                "GPUs, or launch with accelerate_configs/ddp.yaml or cpu.yaml."
            )


def start_judges(parts: Sequence[MetricPart], rewards: Sequence[Reward]) -> None:
    """Starts the rewards' judges, and prints when each rank's local judges start and are ready.

    Large judges take minutes. Those of one GPU start one after another, those of different GPUs at
    once.

    Raises RecipeError for a judge that cannot start.

    parts: of the recipe, one for each reward.
    """
    judges = {}  # each once, with the last part that asks it
    for part, reward in zip(parts, rewards, strict=True):
        for judge in reward.judges:
            judges[id(judge)] = (part, judge)
    for part, judge in judges.values():
        what = f"the judge {part.judge.name} of {part.metric}"
        rank = f"rank {os.environ.get('RANK', '0')}"
        # "vllm:MODEL" and the like load a model here; "match" needs no time
        loads_model = any(":" in answering.name for answering in part.judge.answering)
        local = loads_model and not judge.remote
        if local:
            print(f"{rank}: {what} is starting", file=sys.stderr, flush=True)
        began = time.monotonic()
        try:
            judge.start()
        except Exception as error:  # a library's, of any kind
            sentence = f"{what} cannot start: {type(error).__name__}: {error}"
            raise RecipeError(one_line(sentence)) from error
        if local:
            seconds = time.monotonic() - began
            print(f"{rank}: {what} is ready after {seconds:.0f} s", file=sys.stderr, flush=True)


def trained_policy(recipe: Recipe) -> tuple[Any, Processor, LoraConfig | None]:
    """Returns the policy, its processor, and the adapter that is to be put over it, if any."""
    part = recipe.policy
    if base_of(part.model) != part.model:
        check_adapter(part)
        # it is trained on as it is, with no other adapter over it
        adapter, processor = saved_adapter(part.model, recipe.seed, part.dtype)
        return adapter, processor, None
    model, processor = load_policy(part.model, recipe.seed, part.dtype)
    config = None if part.lora is None else lora_config(part.lora, model)
    return model, processor, config
