"""How many updates should one rollout pay for? DAPO on Scenes with more and more of them.

    python -m experiments updates run --base 'outputs/repeat/base/seed{seed}' --updates 1 4 --rates 3e-4 1e-4
    python -m experiments updates table --json docs/evidence/updates.json

Each run has the same 50 rollouts of 128 completions, so the judge answers as many questions in each.
A rollout is cut into `updates` parts by `steps_per_generation`, and each part is one optimizer step.
Truth F1 is that of greedy completions of held-out pictures, after half of the rollouts and after all.
A seed is trained in two numerical environments where --perturbations says so (experiments/perturb.py).

A run writes one JSON file into --output when it ends, and is not made again when its file is there.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from experiments.perturb import perturb
from experiments.scenes.held_out import HeldOutPictures
from spanreward.rewards.comparison.resampling import bootstrap
from spanreward.training.garbage import gc_skips_loaded_objects
from spanreward.training.policy import load_policy
from spanreward.training.recipe import FilePart, Recipe, load_recipe
from spanreward.training.recipe_rewards import build_rewards
from spanreward.training.run import build_trainer

RECIPE = "recipes/quickstart/scenes-dapo.yaml"
ROLLOUTS = 50
BATCH = 128  # completions of a rollout
WARM_UP = 5  # rollouts
MEASURED = (25, 50)  # after so many rollouts
PROMPTS = 256  # held-out pictures of a measurement
LOGGED = ("clip_ratio/region_mean", "entropy", "grad_norm", "rewards/posh/mean", "reward_std")
RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Cell:
    """Settings that runs share.

    updates: optimizer steps of a rollout. overlong: `soft_overlong_size` as it is written, "" for
    the recipe's. longest: `max_completion_length`, with a punishment over its last third, 0 for the
    recipe's, which no text of Scenes comes near.
    """

    updates: int
    rate: float
    span_coef: float
    overlong: str = ""
    longest: int = 0
    rollouts: int = ROLLOUTS

    @property
    def name(self) -> str:
        name = f"updates{self.updates}-rate{self.rate:g}-spans{self.span_coef:g}"
        if self.overlong:
            name += f"-overlong{self.overlong}"
        if self.longest:
            name += f"-longest{self.longest}"
        if self.rollouts != ROLLOUTS:
            name += f"-rollouts{self.rollouts}"
        return name

    @property
    def overrides(self) -> list[str]:
        settings: dict[str, Any] = {
            "span_coef": self.span_coef,
            "learning_rate": self.rate,
            "per_device_train_batch_size": BATCH // self.updates,
            "steps_per_generation": self.updates,
            "max_steps": self.rollouts * self.updates,
            "warmup_steps": WARM_UP * self.updates,
            "logging_steps": self.updates,
        }
        if self.overlong:
            settings["soft_overlong_size"] = self.overlong
        if self.longest:
            settings["max_completion_length"] = self.longest
            settings["soft_overlong_cache"] = self.longest // 3
        return [f"trainer.{key}={value}" for key, value in settings.items()]


class HeldOutTruth(TrainerCallback):
    """Measures greedy completions after some rollouts, and keeps TRL's log lines."""

    def __init__(self, recipe: Recipe, processor: Any, updates: int) -> None:
        data = recipe.validation_data
        assert isinstance(data, FilePart)
        self.pictures = HeldOutPictures(data, PROMPTS)
        self.max_tokens = recipe.trainer["max_completion_length"]
        self.processor = processor
        self.updates = updates
        self.measured: list[dict[str, float]] = []
        self.logged: list[dict[str, float]] = []

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        rollouts, rest = divmod(state.global_step, self.updates)
        if rest or rollouts not in MEASURED:
            return
        figures = self.pictures.measure(kwargs["model"], self.processor, self.max_tokens)
        self.measured.append({"completions": rollouts * BATCH, **figures})

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, float] | None = None,
        **kwargs: Any,
    ) -> None:
        if logs and "reward" in logs:
            kept = {key: logs[key] for key in LOGGED if key in logs}
            self.logged.append({"step": state.global_step, **kept})


def train_cell(cell: Cell, base: str, seed: int, perturbation: str, folder: Path) -> dict[str, Any]:
    """Train one run and return what is known of it. folder: for the trainer's own files."""
    overrides = [f"seed={seed}", f"output={folder}", f"policy.model={base}", *cell.overrides]
    recipe = load_recipe(RECIPE, overrides)
    trainer = build_trainer(recipe, build_rewards(recipe.rewards))
    assert trainer.model is not None
    perturb(trainer.model, float(perturbation))
    measure = HeldOutTruth(recipe, load_policy(base)[1], cell.updates)
    trainer.add_callback(measure)
    with gc_skips_loaded_objects():  # as `spanreward train` does
        trainer.train()
    return {
        "cell": asdict(cell),
        "seed": seed,
        "perturbation": perturbation,
        "measured": measure.measured,
        "logged": measure.logged,
    }


