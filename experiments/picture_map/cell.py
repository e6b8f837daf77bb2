"""One cell of the map, and the settings of its runs."""

from dataclasses import dataclass
from typing import Any

from experiments.scenes.parts import PICTURES, SEEING

OMISSIONS = (0.0, 0.25, 0.5)
EVIDENCES = ("reference", "picture", "both")
ERRORS = (0.0, 0.1, 0.2, 0.3)
SPAN_COEF = 0.25  # as in the recipe
ROLLOUTS = 20
UPDATES = 4  # of a rollout, as in the recipe


@dataclass(frozen=True, slots=True)
class Cell:
    """What runs of a cell share.

    Attributes:
        omission: the share of the things on a picture that its only reference leaves out.
        evidence: of PoshReward.
        judge: "noisy", the oracle that errs, or the folder of a judge that was trained to see.
        errors: the share of the noisy judge's answers about pictures that are wrong. It is 0 where
            no picture is asked, since the answers about texts are those of `match`.
        spans: whether the policy learns from spans too, or from the scalar alone.
    """

    omission: float
    evidence: str
    errors: float
    spans: bool
    judge: str = "noisy"

    @property
    def name(self) -> str:
        credit = "spans" if self.spans else "scalar"
        judge = "" if self.judge == "noisy" else "-trained"
        return f"omission{self.omission:g}-{self.evidence}-errors{self.errors:g}-{credit}{judge}"

    @property
    def overrides(self) -> list[str]:
        """The recipe's keys that differ from recipes/quickstart/scenes-dapo.yaml."""
        settings: dict[str, Any] = {
            "data.options.references": 1,
            "data.options.keep_object": 1 - self.omission,
            "rewards.0.options.evidence": self.evidence,
            "rewards.0.judge": f'{{name: "{PICTURES}", options: {{errors: {self.errors}}}}}',
            "trainer.span_coef": SPAN_COEF if self.spans else 0,
            "trainer.max_steps": ROLLOUTS * UPDATES,
        }
        if self.judge != "noisy":
            settings["rewards.0.judge"] = f'{{name: "{SEEING}", options: {{model: {self.judge}}}}}'
        return [f"{key}={value}" for key, value in settings.items()]


def all_cells() -> list[Cell]:
    """Every omission with every evidence, error and credit. Without pictures there are no errors."""
    cells = []
    for omission in reversed(OMISSIONS):  # where pictures may matter most, first
        for spans in (False, True):
            cells.append(Cell(omission, "reference", 0.0, spans))
            for evidence in ("picture", "both"):
                for errors in ERRORS:
                    cells.append(Cell(omission, evidence, errors, spans))
    return cells
