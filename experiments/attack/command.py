"""What comes of an attack on `spanreward serve`, which this command starts itself, on loopback.

    python -m experiments attack --json now.json
    python -m experiments attack --before docs/evidence/attack-before.json
    python -m experiments attack soak --minutes 60 --json soak.json
    python -m experiments attack duel --json duel.json

Prints a Markdown table, one line a figure. Memory is a peak, times are orders. The attacks are
small enough for the code before its mending: the server may take 10 GB of addresses.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from experiments.attack.bodies import ambiguous_bodies, large_bodies, pages, wrong_values
from experiments.attack.connections import endings, idle_connections
from experiments.attack.duel import main as duel
from experiments.attack.pictures import large_pictures
from experiments.attack.rows import pictures_for_the_blind, poisoned_rows
from experiments.attack.soak import main as soak
from experiments.attack.templates import chat_templates

ATTACKS = {
    "rows": poisoned_rows,
    "blind": pictures_for_the_blind,
    "values": wrong_values,
    "large": large_bodies,
    "ambiguous": ambiguous_bodies,
    "pages": pages,
    "pictures": large_pictures,
    "idle": idle_connections,
    "endings": endings,
    "templates": chat_templates,
}
PARTS = {"duel": duel, "soak": soak}  # with options of their own
BEFORE = Path(__file__).parents[2] / "docs/evidence/attack-before.json"


def main() -> None:
    if sys.argv[1:] and sys.argv[1] in PARTS:
        part = sys.argv.pop(1)
        sys.argv[0] += f" {part}"
        PARTS[part]()
    else:
        attack()


def attack() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "attacks", nargs="*", metavar="ATTACK", help=f"{', '.join(ATTACKS)}; all if none is given"
    )
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the figures there too")
    parser.add_argument(
        "--before", type=Path, default=BEFORE, help="figures of another commit, written by --json"
    )
    arguments = parser.parse_args()
    unknown = set(arguments.attacks) - set(ATTACKS)
    if unknown:
        parser.error(f"unknown attack {', '.join(sorted(unknown))}: take {', '.join(ATTACKS)}")
    before: dict[str, Any] = {}
    if arguments.before.is_file():
        before = json.loads(arguments.before.read_text())
    figures: dict[str, Any] = {}
    print("| attack | before | now |\n|---|---|---|", flush=True)
    for name in arguments.attacks or ATTACKS:
        of_attack = ATTACKS[name]()
        for figure, value in of_attack.items():
            print(f"| {figure} | {before.get(figure, '')} | {value} |", flush=True)
        figures |= of_attack
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
