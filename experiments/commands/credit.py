"""Measure span credit on Scenes, where the truth is known (docs/evidence/credit.md).

    python -m experiments credit panel --base BASE --level 2 --judges match
    # how right the spans are
    python -m experiments credit run --base BASE --level 2 --coefficient 0.5 --seeds 0 1 2 3 4
    python -m experiments credit table --json outputs/credit/table.json     # of all runs
    python -m experiments credit map outputs/map/n16 outputs/map/n128
    # where spans pay: a folder for each batch
    python -m experiments credit curve --tables outputs/credit/table.json --panels outputs/credit/panel-level2-BASE.json

A run writes one JSON file into --output when it ends, and is not made again when its file is there,
so the command can be stopped and started; so with a panel's texts.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--output", type=Path, default=Path("outputs/credit"), help="where the files are"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="train what has no file yet")
    of_policy(run)
    run.add_argument(
        "--reward",
        default="truth",
        help="truth (the default), or posh: and a judge, such as posh:match",
    )
    run.add_argument(
        "--coefficient",
        type=float,
        default=0.0,
        help="span_coef; 0 (the default) is the scalar alone",
    )
    run.add_argument(
        "--flipped",
        type=float,
        default=0.0,
        help="share of the truth's claims called what they are not",
    )
    run.add_argument(
        "--permuted", action="store_true", help="deal the truth's credits out anew in each group"
    )
    run.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    run.add_argument(
        "--perturbation",
        default="0",
        metavar="SIZE",
        help="multiply the base's weights by 1 + SIZE x a normal number, as another CPU would (try "
        "1e-6; default 0)",
    )
    run.add_argument("--steps", type=int, default=30)
    run.add_argument("--completions", type=int, default=128, help="of a step (default 128)")
    run.add_argument("--group", type=int, default=8, help="completions of a prompt (default 8)")
    run.add_argument(
        "--overlong",
        type=int,
        default=0,
        help="tokens above the level's most, and punished (default 0)",
    )
    run.add_argument("--learning-rate", type=float, default=2e-4)
    run.add_argument("--evaluate-every", type=int, default=5, help="steps between two measurements")
    run.add_argument("--prompts", type=int, default=256, help="held-out prompts of a measurement")
    table = commands.add_parser(
        "table", help="compare the runs with bootstrap intervals, and draw them"
    )
    table.add_argument("--plot", type=Path, default=Path("docs/evidence/credit.svg"))
    table.add_argument(
        "--learning-rate", type=float, default=2e-4, help="of the runs that are drawn"
    )
    table.add_argument("--json", type=Path, help="write the table's numbers here too")
    curve = commands.add_parser(
        "curve", help="what spans add in training, against how right they are"
    )
    curve.add_argument(
        "--tables", nargs="+", type=Path, required=True, help="files of `table --json`, pooled"
    )
    curve.add_argument(
        "--panels", nargs="+", type=Path, required=True, help="files of `panel`, for r"
    )
    curve.add_argument("--plot", type=Path, default=Path("docs/evidence/credit-curve.svg"))
    curve.add_argument(
        "--json", type=Path, default=Path("docs/evidence/credit-curve.json"), help="for the figures"
    )
    where = commands.add_parser(
        "map", help="where spans pay, by objects of a picture and completions of a step"
    )
    where.add_argument(
        "folders", nargs="+", type=Path, help="of runs, a folder for each number of completions"
    )
    where.add_argument("--plot", type=Path, default=Path("docs/evidence/credit-map.svg"))
    where.add_argument(
        "--json",
        type=Path,
        default=Path("docs/evidence/credit-map.json"),
        help="for the figures; its cells that no run of the folders measures anew stay",
    )
    panel = commands.add_parser(
        "panel", help="measure spans and rules on sampled texts, without training"
    )
    of_policy(panel)
    panel.add_argument(
        "--judges", nargs="*", default=["match"], help="judges of PoSh whose spans are measured"
    )
    panel.add_argument(
        "--flipped", nargs="*", type=float, default=[0.3], help="so much noise in the truth's spans"
    )
    panel.add_argument("--pictures", type=int, default=48)
    panel.add_argument("--completions", type=int, default=8, help="of each picture")
    panel.add_argument(
        "--of-monte-carlo",
        type=int,
        default=2,
        help="of these, how many have Monte Carlo advantages",
    )
    panel.add_argument(
        "--rollouts", type=int, default=8, help="continuations from before and after every token"
    )
    panel.add_argument("--json", type=Path, help="write the figures here (default: into --output)")
    arguments = parser.parse_args()
    made = {
        "run": train_missing,
        "table": show,
        "curve": show_curve,
        "map": show_map,
        "panel": measure_panel,
    }
    made[arguments.command](arguments)


def of_policy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--base", required=True, help="folder of the policy to start from")
    parser.add_argument(
        "--level", type=int, choices=(1, 2, 3, 4), required=True, help="about 2, 4, 8, 14 objects"
    )


def train_missing(arguments: argparse.Namespace) -> None:
    from experiments.span_credit.arm import Arm
    from experiments.span_credit.experiment import experiment_reward, train_arm
    from spanreward.rewards.files.outputs import write_whole

    arm = Arm(arguments.coefficient, arguments.flipped, arguments.permuted)
    try:
        experiment_reward(arguments.reward, {}, arm)
    except ValueError as error:
        sys.exit(f"python -m experiments credit: {error}")
    arguments.output.mkdir(parents=True, exist_ok=True)
    for seed in arguments.seeds:
        rate, reward = (
            f"{arguments.learning_rate:g}",
            arguments.reward.replace("/", "-").replace(":", "-"),
        )
        environment = f"~{arguments.perturbation}" if float(arguments.perturbation) else ""
        name = f"level{arguments.level}-{reward}-{arm.name}-{rate}-seed{seed}{environment}.json"
        path = arguments.output / name
        if path.exists():
            refuse_other_settings(path, arguments)
            print(f"{path} is there", flush=True)
            continue
        result = train_arm(
            arm,
            arguments.reward,
            arguments.base,
            arguments.level,
            seed,
            arguments.steps,
            arguments.learning_rate,
            arguments.evaluate_every,
            arguments.prompts,
            float(arguments.perturbation),
            arguments.completions,
            arguments.group,
            arguments.overlong,
        )
        write_whole(path, json.dumps(result) + "\n")
        last = result["evaluations"][-1]
        print(
            f"{path}: truth F1 {sum(last['f1']) / len(last['f1']):.3f} after {last['step']} steps",
            flush=True,
        )


def refuse_other_settings(path: Path, arguments: argparse.Namespace) -> None:
    """Exit where the file's run has another base, length or measure than is asked for: names of
    files do not tell.
    """
    run = json.loads(path.read_text("utf-8"))
    measured = [evaluation["step"] for evaluation in run["evaluations"]]
    settings = (
        ("--base", Path(run["base"]), Path(arguments.base)),
        ("--steps", len(run["steps"]), arguments.steps),
        (
            "--evaluate-every",
            measured[1] if len(measured) > 1 else arguments.evaluate_every,
            arguments.evaluate_every,
        ),
        ("--prompts", len(run["evaluations"][0]["f1"]), arguments.prompts),
        # older files do not say
        ("--completions", run.get("completions", 128), arguments.completions),
        ("--group", run.get("group", 8), arguments.group),
        ("--overlong", run.get("overlong", 0), arguments.overlong),
    )
    for option, made, asked in settings:
        if made != asked:
            sys.exit(
                f"python -m experiments credit: {path} was made with {option} {made}, and {asked} "
                "is asked for: give another --output before `run`, so that runs of one folder can "
                "be compared."
            )


def show(arguments: argparse.Namespace) -> None:
    from rich.console import Console
    from rich.table import Table

    from experiments.span_credit.report import compare_all, draw_curves, load_curves

    curves = load_curves(arguments.output)
    rows = compare_all(curves)
    if not rows:
        sys.exit(
            f"credit: there are no runs to compare in {arguments.output}: make some with `credit "
            "run`."
        )
    table = Table(title="Truth F1 on held-out prompts, against the scalar of the same runs")
    for heading in cells(rows[0]):
        table.add_column(heading, justify="left" if heading in {"reward", "arm"} else "right")
    for row in rows:
        table.add_row(*cells(row).values())
    Console(width=230).print(table)
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
        "runs": str(len(row["runs"])),
        "sampled": interval(row["sampled"], ".3f"),
        "sampled, difference": interval(row["sampled_difference"], "+.3f"),
        "greedy": interval(row["final"], ".3f"),
        "greedy, difference": interval(row["difference"], "+.3f"),
        "area, difference": interval(row["area_difference"], "+.3f"),
        "steps to reach": interval(row["steps"], ".1f"),
        "ratio": interval(row["ratio"], ".2f"),
    }


def interval(figure: dict[str, float], form: str) -> str:
    return f"{figure['mean']:{form}} [{figure['low']:{form}}, {figure['high']:{form}}]"


def show_map(arguments: argparse.Namespace) -> None:
    from rich.console import Console
    from rich.table import Table

    from experiments.span_credit.map import cells_of, draw_map, with_earlier

    cells = cells_of(arguments.folders)
    if not cells:
        sys.exit(
            f"credit: no folder of {', '.join(map(str, arguments.folders))} has runs with spans "
            "and without."
        )
    cells = with_earlier(
        cells, json.loads(arguments.json.read_text("utf-8")) if arguments.json.exists() else []
    )
    table = Table(
        title="What spans add to the truth F1 of sampled texts, and the share of the scalar's "
        "steps they take"
    )
    for heading in (
        "reward",
        "arm",
        "level",
        "completions",
        "runs",
        "gain",
        "share of the steps",
        "gain of each run",
    ):
        table.add_column(heading)
    for cell in cells:
        own = " ".join(f"{gain:+.3f}" for gain in cell["gain_per_run"])
        figures = (interval(cell["gain"], "+.3f"), interval(cell["share"], ".2f"))
        names = (
            cell["reward"],
            cell["arm"],
            str(cell["level"]),
            str(cell["completions"]),
            str(len(cell["runs"])),
        )
        table.add_row(*names, *figures, own)
    Console(width=200).print(table)
    draw_map(cells, arguments.plot)
    arguments.json.write_text(json.dumps(cells, indent=2) + "\n")


def show_curve(arguments: argparse.Namespace) -> None:
    from rich.console import Console
    from rich.table import Table

    from experiments.span_credit.curve import draw_points, points_of

    try:
        tables, panels = (
            [json.loads(path.read_text("utf-8")) for path in paths]
            for paths in (arguments.tables, arguments.panels)
        )
        points = points_of(tables, panels)
    except (OSError, ValueError) as error:
        sys.exit(f"python -m experiments credit: {error}")
    table = Table(title="What spans add in training to the scalar's truth F1 at the end")
    for heading in ("spans", "level", "r, labels", "runs", "sampled", "greedy"):
        table.add_column(
            heading, justify="left" if heading == "spans" else "right", overflow="fold"
        )
    for point in points:
        r = interval(point["r"] | {"mean": point["r"]["r"]}, ".2f")
        gains = (interval(point[name], "+.3f") for name in ("sampled", "greedy"))
        table.add_row(
            point["spans"], str(point["level"]), r, str(len(point["sampled"]["per_run"])), *gains
        )
    Console(width=150).print(table)
    draw_points(points, arguments.plot)
    arguments.json.write_text(json.dumps(points, indent=2) + "\n")
    print(f"All figures: {arguments.json}; the picture: {arguments.plot}")


def measure_panel(arguments: argparse.Namespace) -> None:
    from rich.console import Console

    from experiments.span_credit.panel import make_panel, read_panel, write_panel
    from experiments.span_credit.panel_report import tables_of, write_up

    arguments.output.mkdir(parents=True, exist_ok=True)
    name = f"panel-level{arguments.level}-{Path(arguments.base).name}"
    texts = arguments.output / f"{name}-texts.json"
    if not texts.exists():
        made = make_panel(
            arguments.base,
            arguments.level,
            arguments.pictures,
            arguments.completions,
            arguments.of_monte_carlo,
            arguments.rollouts,
        )
        write_panel(made, texts)
    figures = write_up(read_panel(texts), arguments.judges, arguments.flipped)
    path = arguments.json or arguments.output / f"{name}.json"
    path.write_text(json.dumps(figures, indent=2) + "\n")
    for table in tables_of(figures):
        Console(width=150).print(table)
    print(f"All figures: {path}; the texts, which the next call takes again: {texts}")


if __name__ == "__main__":
    main()
