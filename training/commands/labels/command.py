"""What people's labels say of a metric: are its spans right, does it rank texts as people do.

    spanreward labels spans labels.jsonl --judge vllm:MODEL
    spanreward labels table docent-coarse coarse.jsonl --judge server:URL#qwen3-14b mode=published

Every subcommand prints tables and, with --json PATH, writes their numbers.
"""

from spanreward.training.commands.labels import spans, table
from spanreward.training.commands.subcommands import run


def main() -> None:
    run("spanreward labels", __doc__, {"spans": spans, "table": table})
