"""Sends a step's page of spans to the trackers in report_to that show HTML: W&B and trackio.

send(args, step, page)                                 # on rank 0, after SpanTableCallback wrote the page
"""

from transformers import TrainingArguments


def send(args: TrainingArguments, step: int, page: str) -> None:
    """Logs the page as `spans` to the current W&B run, if there is one, and to trackio."""
    trackers = args.report_to or ()
    if "wandb" in trackers:
        import wandb

        if wandb.run is not None:
            wandb.log({"spans": wandb.Html(page, inject=False), "train/global_step": step})
    if "trackio" in trackers:
        import trackio

        trackio.log({"spans": trackio.Html(page, inject=False), "train/global_step": step})
