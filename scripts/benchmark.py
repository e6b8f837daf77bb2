"""What judging and spans cost (questions and tokens, which are exact, and seconds, which are this machine's), and what
rewards pay for what they should not.

python scripts/benchmark.py posh --judge vllm:smollm2 --pairs pairs.jsonl --json posh.json
python scripts/benchmark.py judge --pairs pairs.jsonl --json judge.json
python scripts/benchmark.py memory --json memory.json
python scripts/benchmark.py spans --json spans.json
python scripts/benchmark.py overlap --json overlap.json
python scripts/benchmark.py sampling --json sampling.json
python scripts/benchmark.py hacking --json hacking.json
python scripts/benchmark.py search --policies outputs/quickstart/seed0/dapo --json search.json
python scripts/benchmark.py parsing --pairs pairs.jsonl --json parsing.json
"""

import argparse
import json
import sys
from pathlib import Path

import benchmark_hacking
import benchmark_judge
import benchmark_memory
import benchmark_overlap
import benchmark_parsing
import benchmark_posh
import benchmark_sampling
import benchmark_search
import benchmark_spans


def main() -> None:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    commands = parser.add_subparsers(required=True)
    for name, help, module in (
        ("posh", "what PoSh asks", benchmark_posh),
        ("judge", "how fast each judge answers the same questions", benchmark_judge),
        ("memory", "what fits on which GPUs, by arithmetic", benchmark_memory),
        ("spans", "what spans add to a training step", benchmark_spans),
        ("overlap", "what judging beside log-probabilities saves", benchmark_overlap),
        ("sampling", "what dynamic sampling saves and costs", benchmark_sampling),
        ("hacking", "what rewards pay for texts that ask for reward", benchmark_hacking),
        ("parsing", "what the longest completions cost to parse", benchmark_parsing),
        ("search", "how far a search for reward leaves the truth", benchmark_search),
    ):
        command = commands.add_parser(name, help=help, description=module.DESCRIPTION, formatter_class=form)
        module.add_arguments(command)
        command.add_argument("--json", type=Path, metavar="PATH", help="write the printed numbers there too")
        command.set_defaults(measure=module.measure)
    arguments = parser.parse_args()
    try:
        numbers = arguments.measure(arguments)
    except (ValueError, OSError, ImportError) as error:
        sys.exit(f"benchmark.py: {error}")
    text = json.dumps(numbers, indent=2)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
