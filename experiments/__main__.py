"""The command of the experiments, from a checkout's root.

python -m experiments --help
python -m experiments credit run outputs/credit
"""

import argparse
import sys
from importlib import import_module

COMMANDS = {  # each command: its module, and what it is for
    "agreement": ("commands.agreement.command", "how well metrics and judges agree with people and with the truth"),
    "benchmark": ("benchmark.command", "what judging costs, and what rewards pay for what they should not"),
    "credit": ("commands.credit", "whether span credit teaches faster than the scalar"),
    "repeat": ("commands.repeat", "train one recipe over seeds and numerical environments"),
    "reproduce": ("reproduce.command", "run the papers' tables with the data at hand, or list what they take"),
    "teach": ("judging.teach", "teach a small language model to judge Scenes"),
}


def main() -> None:
    listed = "\n".join(f"  {name:9}  {purpose}" for name, (_, purpose) in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description="What proves the claims of this repository.",
        epilog=f"commands:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help="one of those below")
    command = parser.parse_args(sys.argv[1:2]).command
    sys.argv = [f"python -m experiments {command}", *sys.argv[2:]]
    import_module(f"experiments.{COMMANDS[command][0]}").main()


if __name__ == "__main__":
    main()
