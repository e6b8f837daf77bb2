"""The command `spanreward`. `python -m spanreward` is the same.

    spanreward --help
    spanreward score posh --judge match --input rows.jsonl --output verdicts.jsonl

On several processes a recipe is launched: accelerate launch -m spanreward train RECIPE
"""

import argparse
import sys
from importlib import import_module

# Each command: its module in spanreward.training.commands, and what it is for.
COMMANDS = {
    "score": ("score", "score the completions of a JSONL file with a metric"),
    "recipes": ("recipes", "list the recipes and launch configurations, and copy one to start from"),
    "doctor": ("doctor", "check this machine, a judge and a recipe before training"),
    "train": ("train", "train a policy by SFT, GRPO or DAPO as a recipe says (needs the extra train)"),
    "compare": ("compare", "compare checkpoints, with error bars and a report (needs the extra train)"),
    "power": ("power", "how many prompts and seeds would show a difference, from an earlier comparison"),
    "blind": ("blind", "let people compare two sides without knowing which is which (needs the extra train)"),
    "labels": ("labels.command", "compare a metric, its spans or votes with people's labels"),
    "read": ("read", "parse texts for PoSh, or serve its parser from an environment of its own"),
}
EXTRA = ("accelerate", "datasets", "matplotlib", "peft", "trl")  # what the extra train installs


def main() -> None:
    width = max(map(len, COMMANDS))
    listed = "\n".join(f"  {name:{width}}  {purpose}" for name, (_, purpose) in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="spanreward",
        description="Published vision-language judge metrics as TRL rewards, with token-level credit.",
        epilog=f"commands:\n{listed}\n\n`spanreward COMMAND --help` explains each.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help="one of those below")
    command = parser.parse_args(sys.argv[1:2]).command
    sys.argv = [f"spanreward {command}", *sys.argv[2:]]
    try:
        import_module(f"spanreward.training.commands.{COMMANDS[command][0]}").main()
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in EXTRA:
            raise
        sys.exit(f"spanreward {command} needs {error.name}, which is not installed: pip install 'spanreward[train]'.")
