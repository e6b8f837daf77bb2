"""The command `spanreward`: what scripts/ holds, without a checkout.

    spanreward --help
    spanreward score posh --judge match --input rows.jsonl --output verdicts.jsonl

On several processes a recipe is launched: accelerate launch --module training.commands.train RECIPE
"""

import argparse
import sys
from importlib import import_module

# Each command: its module in training.commands, and what it is for.
COMMANDS = {
    "read": ("read", "serve the reader of PoSh (spaCy, coreference) from an environment of its own"),
    "score": ("score", "score completions from a JSONL file with a published metric"),
    "train": ("train", "train a recipe: SFT, GRPO or DAPO with a judge's reward (needs the extra train)"),
    "compare": ("compare", "say with error bars which of several checkpoints is better (needs the extra train)"),
    "power": ("power", "say how many prompts and seeds would show a difference, from an earlier comparison"),
    "blind": ("blind", "have people compare two sides without knowing which is which (needs the extra train)"),
    "recipes": ("recipes", "list the recipes and launch configurations, and copy one to start from"),
    "doctor": ("doctor", "look at this machine, a judge and a recipe before anything is trained"),
    "repeat": ("repeat", "train one recipe over seeds and numerical environments (needs the extra train)"),
    "agreement": ("agreement.command", "how well metrics agree with people and with the truth"),
    "reproduce": (
        "reproduce.command",
        "run the papers' tables with the data at hand, or list what they take",
    ),
    "credit": ("credit", "measure whether span credit teaches faster than the scalar (needs the extra train)"),
    "benchmark": ("benchmark.command", "what judging costs, and what rewards pay for what they should not"),
}
EXTRA = ("accelerate", "datasets", "matplotlib", "peft", "trl")  # what the extra train installs


def main() -> None:
    width = max(map(len, COMMANDS))
    listed = "\n".join(f"  {name:{width}}  {purpose}" for name, (_, purpose) in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="spanreward",
        description="Vision-language judges as rewards that teach.",
        epilog=f"commands:\n{listed}\n\n`spanreward COMMAND --help` says more.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help="one of those below")
    command = parser.parse_args(sys.argv[1:2]).command
    sys.argv = [f"spanreward {command}", *sys.argv[2:]]
    try:
        import_module(f"training.commands.{COMMANDS[command][0]}").main()
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in EXTRA:
            raise
        sys.exit(f"spanreward {command} needs {error.name}, which is not installed: pip install 'spanreward[train]'.")


if __name__ == "__main__":
    main()
