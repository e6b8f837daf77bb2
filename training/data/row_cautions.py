"""Warns before the first step of a training if its rows make the training's numbers worthless, such
as validation rows that are also training rows.

    for caution in row_cautions(dataset, validation, tokenizer, max_completion_length=64):
        log.warning("%s", caution)

A caution does not end the run, because the user may have chosen these rows on purpose.
"""

from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import Any

from datasets import Dataset

from spanreward.training.data.row_content import row_content

CONTENT_COLUMNS = ("question", "reference", "answers")  # the columns that `row_content` reads
MAX_MEASURED_ROWS = 256  # the most rows whose references are measured in tokens


def row_cautions(
    dataset: Dataset, validation: Dataset | None, tokenizer: Any, max_completion_length: int | None
) -> Iterator[str]:
    """Yields a sentence for each caution.

    dataset: the training rows, from `load_data`. validation: the validation rows, or None.
    tokenizer: the policy's tokenizer. max_completion_length: in tokens; None for no limit.
    """
    # do half of the references not fit into a completion?
    if max_completion_length is not None:
        length = reference_length(dataset, tokenizer)
        if length > max_completion_length:
            yield (
                f"a completion may have {max_completion_length} tokens "
                f"(trainer.max_completion_length), and half of the references have more than "
                f"{length:.0f}: much of what they say cannot be said, which costs recall. Set it "
                f"above {length:.0f}."
            )
    # are validation rows also training rows?
    if validation is not None:
        shared = shared_rows(dataset, validation)
        if shared:
            yield (
                f"{shared} of the {len(validation)} validation rows are training rows too, so they "
                "do not tell what the policy does on others: give validation other rows."
            )


def reference_length(dataset: Dataset, tokenizer: Any) -> float:
    """Returns the median, over the first MAX_MEASURED_ROWS rows, of the length in tokens of a row's
    longest reference; 0 if no row has a reference.
    """
    if "reference" not in dataset.column_names:
        return 0.0
    lengths: list[int] = []
    measured_rows = min(len(dataset), MAX_MEASURED_ROWS)
    first_rows = dataset.select(range(measured_rows))
    for references in first_rows["reference"]:
        texts = [text for text in _texts_of(references) if text.strip()]
        if texts:
            ids = tokenizer(texts, add_special_tokens=False)["input_ids"]
            lengths.append(max(map(len, ids)))
    return float(median(lengths)) if lengths else 0.0


def shared_rows(dataset: Dataset, validation: Dataset) -> int:
    """Returns the number of rows of `validation` with the same question, references and answers as
    a row of `dataset`.

    Rows without references and answers do not count: only their pictures could show whether two
    such rows are equal, and no picture is opened here.
    """
    trained = set(_contents_of_rows(dataset))
    shared = 0
    for content in _contents_of_rows(validation):
        if content in trained:
            shared += 1
    return shared


def _contents_of_rows(dataset: Dataset) -> Iterator[tuple[Any, ...]]:
    """Yields (question, references, answers) of each row that has references or answers."""
    # select columns without the pictures, which would otherwise be decoded
    columns = [name for name in CONTENT_COLUMNS if name in dataset.column_names]
    for row in dataset.select_columns(columns):
        question, references, answers = row_content(row)
        if references or answers:
            yield question, references, answers


def _texts_of(references: str | Sequence[str] | None) -> Iterable[str]:
    """Returns the references of a row as texts. references: a text, a list of texts, or None."""
    if references is None:
        return []
    if isinstance(references, str):
        return [references]
    return [text for text in references if text is not None]
