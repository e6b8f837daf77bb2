"""Runs a recipe: starts its judges, loads its policy and data, and trains.

    run(load_recipe("recipes/quickstart/scenes-dapo.yaml"))

The output folder of the recipe gets the trained policy, its processor and the files that
training/run_folder.py lists.
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
from datasets import Dataset
from peft import LoraConfig
from transformers import ProcessorMixin, ProgressCallback, Trainer, TrainerCallback
from transformers.integrations import is_deepspeed_zero3_enabled
from trl import SFTConfig

from spanreward.rewards.files.custom_file import is_custom
from spanreward.rewards.judges import Judge, closing
from spanreward.rewards.judges.local.vllm_engine import ENGINE_SHUTDOWN
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
from spanreward.training.garbage import gc_skips_loaded_objects
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
    WinRatePart,
    trainer_arguments,
    trainer_config,
)
from spanreward.training.recipe_rewards import (
    build_rewards,
    columns_asked_by,
    judged_parts,
    one_line,
    parsers_of_rewards,
    refusing_in_one_line,
    unseeing_rewards,
)
from spanreward.training.run_folder import begin_run, check_new, checkpoint_to_resume
from spanreward.training.sft import SupervisedTrainer, check_lengths, max_length_default
from spanreward.training.turn_end import tokenizer_of

log = logging.getLogger(__name__)

TRACKERS = ("wandb", "trackio")
PROCESS_COUNT = int(os.environ.get("WORLD_SIZE", "1"))


class Unhealthy(RuntimeError):
    """A problem of the reward, which the message names, ended the run.

    The output folder holds the policy of the run's last step.
    """


def run(
    recipe: Recipe,
    resume: bool = False,
    stop: StopOnSignal | None = None,
    stop_on: Collection[str] = (),
    build: Callable[[Recipe, Sequence[Reward]], Trainer] | None = None,
) -> Path:
    """Trains the policy of a recipe, and returns the recipe's output folder.

    The judges start before the policy is loaded. The judges are closed even if the run fails.

    Args:
        recipe: the recipe to run.
        resume: whether to go on from the last checkpoint in the output folder.
        stop: a callback that ends the run after a signal. A run that `stop` ends has written a
            checkpoint, so no policy is saved.
        stop_on: problems, by their names in PROBLEMS. A run with such a problem ends, saves its
            policy, and raises Unhealthy.
        build: a function that makes the trainer in place of `build_trainer`.

    Raises:
        RecipeError: if the recipe cannot be run; mostly before anything is loaded.
        Unhealthy: if a problem ended the run.
    """
    output = Path(recipe.output)
    checkpoint = None
    if resume:
        checkpoint = checkpoint_to_resume(recipe, PROCESS_COUNT)
    else:
        files = [part.path for part in recipe.data.parts if isinstance(part, JsonlPart)]
        check_new(recipe, [recipe.policy.model, *files])
    # find every fault of the recipe that can be found without a judge, whose start takes minutes
    check_before_loading(recipe, PROCESS_COUNT)
    parts = judged_parts(recipe)
    rewards = build_rewards(parts)
    parsers_of_rewards(rewards)  # raises for a missing parser
    check_judges_see(recipe, rewards)
    trained_on = rewards
    if recipe.win_rate is not None:
        trained_on = rewards[:-1]  # the last reward, of the win rate, only watches the training
    with closing(judges_of(rewards)), named_lost_rank():
        start_judges(parts, rewards)
        make_trainer = build or build_trainer
        trainer = make_trainer(recipe, trained_on)
        check_launch(trainer.accelerator)
        if stop is not None:
            trainer.add_callback(stop)
        with named_full_disk(output):
            problem = train_and_write(trainer, recipe, checkpoint, stop_on, rewards)
            if stop is None or stop.stopped_at is None:  # a run that `stop` ended has a checkpoint
                trainer.save_model(str(output))
        end_processes(trainer)
    if problem:  # raised only now, when the policy is saved
        raise Unhealthy(problem)
    return output


def end_processes(trainer: Any) -> None:
    """Closes TRL's vLLM engine, if this process has one, and the process group.

    If the end of the interpreter closes them, a rank may abort, although all files are written.
    """
    trainer.accelerator.wait_for_everyone()
    if isinstance(trainer, SpanGRPOTrainer) and trainer.colocated:
        attrgetter(ENGINE_SHUTDOWN)(trainer.vllm_generation.llm)()
    trainer.accelerator.end_training()


def check_judges_see(recipe: Recipe, rewards: Sequence[Reward]) -> None:
    """Raises RecipeError if a reward would show pictures of the data to a text-only judge.

    This is checked before a judge starts. No picture is opened. The data are read only if the
    recipe has a text-only judge with a reward that shows pictures.
    """
    for reward, data in unseeing_rewards(recipe, rewards):
        with refusing_in_one_line():
            extra_columns = columns_asked_by([reward])
            rows = load_data(data, look=False, extra_columns=extra_columns)
            check_pictures([reward], "the data", rows)


def train_and_write(
    trainer: Any,
    recipe: Recipe,
    checkpoint: Path | None,
    stop_on: Collection[str],
    rewards: Sequence[Reward],
) -> str:
    """Trains and writes the run's files. Returns the sentence of the problem that ended the run, or
    "" if no problem ended the run.

    checkpoint: the checkpoint to resume from, or None. stop_on: the names, out of PROBLEMS, of the
    problems that end the run. rewards: the rewards of `judged_parts`, in order.
    """
    trainer.remove_callback(ProgressCallback)  # ProgressBar takes its place
    callbacks, stopping = callbacks_of_run(trainer, recipe, stop_on, rewards)
    for callback in callbacks:
        trainer.add_callback(callback)
    if trainer.is_world_process_zero():
        begin_run(recipe, PROCESS_COUNT, checkpoint, parsers_of_rewards(rewards))
        tell_where_numbers_go(recipe)
    trainer.accelerator.wait_for_everyone()  # until rank 0 has made the output folder
    with gc_skips_loaded_objects():
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    for callback in stopping:
        if callback.stopped:
            problem: str = callback.stopped
            return problem
    return ""


def callbacks_of_run(
    trainer: Any,
    recipe: Recipe,
    stop_on: Collection[str],
    rewards: Sequence[Reward],
) -> tuple[list[TrainerCallback], list[Any]]:
    """Returns (callbacks, stopping): the callbacks to add to the trainer, and its callbacks that
    may end the run. The attribute `stopped` of the latter is a sentence with the reason, or "".

    stop_on, rewards: those of `train_and_write`. The reward of the recipe's `win_rate` is the last.
    """
    output = Path(recipe.output)
    callbacks: list[TrainerCallback] = [ProgressBar(), MetricsFile(output / "metrics.jsonl")]
    stopping: list[Any] = []
    if isinstance(trainer, SpanGRPOTrainer):
        # failing judges are not a case for these callbacks: the trainer itself stops the run
        health = RewardHealthCallback(trainer.recorders, stop_on=stop_on)
        callbacks += [health, SpanTableCallback(trainer.recorders, recipe.spans_every)]
        stopping += [health, trainer.learning_monitor]
        if recipe.verdicts:
            callbacks.append(VerdictFile(trainer.recorders, output))
    if recipe.win_rate is not None:
        # `judged_parts` puts the win rate last
        win_rate = win_rate_callback(trainer, recipe, recipe.win_rate, reward=rewards[-1])
        callbacks.append(win_rate)
        stopping.append(win_rate)
    return callbacks, stopping


def win_rate_callback(
    trainer: Any, recipe: Recipe, part: WinRatePart, reward: Reward
) -> WinRateCallback:
    """Returns the callback for a recipe's `win_rate`, on the prompts of the recipe's held-out rows.

    part: the recipe's block. reward: the reward of this block. Raises RecipeError for rows or a
    reward that cannot be used.
    """
    prompts = prompts_of_recipe(
        recipe,
        as_written=recipe,  # a training has no second recipe; `spanreward compare` may have one
        count=part.prompts,
        extra_columns=columns_asked_by([reward]),
    )
    for warning in prompts.warnings:
        # `spanreward compare` takes changes as --set KEY=VALUE, and `train` as KEY=VALUE
        log.warning("win_rate: %s", warning.replace("--set ", ""))
    settings = part.model_dump(exclude={"metric", "judge", "options"})
    with refusing_in_one_line():
        return WinRateCallback(trainer, reward, prompts.rows, **settings)


def tell_where_numbers_go(recipe: Recipe) -> None:
    """Prints a hint if a tracker such as wandb is installed and the recipe has no
    `trainer.report_to`, so that the log is written only to metrics.jsonl.
    """
    installed = [name for name in TRACKERS if find_spec(name) is not None]
    if "report_to" not in recipe.trainer and installed:
        print(
            f"the log goes to {recipe.output}/metrics.jsonl alone: trainer.report_to="
            f"{installed[0]} sends it there too, and trainer.report_to=none says nothing.",
            file=sys.stderr,
            flush=True,
        )


def build_trainer(recipe: Recipe, rewards: Sequence[Reward]) -> Trainer:
    """Returns a SupervisedTrainer for an SFT recipe, and otherwise a SpanGRPOTrainer with the
    rewards.

    Raises RecipeError for settings or data that the trainer refuses.
    """
    is_sft = recipe.algorithm == "sft"
    args = trainer_settings(recipe)
    # set the time limit before this rank first waits for another rank
    wait_at_most(args.ddp_timeout)
    # No rank loads its policy before the judges of all ranks have started: to load a sharded policy
    # (ZeRO-3, FSDP), a rank needs the devices of the other ranks.
    PartialState().wait_for_everyone()
    if is_custom(recipe.policy.model) and is_deepspeed_zero3_enabled():
        raise RecipeError(
            f"the policy {recipe.policy.model} cannot be made under ZeRO-3: first run a recipe "
            "that makes it with accelerate_configs/cpu.yaml, and then set policy.model to the "
            "output folder of that run."
        )
    model, processor, peft_config = trained_policy(recipe)
    if not is_sft:
        pad_left(processor)
    dataset, validation = rows_of_recipe(recipe, rewards, evaluates=args.eval_strategy != "no")
    if isinstance(processor, ProcessorMixin) and "image" not in dataset.column_names:
        log.warning(
            "no row of %s has a picture: %s learns from text alone.",
            recipe.data.source,
            recipe.policy.model,
        )
    shared: dict[str, Any] = {
        "model": model,
        "args": args,
        "processing_class": processor,
        "train_dataset": dataset,
        "eval_dataset": validation,
        "peft_config": peft_config,
    }
    with refusing_in_one_line():
        if is_sft:
            check_sft_rows(processor, dataset, validation, args)
            return SupervisedTrainer(**shared)
        if PartialState().is_main_process:
            tokenizer = tokenizer_of(processor)
            limit = args.max_completion_length
            for caution in row_cautions(dataset, validation, tokenizer, limit):
                log.warning("%s", caution)
        return SpanGRPOTrainer(reward_funcs=[*rewards], **shared)


def trainer_settings(recipe: Recipe) -> Any:
    """Returns the trainer's settings, an SFTConfig or a SpanGRPOConfig. Raises RecipeError for
    settings that the class refuses.
    """
    arguments = trainer_arguments(recipe)
    if recipe.algorithm == "sft":
        # the recipe's settings come last, so that they replace the default
        arguments = {**max_length_default(recipe.trainer), **arguments}
    with refusing_in_one_line():
        return trainer_config(recipe.algorithm)(**arguments)


def rows_of_recipe(
    recipe: Recipe, rewards: Sequence[Reward], evaluates: bool
) -> tuple[Dataset, Dataset | None]:
    """Returns the rows to train on and the validation rows, with the columns that the rewards read.
    The validation rows are None if the recipe has none, or if the training does not evaluate.

    SFT gets the rows' answers too, RL only the prompts.
    """
    has_answers = recipe.algorithm == "sft"
    extra_columns = columns_asked_by(rewards)
    dataset = load_data(recipe.data, has_answers, extra_columns=extra_columns)
    held_out = recipe.validation_data
    validation = None
    if held_out and evaluates:
        validation = load_data(held_out, has_answers, extra_columns=extra_columns)
    return dataset, validation


def check_sft_rows(
    processor: Processor, dataset: Dataset, validation: Dataset | None, args: SFTConfig
) -> None:
    """Raises ValueError if the ranks have different rows, or if max_length leaves no token of an
    answer. Logs a warning for rows that max_length cuts. SpanGRPOTrainer checks its rows itself.
    """
    check_same_rows("train_dataset", dataset)
    check_same_rows("eval_dataset", validation)
    check_lengths(processor, dataset, args, "the data")
    if validation is not None:
        check_lengths(processor, validation, args, "the validation data")


def check_launch(accelerator: Accelerator) -> None:
    """Raises RecipeError if accelerate's configuration asks for DeepSpeed or FSDP, and accelerate
    has silently chosen another way to train, as on a CPU.
    """
    for library in ("DEEPSPEED", "FSDP"):  # accelerate's names in environment variables
        is_requested = os.environ.get(f"ACCELERATE_USE_{library}") == "true"
        if is_requested and accelerator.distributed_type.value != library:
            raise RecipeError(
                f"the accelerate configuration asks for {library}, and accelerate does not take it "
                f"on {accelerator.device.type} (it would train with "
                f"{accelerator.distributed_type.value}): leave out trainer.use_cpu where there are "
                "GPUs, or launch with accelerate_configs/ddp.yaml or cpu.yaml."
            )


def start_judges(parts: Sequence[MetricPart], rewards: Sequence[Reward]) -> None:
    """Starts the judges of the rewards. For a judge with a model on this machine, prints a line at
    the start and a line when the judge is ready, because a large model takes minutes to load.

    Judges on the same GPU start one after another, and judges on different GPUs at the same time.
    parts: the recipe's block of each reward. Raises RecipeError for a judge that cannot start.
    """
    # rewards may share a judge: each judge is listed once, with the block of its last reward
    judges = {}
    for part, reward in zip(parts, rewards, strict=True):
        for judge in reward.judges:
            judges[id(judge)] = (part, judge)
    for part, judge in judges.values():
        start_judge(part, judge)


def start_judge(part: MetricPart, judge: Judge) -> None:
    """Starts a judge. Prints a line before and a line after, if a model is loaded here.

    part: a block of the recipe with this judge. Raises RecipeError for a judge that cannot start.
    """
    what = f"the judge {part.judge.name} of {part.metric}"
    rank = f"rank {os.environ.get('RANK', '0')}"
    # the single judges behind this judge, such as the members of a jury; mostly the judge alone
    single_judges = part.judge.answering
    # "vllm:MODEL" has a model; "match" has no model, and starts at once
    has_model = any(":" in single_judge.name for single_judge in single_judges)
    loads_model = has_model and not judge.remote  # a remote judge has its model on a server
    if loads_model:
        print(f"{rank}: {what} is starting", file=sys.stderr, flush=True)
    began = time.monotonic()
    try:
        judge.start()
    except Exception as error:  # the judge's library may raise any error
        sentence = f"{what} cannot start: {type(error).__name__}: {error}"
        raise RecipeError(one_line(sentence)) from error
    if loads_model:
        seconds = time.monotonic() - began
        print(f"{rank}: {what} is ready after {seconds:.0f} s", file=sys.stderr, flush=True)


def trained_policy(recipe: Recipe) -> tuple[Any, Processor, LoraConfig | None]:
    """Returns (policy, processor, settings of a new adapter for the policy). The settings are None
    if the run trains the whole policy or a saved adapter.
    """
    part = recipe.policy
    if base_of(part.model) != part.model:
        check_adapter(part)
        # a saved adapter is trained further, without a second adapter over it
        adapter, processor = saved_adapter(part.model, recipe.seed, part.dtype)
        return adapter, processor, None
    model, processor = load_policy(part.model, recipe.seed, part.dtype)
    config = None if part.lora is None else lora_config(part.lora, model)
    return model, processor, config
