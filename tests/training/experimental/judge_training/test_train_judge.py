"""`spanreward judge train`: a tiny encoder learns from captions, labels and a teacher."""

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoModelForTokenClassification

from spanreward.rewards.experimental.encoder_judge import EncoderJudge
from spanreward.training.experimental.judge_training import fit
from spanreward.training.experimental.judge_training.data import (
    JudgeRecipe,
    examples_of,
    load_judge_recipe,
    picture_name,
    read_teacher,
)
from spanreward.training.experimental.judge_training.labelled_changes import Example
from spanreward.training.recipe_file import RecipeError
from tests.support.command import Done, spanreward
from tests.support.files import read_lines, write_lines
from tests.support.paths import ROOT
from tests.support.tiny_encoder import save_family, saved

THINGS, COLOURS = ("cat", "dog", "horse", "bird", "sheep", "cow"), ("red", "blue", "green", "black")
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
RECIPE = """
output: HERE/judge
base: HERE/base
captions: {HERE/captions.jsonl: {reference: references}}
kinds: {right: 1, added: 2}
examples: 400
unseen: 0.25
held_out: 0.25
steps: 120
check_every: 40
batch: 32
learning_rate: 1.0e-2
"""
VOCABULARY = [
    *SPECIAL, "a", "an", "the", "in", "on", "grass", "street", "stands", "is", "near", ".", *THINGS,
    *COLOURS,
]  # fmt: skip


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a recipe, captions of 24 pictures, and a tiny encoder."""
    folder = tmp_path_factory.mktemp("toy")
    saved(folder / "base", words=VOCABULARY)
    rows = []
    for number, (colour, thing) in enumerate(product(COLOURS, THINGS)):
        row = {"image": f"{number}.jpg", "captions": ["none", "none"], "label": "0"}
        texts = [f"the {thing} is {colour} on the grass .", f"a {thing} is near the street ."]
        texts.append(f"the {thing} is {colour} .")
        rows.append({**row, "id": number, "category": "toy", "references": texts})
    write_lines(folder / "captions.jsonl", rows)
    (folder / "recipe.yaml").write_text(RECIPE.replace("HERE", str(folder)))
    return folder


def train(toy: Path, *changes: str | Path) -> Done:
    return spanreward("judge", "train", toy / "recipe.yaml", "--set", *changes)


def labelled(folder: Path, rows: list[dict[str, Any]]) -> Path:
    """What `match` says of the rows, as `spanreward judge label` writes it."""
    path, labels = write_lines(folder / "rows.jsonl", rows), folder / "labels.jsonl"
    assert spanreward("judge", "label", path, "--judge", "match", "--output", labels).code == 0
    return labels


@pytest.fixture(scope="module")
def trained(toy: Path) -> dict[str, Any]:
    done = spanreward("judge", "train", toy / "recipe.yaml", "--json", toy / "numbers.json")
    assert done.code == 0, done.err
    told: dict[str, Any] = json.loads((toy / "judge/spanreward.json").read_text())
    return told


def test_training_lowers_the_held_out_loss_and_calibrates(trained: dict[str, Any]) -> None:
    losses = [loss for _, loss in trained["checks"]]
    assert len(losses) == 3
    assert losses[-1] < losses[1] < losses[0]
    assert trained["auc"] > 0.65
    assert 0.25 <= trained["temperature"] <= 4
    assert trained["loss"] <= min(losses) + 1e-3


def read_by(folder: Path, target: str = "the cat stands near a street . a red cat .") -> int:
    """How many words of a text a judge rates."""
    with EncoderJudge(str(folder)) as judge:
        (read,) = judge.read([("a cat on grass .", target)])
    return len(read)


def test_the_folder_is_a_judge(trained: dict[str, Any], toy: Path) -> None:
    assert read_by(toy / "judge") == 5
    assert not (toy / "judge/checkpoints").exists()
    card = (toy / "judge/README.md").read_text()
    assert f"encoder:{toy}/judge" in card
    assert "{" not in card
    assert json.loads((toy / "numbers.json").read_text()) == trained


FEW = ("steps=4", "check_every=2", "examples=40")


@pytest.mark.parametrize("family", ["roberta", "modernbert", "deberta-v2", "llama"])
def test_each_family_is_trained_and_is_a_judge(toy: Path, tmp_path: Path, family: str) -> None:
    save_family(tmp_path / "base", family, VOCABULARY)
    done = train(toy, f"base={tmp_path}/base", f"output={tmp_path}/judge", *FEW)
    assert done.code == 0, done.err
    assert read_by(tmp_path / "judge", "the cat stands near a street . " * 30) == 5


@pytest.mark.parametrize(
    ("given", "weights", "gpu", "layers", "batch", "rate"),
    [
        ({}, 22.7e6, False, 0, 16, 3e-4),  # MiniLM
        ({}, 134.5e6, False, 10, 16, 1.24e-4),  # SmolLM2
        ({}, 134.5e6, True, 0, 16, 1.24e-4),
        ({}, 8e9, True, 0, 8, 1.6e-5),
        ({"frozen_layers": 0, "batch": 4, "learning_rate": 1e-3}, 134.5e6, False, 0, 4, 1e-3),
        ({"frozen_layers": 30}, 22.7e6, True, 30, 16, 3e-4),
    ],
)
def test_what_the_recipe_leaves_open_goes_by_the_models_size(
    given: dict[str, Any], weights: float, gpu: bool, layers: int, batch: int, rate: float
) -> None:
    found = fit.frozen_batch_and_rate(JudgeRecipe(output="x", **given), weights, 30, gpu)
    assert found == (layers, batch, pytest.approx(rate, rel=0.02))


def test_frozen_layers_keep_their_weights(toy: Path, tmp_path: Path) -> None:
    assert train(toy, *FEW, "frozen_layers=1", f"output={tmp_path}/judge").code == 0
    before, after = (
        dict(AutoModelForTokenClassification.from_pretrained(folder).named_parameters())
        for folder in (toy / "base", tmp_path / "judge")
    )
    same = {name for name in before if bool((before[name] == after[name]).all())}
    assert {name for name in before if "layer.0." in name or "word_embeddings" in name} <= same
    assert not {name for name in before if "layer.1." in name and name.endswith("weight")} & same


def test_one_seed_gives_one_judge(toy: Path, tmp_path: Path) -> None:
    made = []
    for number, seed in enumerate((0, 0, 1)):
        assert train(toy, *FEW, f"output={tmp_path}/{number}", f"seed={seed}").code == 0
        made.append((tmp_path / f"{number}/model.safetensors").read_bytes())
    assert made[0] == made[1] != made[2]


def test_a_resumed_training_ends_as_one_that_was_not_interrupted(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the last checkpoint was cut; another recipe and other data are refused."""
    output = toy / "resumed"
    asked = (toy, f"output={output}", "check_every=55")  # within an epoch
    with monkeypatch.context() as interrupted:
        interrupted.setattr(fit.shutil, "rmtree", lambda folder, **_: None)
        assert train(*asked).code == 0
    whole = (output / "model.safetensors").read_bytes()
    cut = output / "checkpoint-120/optimizer.pt"
    cut.write_bytes(cut.read_bytes()[:1000])
    assert f"{output} is not empty" in train(*asked).err
    rate = ("learning_rate=0.1", "learning_rate: 0.01")
    for other, told in (("seed=1", "seed: 0"), rate, ("kinds.other=1", "kinds.")):
        refused = train(*asked, other, "--resume")
        assert f"the run in {output} has {told}" in refused.err
        assert (refused.code, len(refused.err.splitlines())) == (1, 1)
    captions = (toy / "captions.jsonl").read_text()
    (toy / "captions.jsonl").write_text(captions.replace("red", "green"))
    assert f"{output} have changed" in train(*asked, "--resume").err
    (toy / "captions.jsonl").write_text(captions)
    assert train(*asked, "--resume").code == 0
    assert (output / "model.safetensors").read_bytes() == whole
    assert not list(output.glob("checkpoint*"))
    assert "no checkpoint to resume" in train(*asked, "--resume").err


