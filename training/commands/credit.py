"""Measure whether span credit teaches faster than the scalar alone (docs/credit.md).

    spanreward credit run --base BASE --level 2 --arms scalar spans --seeds 0 1 2 3 4
    spanreward credit table                     # and docs/credit.svg, from all runs that there are

A run writes one JSON file into --output when it ends, and is not made again when its file is there, so the command can
be stopped and started.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("outputs/credit"), help="where the runs' files are")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="train the arms that have no file yet")
    run.add_argument("--base", required=True, help="folder of the policy that all runs start from")
    run.add_argument("--level", type=int, choices=(1, 2, 3), required=True, help="about 2, 4 or 8 objects a picture")
    run.add_argument("--reward", default="truth", help="truth (the default) or posh, with the match judge")
    run.add_argument("--arms", nargs="+", default=["scalar", "spans"], help="scalar, spans, flipped, permuted")
    run.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    run.add_argument("--steps", type=int, default=30)
    run.add_argument("--learning-rate", type=float, default=2e-4)
    run.add_argument("--evaluate-every", type=int, default=5, help="steps between two measurements")
    run.add_argument("--prompts", type=int, default=256, help="held-out prompts of a measurement")
    table = commands.add_parser("table", help="compare the arms with bootstrap intervals, and draw them")
    table.add_argument("--plot", type=Path, default=Path("docs/credit.svg"))
    table.add_argument("--learning-rate", type=float, default=2e-4, help="of the runs that are drawn")
    table.add_argument("--json", type=Path, help="write the table's numbers here too")
    arguments = parser.parse_args()
    if arguments.command == "run":
        train_missing(arguments)
    else:
        show(arguments)


def train_missing(arguments: argparse.Namespace) -> None:
    from training.span_credit_experiment.experiment import ARMS, REWARDS, train_arm

    unknown = sorted(set(arguments.arms) - set(ARMS))
    if unknown:
        sys.exit(f"spanreward credit: there is no arm {unknown[0]!r}: choose from {', '.join(ARMS)}.")
    if arguments.reward not in REWARDS:
        sys.exit(f"spanreward credit: there is no reward {arguments.reward!r}: choose from {', '.join(REWARDS)}.")
    noisy = [name for name in arguments.arms if ARMS[name].noise]
    if noisy and arguments.reward != "truth":
        sys.exit(
            f"spanreward credit: the spans of {arguments.reward!r} cannot be {noisy[0]}: leave it out or take truth."
        )
    arguments.output.mkdir(parents=True, exist_ok=True)
    for seed in arguments.seeds:
        for name in arguments.arms:
            rate = f"{arguments.learning_rate:g}"
            path = arguments.output / f"level{arguments.level}-{arguments.reward}-{name}-{rate}-seed{seed}.json"
            if path.exists():
                continue
            result = train_arm(
                ARMS[name],
                arguments.reward,
                arguments.base,
                arguments.level,
                seed,
                arguments.steps,
                arguments.learning_rate,
                arguments.evaluate_every,
                arguments.prompts,
            )
            path.write_text(json.dumps(result) + "\n")
            last = result["evaluations"][-1]
            print(f"{path}: truth F1 {sum(last['f1']) / len(last['f1']):.3f} after {last['step']} steps", flush=True)


def show(arguments: argparse.Namespace) -> None:
    from rich.console import Console
    from rich.table import Table

    from training.span_credit_experiment.report import compare_all, draw_curves, load_curves

    curves = load_curves(arguments.output)
    rows = compare_all(curves)
    if not rows:
        sys.exit(f"spanreward credit: there are no runs to compare in {arguments.output}: make some with `credit run`.")
    table = Table(title="Truth F1 on held-out prompts, against the scalar on the same seeds")
    for heading in cells(rows[0]):
        table.add_column(heading, justify="left" if heading in {"reward", "arm"} else "right")
    for row in rows:
        table.add_row(*cells(row).values())
    Console(width=170).print(table)
    draw_curves(curves, arguments.learning_rate, arguments.plot)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")


def cells(row: dict[str, Any]) -> dict[str, str]:
    """A comparison as people read it, by heading."""
    return {
        "reward": row["reward"],
        "level": str(row["level"]),
        "arm": row["arm"],
        "rate": f"{row['learning_rate']:g}",
        "scalar's": f"{row['scalar_rate']:g}",
        "seeds": str(len(row["seeds"])),
        "final F1": interval(row["final"], ".3f"),
        "difference": interval(row["difference"], "+.3f"),
        "steps to reach": interval(row["steps"], ".1f"),
        "ratio": interval(row["ratio"], ".2f"),
    }


def interval(figure: dict[str, float], form: str) -> str:
    return f"{figure['mean']:{form}} [{figure['low']:{form}}, {figure['high']:{form}}]"


if __name__ == "__main__":
    main()
