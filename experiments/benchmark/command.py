"""What judging and spans cost (questions and tokens, which are exact, and seconds, which are this
machine's), and what rewards pay for what they should not.

python -m experiments benchmark posh --judge vllm:smollm2 --pairs pairs.jsonl --json posh.json
python -m experiments benchmark step --pairs pairs.jsonl --json step.json
python -m experiments benchmark overlap --pairs pairs.jsonl --json overlap.json
python -m experiments benchmark ahead --metrics outputs/try/metrics.jsonl --json ahead.json
python -m experiments benchmark adapters --json adapters.json
python -m experiments benchmark judge --pairs pairs.jsonl --json judge.json
python -m experiments benchmark memory --json memory.json
python -m experiments benchmark spans --json spans.json
python -m experiments benchmark sampling --json sampling.json
python -m experiments benchmark rounds --json rounds.json
python -m experiments benchmark requests --pairs pairs.jsonl --json requests.json
python -m experiments benchmark verdicts --json verdicts.json
python -m experiments benchmark hacking --json hacking.json
python -m experiments benchmark search --policies outputs/quickstart/seed0/dapo --json search.json
python -m experiments benchmark gap --people ../shared/data --json gap.json
python -m experiments benchmark cascade --start outputs/quickstart/seed0/base --json cascade.json
python -m experiments benchmark groups --json groups.json
python -m experiments benchmark parsing --pairs pairs.jsonl --json parsing.json
python -m experiments benchmark scale recipes/qwen2.5-vl-7b/docent-posh-dapo.yaml --json scale.json
python -m experiments benchmark fuzz --cases 10000 --json fuzz.json
python -m experiments benchmark utility --people ../shared/data --json utility.json
python -m experiments benchmark soak --lines outputs/soak/metrics.jsonl train RECIPE
--set output=outputs/soak
python -m experiments benchmark rows --rows 1000 10000 100000 --json rows.json
python -m experiments benchmark kills RECIPE trainer.save_strategy=steps trainer.save_steps=5
--times 20
"""

import argparse
import json
import signal
import sys
from pathlib import Path

from experiments.benchmark import (
    adapters,
    ahead,
    cascade,
    fuzz,
    gap,
    groups,
    hacking,
    judge,
    kills,
    memory,
    overlap,
    parsing,
    posh,
    requests,
    rounds,
    rows,
    sampling,
    scale,
    search,
    soak,
    spans,
    step,
    utility,
    verdicts,
)
from spanreward.rewards.files.outputs import write_json


def main() -> None:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    commands = parser.add_subparsers(required=True)
    for name, help, module in (
        ("posh", "what PoSh asks", posh),
        ("overlap", "whether parsing and encoding hide behind a judge", overlap),
        ("step", "what our own work in a step of PoSh costs", step),
        ("adapters", "how far pushes to vLLM move an adapter's base", adapters),
        ("ahead", "what sampling ahead of training would save", ahead),
        ("judge", "how fast each judge answers the same questions", judge),
        ("memory", "what fits on which GPUs, by arithmetic", memory),
        ("spans", "what spans add to a training step", spans),
        ("sampling", "what dynamic sampling saves and costs", sampling),
        ("rounds", "how many rounds dynamic sampling takes", rounds),
        ("requests", "how many single-token requests an engine takes a second", requests),
        ("verdicts", "how often a comparison says what is not so", verdicts),
        ("hacking", "what rewards pay for texts that ask for reward", hacking),
        ("groups", "how well a group is ranked, and for how many questions", groups),
        ("parsing", "what the longest completions cost to parse", parsing),
        ("scale", "what a recipe costs as it grows", scale),
        ("gap", "how far a search for reward without truth gets", gap),
        ("cascade", "whether the audit sees a policy that farms the student", cascade),
        ("utility", "how many questions people's captions answer", utility),
        ("search", "how far a search for reward leaves the truth", search),
        ("fuzz", "whether any text breaks a reward", fuzz),
        ("rows", "what scoring a file keeps of a row", rows),
        ("soak", "whether a long command leaks", soak),
        ("kills", "whether a killed run ends as one that was not", kills),
    ):
        command = commands.add_parser(
            name, help=help, description=module.DESCRIPTION, formatter_class=form
        )
        module.add_arguments(command)
        command.add_argument(
            "--json", type=Path, metavar="PATH", help="write the printed numbers there too"
        )
        command.set_defaults(measure=module.measure)
    arguments = parser.parse_args()
    # what was started is ended on the way out
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        numbers = arguments.measure(arguments)
    except (ValueError, OSError, ImportError) as error:
        sys.exit(f"{parser.prog}: {error}")
    write_json(arguments.json, numbers)
    print(json.dumps(numbers, indent=2))


if __name__ == "__main__":
    main()
