"""A column that a metric of one's own reads is kept, whatever the data come from."""

from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset

from spanreward import Sample, reward
from spanreward.training.data.load import load_data
from spanreward.training.evaluation.answers.prompts import prompts_of_file, prompts_of_recipe
from spanreward.training.plan.dry_run import rows_here
from spanreward.training.recipe import FilePart, HubPart, MixedPart, RecipeError, load_recipe
from spanreward.training.recipe_rewards import build_rewards, columns_asked_by
from tests.support.data_parts import jsonl
from tests.support.paths import ROOT

DAPO = ROOT / "recipes" / "quickstart" / "scenes-dapo.yaml"
ROWS = [
    {"prompt": "Which?", "reference": "A cat.", "label": "cat", "other": 1},
    {"prompt": "Which one?", "reference": "A dog.", "label": None, "other": 2},
]
OWN = """
from spanreward import reward

@reward(columns=("label",))
def labelled(sample):
    return float(sample.columns["label"] == "cat")
"""


@pytest.fixture
def sources(tmp_path: Path) -> dict[str, Any]:
    """The same rows from everywhere."""
    part = jsonl(tmp_path, *ROWS)
    (tmp_path / "data.py").write_text(f"def rows():\n    return {ROWS!r}\n")
    (tmp_path / "own.py").write_text(OWN)
    hub = str(tmp_path / "hub")
    Dataset.from_list(ROWS).to_parquet(tmp_path / "hub" / "train.parquet")
    return {
        "jsonl": part,
        "hub": HubPart(source="hub", id=hub),
        "stream": HubPart(source="hub", id=hub, streaming=True, count=2),
        "file": FilePart(source=f"{tmp_path}/data.py:rows"),
        "mixed": MixedPart(source="mixed", parts=[part, part]),
    }


@pytest.mark.parametrize("source", ["jsonl", "hub", "stream", "file", "mixed"])
def test_it_is_kept(sources: dict[str, Any], source: str) -> None:
    data = sources[source]
    kept = load_data(data, extra_columns={"label", "absent"})
    assert kept["label"][:2] == ["cat", None]
    assert "absent" not in kept.column_names
    assert ("other" in kept.column_names) == (source == "file")
    assert "label" not in load_data(data, extra_columns=()).column_names or source == "file"


def test_a_key_that_stands_for_a_column_of_ours_is_kept_under_its_own_name(tmp_path: Path) -> None:
    data = jsonl(tmp_path, *ROWS, columns={"reference": "label"})
    (row,) = load_data(data, extra_columns={"label"})
    assert (row["label"], row["reference"]) == ("cat", ["cat"])


def test_values_of_several_kinds_are_one_sentence(tmp_path: Path) -> None:
    data = jsonl(tmp_path, *({**ROWS[0], "label": label} for label in ("a", 1, [2])))
    with pytest.raises(RecipeError, match="data of jsonl holds"):
        load_data(data, extra_columns={"label"})


def test_only_a_metrics_own_columns_are_asked_for() -> None:
    @reward(columns=("label", "reference"))
    def judged(sample: Sample) -> float:
        return 1.0

    assert columns_asked_by([judged]) == {"label"}
    with pytest.raises(ValueError, match=r"column 'label', .*: rename the column"):
        judged(["?"], ["a"], reference=["b"])
    told = str(judged.lacks("'label'", "the data", ["tag"]))
    assert "data.columns" not in told
    assert "data.columns" in str(judged.lacks("'reference'", "the data", ["tag"]))


def test_a_recipe_its_plan_and_a_comparison_read_it(sources: Any, tmp_path: Path) -> None:
    rows = sources["jsonl"].path
    data = [f"data={{source: jsonl, path: {rows}}}", "validation=null", f"output={tmp_path}/run"]
    metric = f"rewards=[{{metric: '{tmp_path}/own.py:labelled'}}]"
    recipe = load_recipe(DAPO, [*data, metric, "policy={model: smollm2}"])
    rewards = build_rewards(recipe.rewards)
    extra_columns = columns_asked_by(rewards)
    assert rows_here(recipe, True).ok, rows_here(recipe, True)
    compared = prompts_of_recipe(recipe, recipe, 2, extra_columns=extra_columns).rows
    assert [row["label"] for row in compared] == ["cat", None]
    assert prompts_of_file(rows, 2, extra_columns=extra_columns).rows[0]["label"] == "cat"
