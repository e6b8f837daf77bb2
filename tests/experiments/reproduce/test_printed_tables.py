"""Each command of the papers' tables on a small file; and the page lists all 52 tables."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from experiments.reproduce.steps import REPRODUCTIONS
from tests.experiments.agreement.test_gold_graphs import record as gold
from tests.support.experiment_numbers import measured, numbers_of
from tests.support.fakes import FakeJudge
from tests.support.parsed import CONSTRUCTED
from tests.support.paths import ROOT

PRINTED = {"HarmonicEval": 8, "LAVE": 9, "PoSh": 9, "MLLM-as-a-Judge": 10, "MLLM-Bench": 16}
PAGE = ROOT / "docs/evidence/reproduce.md"
LONGER = "experiments/agreement/stand_in_judges.py:LongerJudge"
# In place of what the authors' machines have: their prompts, parser and coreference.
POSH = ("--prompts", CONSTRUCTED, "--set", "pipeline=null", "--set", "coref=rules")
RIGHT, WRONG = "A red circle is above a box.", "A blue star is on a dog."
NAMES = ("gpt", "llava", "molmo")


def lines(path: Path, *rows: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8), "red").save(path)


def granular(data: Path) -> None:
    """amitha/docent-eval-granular."""
    wrong = {"generation": WRONG, "mistakes": '[{"start": 2, "end": 11}]'}
    wrong["omissions"] = '[{"start": 2, "end": 12}, {"start": 22, "end": 27}]'
    right = {"generation": RIGHT, "mistakes": "[]", "omissions": "[]"}
    rows = []
    for picture_ in ("p0", "p1"):
        for model, said in (("gpt", right), ("llava", wrong)):
            rows.append({"uuid": picture_, "model": model, "reference": RIGHT, **said})
    lines(data / "docent/granular.jsonl", *rows)


def coarse(data: Path) -> None:
    """amitha/docent-eval-coarse, and caparena_annots_eval.json."""
    labels = dict.fromkeys(("mistakes", "omissions", "overall_quality"), "1_much_better")
    equal = dict.fromkeys(labels, "equal")
    texts = {"model1": "gpt", "model2": "llava", "reference": RIGHT, "model1_generation": RIGHT}
    rows = [{"uuid": "a", **texts, "model2_generation": WRONG, **labels}]
    rows += [{"uuid": "b", **texts, "model2_generation": RIGHT, **equal}]
    lines(data / "docent/coarse.jsonl", *rows)
    battles = []
    meetings = [("gpt", "llava"), ("llava", "molmo"), ("human", "gpt"), ("molmo", "gpt")] * 2
    for number, (one, other) in enumerate(meetings):
        battle = {"img": ("test_00057", "test_1")[number % 2], "ref": RIGHT, "cluster": "c"}
        for place, name in ((1, one), (2, other)):
            battle[f"caption{place}"] = RIGHT if name == "gpt" else WRONG
        winner = "gpt" if "gpt" in (one, other) else "equal"
        battles.append({**battle, "source1": one, "source2": other, "winner": winner})
    (data / "caparena").mkdir()
    (data / "caparena/caparena_annots_eval.json").write_text(json.dumps(battles))


def graphs(data: Path) -> None:
    """corpora/scene_graphs/gold.json."""
    (data / "scene_graphs").mkdir()
    (data / "scene_graphs/gold.json").write_text(json.dumps([gold()]))


def mmhe(data: Path) -> None:
    picture(data / "mmhe/1.jpg")
    shared = {"references": [RIGHT], "image": "1.jpg", "question": "Is it?", "bbox": [0, 0, 4, 4]}
    tasks = ("REG", "VQA", "VDU", "IC")
    triplets = [
        {"id": n, "task": task, "texts": ["A.", RIGHT, WRONG], "best": n % 3, **shared}
        for n, task in enumerate(tasks)
    ]
    lines(data / "mmhe/best.jsonl", *triplets)
    criteria = ("correctness", "completeness", "clarity", "fluency", "conciseness")
    rows = []
    for n in range(5):
        rated = dict.fromkeys(criteria, (1 + n % 5, 2, 3))
        for task in tasks:
            rows.append({"id": n, "task": task, "text": f"Text {n} {task}.", **shared, **rated})
    lines(data / "mmhe/criteria.jsonl", *rows)


def flickr8k(data: Path) -> None:
    """Flickr8k-Expert as FactualSceneGraph has it."""
    for name in ("flickr8k_expert", "flickr8k_cf"):
        picture(data / name / "images/1.jpg")
        captions = []
        for n in range(1, 5):
            ratings = [n, n, 4 - n] if name == "flickr8k_expert" else [n / 4]
            captions.append({"caption": f"Caption {n}.", "ratings": ratings})
        row = {"image_id": "1", "image_path": "1.jpg", "references": [RIGHT]}
        row |= {"candidates": captions}
        lines(data / name / f"{name}.jsonl", row, {**row, "image_id": "2"})


def answers(data: Path) -> None:
    """mair-lab/lave-human-feedback."""
    judged = [(True, "yes", 1.0), (True, "no", 0.0), (False, "dog", 1.0), (False, "a cat", 0.5)]
    rows = []
    for n, (binary, text, score) in enumerate(judged * 2):
        asked = {"question": "Is it a dog?" if binary else "What is it?", "prediction": text}
        row = {"dataset": "vqav2", "model": "blip2", "qid": n, **asked, "human_score": score}
        rows.append({**row, "references": ["yes" if binary else "a dog"] * 10})
    for split in ("test", "validation"):
        lines(data / f"lave/{split}.jsonl", *rows)


def judging(data: Path) -> None:
    """Dataset/Benchmark of MLLM-Judge: score.jsonl, pair.jsonl and batch.jsonl."""
    folder, ask = data / "mllm_judge", "Please analyse this figure: what is it?"
    texts = [{"name": name, "answer": "A dog. " * (1 + n)} for n, name in enumerate(NAMES)]
    for number in range(2):
        picture(folder / f"image/{number}.jpg")
    shared = [
        {"image_path": f"image/{n}.jpg", "original_dataset": part, "instruction": ask}
        for n, part in enumerate(("coco", "mathvista"))
    ]
    scores, pairs, batches = [], [], []
    for n, both in enumerate(shared):
        row = {**both, "id": n}
        for k, text in enumerate(texts):
            scores.append(
                {**row, "score_id": 9 * n + k, **text, "human": str(k + 1) if n else k + 1}
            )
            sides = {"answer1": text, "answer2": texts[k - 1], "human_answer": "ABC"[k]}
            pairs.append({**row, "pair_id": k, **sides})
        batches.append({**row, "answers": texts, "human_answer": "CAB"})
    for name, rows in (("score", scores), ("pair", pairs), ("batch", batches)):
        lines(folder / f"{name}.jsonl", *rows)


def votes(data: Path) -> None:
    models = REPRODUCTIONS["mllm-bench-5"].steps[0].figures
    sides = [("LLaVA", "Answer2"), ("{}", "Answer1")]
    rows = []
    for model in models:
        row: dict[str, Any] = {"model": model, "answer": "A dog."}
        for k, (side, vote) in enumerate(sides, 1):
            row[f"vote_order{k}"] = {"answer1_is": side.format(model), "vote": vote}
        rows += [{**row, "id": n} for n in range(2)]
    lines(data / "mllm_bench/votes.jsonl", *rows)
    parts = [("Understanding", "Chart Understanding"), ("Creating", "Image Captioning")]
    asked = [{"id": n, "level": one, "capability": part} for n, (one, part) in enumerate(parts)]
    lines(data / "mllm_bench/questions.jsonl", *asked)


FILES: dict[str, tuple[Callable[[Path], None], tuple[Any, ...]]] = {
    "posh-2": (granular, ("--judge", "match", *POSH)),
    "posh-3": (coarse, ("--judge", "match", *POSH)),
    "posh-8": (graphs, ()),
    **dict.fromkeys(
        (f"harmonic-{n}" for n in range(2, 8)),
        (mmhe, ("--judge", "tests/support/fakes.py:FakeJudge")),
    ),
    "harmonic-8": (flickr8k, ("--judge", "tests/support/fakes.py:FakeJudge")),
    **dict.fromkeys(("lave-2", "lave-3"), (answers, ("--judge", "match"))),
    "mllm-judge-2": (judging, ("--judge", LONGER)),
    "mllm-bench-5": (votes, ()),
}


def test_posh_by_its_name_has_every_component_in_its_own_table(tmp_path: Path) -> None:
    granular(tmp_path)
    words = ("labels", "table", "docent-granular", tmp_path / "docent/granular.jsonl")
    own, named = numbers_of(tmp_path, *words), numbers_of(tmp_path, *words, "--metric", "posh")
    for one, other in zip(own["rows"], named["rows"], strict=True):
        assert one["metrics"]["posh"]["value"] == other["metrics"]["posh"]["value"]


def test_every_command_has_a_small_file() -> None:
    assert FILES.keys() == REPRODUCTIONS.keys() - {"here"}
    assert FakeJudge().name  # a judge that rates anything


@pytest.mark.parametrize("name", FILES)
def test_a_command_of_today_runs_on_the_authors_layout(name: str, tmp_path: Path) -> None:
    write, words = FILES[name]
    write(tmp_path)
    out, numbers = measured(tmp_path, "reproduce", name, "--data", tmp_path, *words)
    steps = numbers["steps"]
    wanted = [step for step in REPRODUCTIONS[name].steps if "discosg" not in step.file]
    assert [step["title"] for step in steps] == [step.title for step in wanted]
    for step in steps:
        unmeasured = [name for name, both in step["compared"].items() if both["measured"] is None]
        # the last two need weights
        assert {name.rpartition(" ")[2] for name in unmeasured} <= {
            "random",
            "4grams",
            "scene_graphs",
        }
        assert step["prompts"] in ("ours", "-", str(CONSTRUCTED))
        assert step["prompts"] in out or step["prompts"] == str(CONSTRUCTED)


def test_the_page_lists_every_printed_table() -> None:
    """A row has the paper, its tables' numbers, what they show, and a command's name, or not."""
    rows = re.findall(
        r"^\| ([A-Z][\w-]+ [^|]*\d) \| [^|]+ \| ([^|]+) \|$", PAGE.read_text(), re.MULTILINE
    )
    cells = [part.split(maxsplit=1) for tables, _ in rows for part in tables.split("; ")]
    listed = [(paper, int(number)) for paper, numbers in cells for number in numbers.split(",")]
    assert sorted(listed) == sorted(
        (paper, n + 1) for paper, count in PRINTED.items() for n in range(count)
    )
    named = {name for _, today in rows for name in re.findall(r"`((?:\w+-)+\d)`", today)}
    assert named == FILES.keys()
