"""spanreward power: from the scatter of a comparison on file to the prompts and seeds that would show a difference."""

import json
from pathlib import Path

import numpy as np
import pytest

from spanreward.rewards.comparison.power import findable, needed
from spanreward.training.commands.power import differences, read_scores
from tests.support.command import spanreward


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two models, three seeds (one of them run twice), 40 prompts; the first metric scatters, the second never does."""
    generator = np.random.default_rng(0)
    with (tmp_path / "completions.jsonl").open("w") as file:
        for model, shift in (("sft", 0.0), ("dapo", 0.1)):
            for seed in (0, 1, 2, 2):
                for number in range(40):
                    score = shift + float(generator.uniform(0, 0.5))
                    scores = {"posh_f1": None if (seed, number) == (1, 3) else score, "truncated": 0.0}
                    row = {"model": model, "seed": seed, "id": f"p{number}", "scores": scores}
                    file.write(json.dumps(row) + "\n")
    return tmp_path


def test_what_is_printed_is_on_file_and_as_computed(folder: Path) -> None:
    done = spanreward("power", folder, "--difference", "0.02", "--json", folder / "power.json")
    assert (done.code, done.err) == (0, "")
    numbers = json.loads((folder / "power.json").read_text())
    assert (numbers["ours"], numbers["theirs"]) == ("dapo", "sft")
    prompts, seeds = (numbers["metrics"]["posh_f1"][what] for what in ("prompts", "seeds"))
    assert (prompts["count"], seeds["count"]) == (40, 3)
    assert prompts["needed"] == needed(prompts["spread"], 0.02)
    assert prompts["findable"] == findable(prompts["spread"], 40)
    assert list(seeds["prompts_with"]) == ["3", "5", "10"]
    assert seeds["prompts_with"]["10"] < seeds["prompts_with"]["5"] < seeds["prompts_with"]["3"]
    assert numbers["metrics"]["truncated"]["prompts"] == {"count": 40, "spread": None, "findable": None, "needed": None}
    assert f"{prompts['needed']:,}" in done.out


def test_runs_of_one_seed_are_averaged(folder: Path) -> None:
    """By hand: the spread over prompts is that of the mean over the seeds, of which one was run twice."""
    rows = [json.loads(line) for line in (folder / "completions.jsonl").read_text().splitlines()]
    of = {
        (model, seed, prompt): np.mean(
            [r["scores"]["posh_f1"] for r in rows if (r["model"], r["seed"], r["id"]) == (model, seed, prompt)]
        )
        for model in ("sft", "dapo")
        for seed in (0, 2)
        for prompt in ("p3",)
    }
    by_hand = np.mean([of["dapo", seed, "p3"] - of["sft", seed, "p3"] for seed in (0, 2)])  # seed 1 failed there
    gaps = differences(read_scores(folder), ["sft", "dapo"])["posh_f1"]
    assert gaps["p3"].mean() == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--difference", "0"], "--difference must be above 0, got 0.0"),
        (
            ["--difference", "0.1", "--models", "sft", "rl"],
            "there is no model 'rl' in this comparison: it has sft, dapo",
        ),
    ],
)
def test_refusals(folder: Path, words: list[str], message: str) -> None:
    done = spanreward("power", folder, *words)
    assert (done.code, message in done.err) == (1, True)


def test_one_model_has_no_difference(folder: Path) -> None:
    lines = (folder / "completions.jsonl").read_text().splitlines()
    (folder / "completions.jsonl").write_text("\n".join(line for line in lines if '"sft"' in line))
    assert "has scores of 1 models, and a difference is of two" in spanreward("power", folder, "--difference", "1").err
