"""One run of one cell: DAPO on Scenes from the terse base of its seed, measured by the truth.

    train_run(Cell(0.5, "both", 0.2, spans=True), Start("outputs/base/seed3", 3), Path("scratch"))
    # {"greedy": {"truth_f1": .81, "precision": .92, "recall": .75, "tokens": 20.3}, ...}

The recipe is the quickstart's, with the settings of the cell. A run has a seed of its own, and the
bases of every second one are perturbed by 1e-6, which stands for another machine
(experiments/perturb.py).
"""

import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from experiments.perturb import perturb
from experiments.picture_map.cell import Cell
from experiments.scenes.held_out import HeldOutPictures
from spanreward.rewards.judges import closing
from spanreward.rewards.reward.reward import judges_of
from spanreward.training.garbage import gc_skips_loaded_objects
from spanreward.training.policy import load_policy
from spanreward.training.recipe import FilePart, Recipe, load_recipe
from spanreward.training.recipe_rewards import build_rewards
from spanreward.training.run import build_trainer

RECIPE = "recipes/quickstart/scenes-dapo.yaml"
PICTURES = 256  # held out
PERTURBATION = 1e-6
LOGGED = (
    "reward",
    "rewards/posh/mean",
    "posh/precision",
    "posh/recall",
    "posh/yes_rate",
    "entropy",
)
# what the judge said is kept of so many rollouts at the end
LAST_ROLLOUTS = 5


@dataclass(frozen=True, slots=True)
class Start:
    """Where a run starts. base: the folder of the policy. seed: of the base, and of the run."""

    base: str
    seed: int

    @property
    def perturbation(self) -> float:
        return PERTURBATION if self.seed % 2 else 0.0


def train_run(cell: Cell, start: Start, folder: Path) -> dict[str, Any]:
    """Trains, and returns what is known of the run. folder: for the trainer's own files."""
    overrides = [f"seed={start.seed}", f"output={folder}", f"policy.model={start.base}"]
    recipe = load_recipe(RECIPE, [*overrides, *cell.overrides])
    rewards = build_rewards(recipe.rewards)
    with closing(judges_of(rewards)):
        trainer = build_trainer(recipe, rewards)
        assert trainer.model is not None
        perturb(trainer.model, start.perturbation)
        with gc_skips_loaded_objects():  # as `spanreward train` does
            trainer.train()
    logged = [line for line in trainer.state.log_history if "reward" in line]
    last_rollouts = []
    for line in logged[-LAST_ROLLOUTS:]:
        last_rollouts.append({key: line[key] for key in LOGGED if key in line})
    shutil.rmtree(folder, ignore_errors=True)
    figures = measure(trainer.model, load_policy(start.base)[1], recipe, start)
    return {"cell": asdict(cell), **figures, "judge_said": last_rollouts}


def measure_base(start: Start) -> dict[str, Any]:
    """Returns the same figures of the policy that runs of this seed start from."""
    model, processor = load_policy(start.base)
    perturb(model, start.perturbation)
    return measure(model, processor, load_recipe(RECIPE), start)


def measure(model: Any, processor: Any, recipe: Recipe, start: Start) -> dict[str, Any]:
    """Returns a policy's figures on held-out pictures, with its start."""
    assert isinstance(recipe.validation_data, FilePart)
    pictures = HeldOutPictures(recipe.validation_data, PICTURES)
    max_tokens = recipe.trainer["max_completion_length"]
    return {
        "seed": start.seed,
        "perturbation": start.perturbation,
        "greedy": pictures.measure(model, processor, max_tokens),
        "sampled": pictures.measure_sampled(model, processor, max_tokens, start.seed),
    }
