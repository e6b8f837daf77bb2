"""Sends the rows of a step's span table to the trackers in report_to: W&B, trackio and TensorBoard.

    send(args, step, rows, page)                           # on rank 0, after SpanTableCallback wrote the page

W&B gets a table `spans` with the coloured words as HTML, trackio the page itself. TensorBoard shows text alone, so its
run `spans` gets a table in which the words that the judge blames are bold. Completions are escaped everywhere.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image
from transformers import TrainingArguments

from spanreward.training.evaluation.page.coloured_text import legible, received
from spanreward.training.evaluation.page.render import render

if TYPE_CHECKING:
    from spanreward.training.callbacks.span_table import ShownRow


def send(args: TrainingArguments, step: int, rows: "Sequence[ShownRow]", page: str) -> None:
    trackers = args.report_to or ()
    if "wandb" in trackers:
        to_wandb(step, rows)
    if "trackio" in trackers:
        import trackio

        trackio.log({"spans": trackio.Html(page, inject=False), "train/global_step": step})
    if "tensorboard" in trackers:
        from torch.utils.tensorboard import SummaryWriter

        folder = os.getenv("TENSORBOARD_LOGGING_DIR") or f"{args.output_dir}/runs"
        with SummaryWriter(str(Path(folder).expanduser() / "spans")) as writer:
            writer.add_text("spans", render("spans_text.html.jinja", rows=rows), step)


def to_wandb(step: int, rows: "Sequence[ShownRow]") -> None:
    """Log the rows as the table `spans` of the current W&B run, if there is one."""
    import wandb

    if wandb.run is None:
        return
    cells = [dict(table_cells(row)) for row in rows]
    columns = list(dict.fromkeys(column for of_row in cells for column in of_row))
    table = wandb.Table(columns=["step", *columns])
    for of_row in cells:
        table.add_data(step, *(wandb_value(column, of_row.get(column)) for column in columns))
    wandb.log({"spans": table, "train/global_step": step})


def table_cells(row: "ShownRow") -> Iterator[tuple[str, Any]]:
    """Yields a row's (column, value). Values in the columns "... words" and "... missed" are HTML."""
    text = row.sample.completion
    yield "kind", row.kind
    yield "reward", row.reward
    yield "above group", row.lead
    yield "advantage", row.advantage
    yield "picture", row.image
    yield "prompt", legible(row.sample.prompt)
    yield "completion", legible(text)
    if row.tokens:
        yield "advantages of words", render("span_cell.html.jinja", text=text, spans=received(row.tokens))
    for name, verdict in row.verdicts.items():
        yield f"{name} words", render("span_cell.html.jinja", text=text, spans=verdict.spans)
        if row.sample.references:
            reference = row.sample.references[verdict.reference]
            yield f"{name} missed", render("span_cell.html.jinja", text=reference, spans=verdict.left_out)
        yield f"{name} status", verdict.status.value
        for part, value in verdict.parts.items():
            yield f"{name} {part}", value


def wandb_value(column: str, value: Any) -> Any:
    import wandb

    if column.endswith((" words", " missed")) and value is not None:
        return wandb.Html(value, inject=False)
    return wandb.Image(value) if isinstance(value, Image.Image) else value