def table_of(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns a row for each cell and number of judged completions: mean truth F1 with its interval
    over runs, and each run's.
    """
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for run in runs:
        groups[astuple(Cell(**run["cell"]))].append(run)
    rows = []
    for cell, members in sorted(groups.items()):
        members = sorted(members, key=lambda run: (run["seed"], float(run["perturbation"])))
        clipped = [run["logged"][-1].get(LOGGED[0], 0.0) for run in members]
        for number, measured in enumerate(members[0]["measured"]):
            scores = [run["measured"][number]["truth_f1"] for run in members]
            interval = bootstrap(scores, fmean, RESAMPLES)
            rows.append(
                dict(zip([field.name for field in fields(Cell)], cell, strict=True))
                | {
                    "completions": measured["completions"],
                    "truth_f1": fmean(scores),
                    "low": interval.low,
                    "high": interval.high,
                    "per_run": [round(score, 4) for score in scores],
                    "tokens": fmean(run["measured"][number]["tokens"] for run in members),
                    "clipped_at_the_end": fmean(clipped),
                }
            )
    return rows


def markdown_lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    lines = [
        "| updates | rate | span_coef | overlong | longest | judged | truth F1 | runs | tokens "
        "| clipped |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        runs = ", ".join(f"{score:.3f}" for score in row["per_run"])
        lines.append(
            f"| {row['updates']} | {row['rate']:g} | {row['span_coef']:g} | {row['overlong'] or '-'} "
            f"| {row['longest'] or '-'} | {row['completions']:,} | {row['truth_f1']:.3f} [{row['low']:.3f}, {row['high']:.3f}] "
            f"| {runs} | {row['tokens']:.0f} | {row['clipped_at_the_end']:.3f} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--output", type=Path, default=Path("outputs/updates"), help="where the runs' files are"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="train what has no file yet")
    run.add_argument("--base", required=True, help="the base's folder, with {seed} in it")
    run.add_argument("--updates", nargs="+", type=int, default=[1, 2, 4, 8, 16])
    run.add_argument("--rates", nargs="+", type=float, default=[3e-4, 1e-4])
    run.add_argument("--span-coefs", nargs="+", type=float, default=[0.0])
    run.add_argument("--overlong", nargs="+", default=[""], help="soft_overlong_size")
    run.add_argument("--longest", type=int, default=0, help="max_completion_length")
    run.add_argument("--rollouts", type=int, default=ROLLOUTS)
    run.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    run.add_argument("--perturbations", nargs="+", default=["0", "1e-6"])
    table = commands.add_parser("table", help="print what the runs came to")
    table.add_argument("--json", type=Path, help="write the table's numbers here too")
    arguments = parser.parse_args()
    if arguments.command == "run":
        run_cells(arguments)
        return
    runs = [json.loads(path.read_text()) for path in sorted(arguments.output.glob("*.json"))]
    rows = table_of(runs)
    print("\n".join(markdown_lines(rows)))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def run_cells(arguments: argparse.Namespace) -> None:
    """Seed by seed, so that an interrupted command leaves cells with equally many runs."""
    arguments.output.mkdir(parents=True, exist_ok=True)
    for seed in arguments.seeds:
        for perturbation in arguments.perturbations:
            for cell in cells_of(arguments):
                name = f"{cell.name}-seed{seed}-perturbed{perturbation}"
                path = arguments.output / f"{name}.json"
                if path.is_file():
                    continue
                base = arguments.base.format(seed=seed)
                with TemporaryDirectory() as folder:  # two commands may train side by side
                    result = train_cell(cell, base, seed, perturbation, Path(folder) / "run")
                path.write_text(json.dumps(result) + "\n", encoding="utf-8")
                last = result["measured"][-1]["truth_f1"]
                print(f"{name}: truth F1 {last:.3f}", flush=True)


def cells_of(arguments: argparse.Namespace) -> list[Cell]:
    cells = []
    for rate in arguments.rates:
        for updates in arguments.updates:
            for span_coef in arguments.span_coefs:
                for overlong in arguments.overlong:
                    longest, rollouts = arguments.longest, arguments.rollouts
                    cells.append(Cell(updates, rate, span_coef, overlong, longest, rollouts))
    return cells


if __name__ == "__main__":
    main()
