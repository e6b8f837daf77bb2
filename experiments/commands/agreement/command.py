"""How far a metric or a judge agrees with the sets of people's judgments beside this repository, or
with Scenes' truth.

    python -m experiments agreement people ../shared/data --judge match [--sets hat_aloha ...] [mode=published ...]
    python -m experiments agreement graphs ../shared/data [--rules]
    python -m experiments agreement answers ../shared/data --judge match [--no-rationale] [--sets evouna_nq ...]
    python -m experiments agreement lists ../shared/data
    python -m experiments agreement table sugarcrepe ../shared/data/sugarcrepe/sugarcrepe.jsonl --count 50
    python -m experiments agreement filler ../shared/data
    python -m experiments agreement judge ../shared/data/vl_rewardbench
    python -m experiments agreement scenes --judge transformers:outputs/quickstart/seed0/judge
    python -m experiments agreement spans outputs/quickstart --models base sft --count 500
    python -m experiments agreement votes ../shared/data/wildvision_bench
    python -m experiments agreement marked hat ../shared/data outputs/hat.jsonl      # or long
    python -m experiments agreement words outputs/hat.jsonl --judge match [--unseen FOLDER] [--joined]

Every subcommand prints tables and, with --json PATH, writes their numbers.
"""

from experiments.commands.agreement import (
    answers,
    filler,
    graphs,
    judging,
    lists,
    marked,
    people,
    scenes,
    spans,
    table,
    votes,
    words,
)
from spanreward.training.commands.main import run_subcommand


def main() -> None:
    modules = {
        "people": people,
        "graphs": graphs,
        "answers": answers,
        "lists": lists,
        "table": table,
        "filler": filler,
        "judge": judging,
        "scenes": scenes,
        "spans": spans,
        "votes": votes,
        "marked": marked,
        "words": words,
    }
    run_subcommand("python -m experiments agreement", __doc__, modules)


if __name__ == "__main__":
    main()
