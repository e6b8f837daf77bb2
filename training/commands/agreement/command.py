"""How far a metric or a judge agrees with people, or with the truth.

    spanreward agreement table docent-coarse coarse.jsonl --judge server:URL#qwen3-14b mode=published --baselines
    spanreward agreement spans labels.jsonl --judge vllm:MODEL
    spanreward agreement spans outputs/quickstart --models base sft --count 500
    spanreward agreement people ../shared/data --judge match [--sets hat_aloha ...] [mode=published ...]
    spanreward agreement people ../shared/data --metric harmonic [--judge transformers:smollm2 --images 8]
    spanreward agreement graphs ../shared/data [--rules]
    spanreward agreement answers ../shared/data --judge match [--no-rationale] [--sets evouna_nq ...]
    spanreward agreement filler ../shared/data
    spanreward agreement votes ../shared/data/wildvision_bench
    spanreward agreement judge ../shared/data/vl_rewardbench --judge match
    spanreward agreement scenes --judge transformers:outputs/quickstart/seed0/judge

Every subcommand prints tables and, with --json PATH, writes their numbers.
"""

import argparse
import sys
from pathlib import Path

from rich.console import Console

from training.commands.agreement import answers, filler, graphs, judging, people, scenes, spans, table, votes
from training.commands.json_file import write_json

COMMANDS = {
    "table": table,
    "spans": spans,
    "people": people,
    "graphs": graphs,
    "answers": answers,
    "filler": filler,
    "votes": votes,
    "judge": judging,
    "scenes": scenes,
}


def main() -> None:
    form = argparse.RawDescriptionHelpFormatter
    width = max(map(len, COMMANDS))
    listed = "\n".join(f"  {name:{width}}  {module.HELP}" for name, module in COMMANDS.items())
    parser = argparse.ArgumentParser(description=__doc__, epilog=f"commands:\n{listed}", formatter_class=form)
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help="one of those below")
    name = parser.parse_args(sys.argv[1:2]).command
    module = COMMANDS[name]
    command = argparse.ArgumentParser(
        prog=f"{parser.prog} {name}", description=module.DESCRIPTION, formatter_class=form
    )
    module.add_arguments(command)
    command.add_argument("--json", type=Path, metavar="PATH", help="write the printed numbers there too")
    arguments = command.parse_intermixed_args(sys.argv[2:])
    try:
        numbers, tables = module.measure(arguments)
        write_json(arguments.json, numbers)
    except (ValueError, OSError, ImportError, RuntimeError) as error:  # the last one: a judge without an answer
        sys.exit(f"{parser.prog}: {error}")
    for shown in tables:
        Console(width=max(Console().width, 140)).print(shown)


if __name__ == "__main__":
    main()