def test_a_folder_that_is_no_run_or_holds_the_base_is_left_alone(toy: Path, tmp_path: Path) -> None:
    assert "has no recipe.yaml" in train(toy, f"output={tmp_path}", "--resume").err
    inside = train(toy, f"output={toy}", "overwrite=true")
    assert f"{toy}/base, which this run reads" in inside.err
    assert (toy / "base/model.safetensors").is_file()
    assert list(tmp_path.iterdir()) == []


def test_no_held_out_or_unseen_picture_is_trained_on(toy: Path) -> None:
    recipe = load_judge_recipe(toy / "recipe.yaml")
    train, held_out, pictures = examples_of(recipe)
    used, aside = ({example.picture for example in side} for side in (train, held_out))
    assert used
    assert aside
    assert not used & aside
    assert used | aside <= set(pictures["read"])
    assert len(pictures["read"]) + len(pictures["unseen"]) == len(THINGS) * len(COLOURS)
    assert not set(pictures["read"]) & set(pictures["unseen"])
    assert examples_of(recipe) == (train, held_out, pictures)


def test_a_picture_has_one_name_in_all_sets() -> None:
    names = ("COCO_val2014_000000005123.jpg", "000000005123.jpg", "5123")
    assert len({picture_name(name) for name in names}) == 1
    assert picture_name("VOC2012/JPEGImages/2008_008252.jpg") == "2008_008252"


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("stepz=3", "'steps'"),
        ("kinds.odd=1", "recipe key kinds"),
        ("steps=0", "got 0."),
        ("held_out=1", "got 1."),
        ("captions={none.jsonl: {}}", "none.jsonl"),
        ("captions={none.jsonl: {references: captions}}", "'reference'"),
        ("captions={{toy}/captions.jsonl: {}}", "no column 'reference'"),
        ("captions={{toy}/captions.jsonl: {image: id, reference: images}}", "no 'images'"),
        ("teacher=[none.jsonl]", "none.jsonl"),
        ("captions={}", "of 0 pictures, "),
        ("base=./none", "./none is no folder"),
        ("frozen_layers=3", "{toy}/base has 2 layers"),
        ("frozen_layers=-1", "got -1."),
    ],
)
def test_a_bad_recipe_is_one_sentence(toy: Path, override: str, words: str) -> None:
    done = train(toy, "output=/nowhere", override.replace("{toy}", str(toy)))
    assert done.code == 1
    assert words.replace("{toy}", str(toy)) in done.err
    assert "Traceback" not in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_a_teacher_is_noted_and_learnt_from(toy: Path, tmp_path: Path) -> None:
    rows = []
    for thing, (colour, other) in product(THINGS, (("red", "red"), ("blue", "green"))):
        references = [f"a {other} {thing} stands .", f"the {thing} ."]
        text = f"a {colour} {thing} stands on grass ."
        rows.append({"completion": text, "reference": references})
    labels = labelled(tmp_path, rows)
    lines = read_lines(labels)
    texts = {row["completion"] for row in rows}.union(*(row["reference"] for row in rows))
    assert {line["text"] for line in lines} == texts
    assert all(line["text"][start:end] for line in lines for start, end in line["places"])
    assert len({line["picture"] for line in lines}) == len(rows)
    changes = ("captions={}", f"teacher=[{labels}]", "unseen=0", "steps=20")
    done = train(toy, *changes, f"output={tmp_path}/student")
    assert done.code == 0, done.err
    assert (tmp_path / "student/model.safetensors").is_file()


