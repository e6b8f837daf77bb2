"""What about a training's rows makes its figures worth little. It is said before the first step.

    for caution in row_cautions(dataset, validation, tokenizer, max_completion_length=64):
        log.warning("%s", caution)

Nothing here ends a run: a reader may have meant it.
"""

from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import Any

from datasets import Dataset

from spanreward.training.data.row_content import row_content

CONTENT_COLUMNS = ("question", "reference", "answers")  # of `row_content`
MAX_MEASURED_ROWS = 256  # rows whose references are counted in tokens


def row_cautions(
    dataset: Dataset, validation: Dataset | None, tokenizer: Any, max_completion_length: int | None
) -> Iterator[str]:
    """Yields a sentence for each caution. dataset, validation: the rows of `load_data` that are
    trained and evaluated on, None without the latter. tokenizer: of the policy.
    max_completion_length: in tokens, None for no limit.
    """
    # half of the references do not fit into a completion
    if max_completion_length is not None:
        length = reference_length(dataset, tokenizer)
        if length > max_completion_length:
            yield (
                f"a completion may have {max_completion_length} tokens "
                f"(trainer.max_completion_length), and half of the references have more than "
                f"{length:.0f}: much of what they say cannot be said, which costs recall. Set it "
                f"above {length:.0f}."
            )
    if validation is not None:
        shared = shared_rows(dataset, validation)
        if shared:
            yield (
                f"{shared} of the {len(validation)} validation rows are training rows too, so they "
                "do not tell what the policy does on others: give validation other rows."
            )


def reference_length(dataset: Dataset, tokenizer: Any) -> float:
    """Returns the median length of a row's longest reference in tokens, over the first rows; 0
    without references.
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
    """Returns how many rows of `validation` have the content of a row of `dataset`. Rows without
    references and answers are told apart by their pictures, which are not opened, and do not count.
    """
    trained = set(_contents(dataset))
    shared = 0
    for content in _contents(validation):
        if content in trained:
            shared += 1
    return shared


def _contents(dataset: Dataset) -> Iterator[tuple[Any, ...]]:
    """Yields the content of each row that has references or answers."""
    # without the pictures, which would be decoded
    columns = [name for name in CONTENT_COLUMNS if name in dataset.column_names]
    for row in dataset.select_columns(columns):
        question, references, answers = row_content(row)
        if references or answers:
            yield question, references, answers


def _texts_of(references: str | Sequence[str] | None) -> Iterable[str]:
    """Returns a row's references, which may be one text, several or none."""
    if references is None:
        return []
    if isinstance(references, str):
        return [references]
    return [text for text in references if text is not None]