def test_a_distribution_over_ratings_is_a_soft_label(tmp_path: Path) -> None:
    line = {"text": "a red cat", "target": "a cat", "picture": "1", "places": [[2, 5]]}
    lines = [line | {"probabilities": {"1": 0.25, "3": 0.25, "5": 0.5}}]
    lines.append(line | {"places": [[6, 9]], "probabilities": {"1": 0, "5": 1}})
    write_lines(tmp_path / "labels.jsonl", lines)
    (example,) = read_teacher(f"{tmp_path}/labels.jsonl")
    assert example == Example("a red cat", "a cat", ((2, 5, 0.625), (6, 9, 1.0)), "1")


def test_a_teachers_rating_of_a_denied_thing_is_no_label(tmp_path: Path) -> None:
    row = {"completion": "A dog . There is no cat .", "reference": "A dog and a cat ."}
    lines = read_lines(labelled(tmp_path, [row]))
    marks = [line for line in lines if line["text"] == row["completion"]]
    assert [line["text"][slice(*place)] for line in marks for place in line["places"]] == ["dog"]


@pytest.mark.parametrize(
    "line",
    [
        '{"text": "a cat"}',
        '{"text": "a", "target": "b", "picture": "c", "places": [], "probabilities": {"1": 1}}',
    ],
)
def test_a_line_that_is_no_answer_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "labels.jsonl").write_text(line)
    with pytest.raises(RecipeError, match=r"labels\.jsonl line 1 .*`spanreward judge label`"):
        examples_of(JudgeRecipe(output="x", teacher=[f"{tmp_path}/labels.jsonl"]))


def test_people_label_too(tmp_path: Path) -> None:
    rows = []
    for number, thing in enumerate(THINGS):
        texts = {"completion": f"a red {thing} on grass .", "reference": f"a blue {thing} ."}
        rows.append({"id": f"{number}", **texts, "mistakes": ["red"]})
    write_lines(tmp_path / "rows.jsonl", rows)
    labels: dict[str, dict[str, str]] = {f"{tmp_path}/rows.jsonl": {}}
    train, held_out, _ = examples_of(JudgeRecipe(output="x", labels=labels, held_out=0.4))
    example = (train + held_out)[0]
    start, end, right = example.marks[-1]
    assert (example.text[start:end], right) == ("red", 0.0)


@pytest.mark.parametrize(("name", "base"), [("people", "minilm"), ("descriptions", "smollm2")])
def test_the_recipes_that_ship_are_read(name: str, base: str) -> None:
    recipe = load_judge_recipe(ROOT / f"recipes/judges/{name}.yaml")
    assert recipe.unseen > 0
    assert recipe.base == base


def test_the_guides_own_captions_make_examples(tmp_path: Path) -> None:
    guide = (ROOT / "docs/train_a_judge.md").read_text("utf-8")
    row = re.search(r"```json\n(.*?)```", guide, re.DOTALL)
    assert row is not None
    cat = row[1].replace("a.jpg", "b.jpg").replace("dog", "cat")
    (tmp_path / "captions.jsonl").write_text(row[1] + cat + row[1].replace("a.jpg", "c.jpg"))
    files: dict[str, dict[str, str]] = {str(tmp_path / "captions.jsonl"): {}}
    recipe = JudgeRecipe(output="out", captions=files, examples=20, held_out=0.4)
    train, aside, pictures = examples_of(recipe)
    assert sorted(pictures["read"]) == ["a", "b", "c"]
    assert {example.picture for example in train}.isdisjoint(example.picture for example in aside)
    assert train
