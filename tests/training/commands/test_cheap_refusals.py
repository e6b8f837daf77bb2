"""What needs no model to be refused is refused before torch, spaCy and transformers are imported.

Each command runs in a process of its own, which counts its modules at the end.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

RECIPE = """
algorithm: grpo
output: out
policy: {model: policy}
data: {source: jsonl, path: rows.jsonl}
rewards: [{metric: posh, judge: match}]
"""
LOUD = """
import sys
from spanreward.training.commands.main import main
sys.argv = ["spanreward", *sys.argv[1:]]
try:
    main()
finally:
    print([name for name in ("torch", "spacy", "transformers") if name in sys.modules])
"""
SCORE = "--input rows.jsonl --output v.jsonl"
DATA = "--data rows.jsonl --metric posh --output out"
REFUSED = {
    f"compare a=a.jsonl {DATA}": "a comparison needs two models or more",
    f"compare a=a.jsonl b= {DATA}": "a model is written NAME=FOLDER, got 'b='",
    f"compare a=a.jsonl b=gone.jsonl {DATA}": "model 'b': 'gone.jsonl' is no folder",
    f"compare a=a.jsonl a=a.jsonl {DATA}": "two models are called 'a'",
    f"compare a=a.jsonl b=a.jsonl {DATA} --metric pohs": "unknown metric 'pohs'",
    "compare a=a.jsonl b=a.jsonl --data gone.jsonl --metric posh --output out": "no input file gone",
    "compare a=a.jsonl b=a.jsonl --recipe gone.yaml --output out": "there is no recipe gone.yaml",
    f"score pohs --judge match {SCORE}": "unknown metric 'pohs'",
    f"score posh --judge mach {SCORE}": "unknown judge 'mach'",
    f"score posh --judge match --set mode {SCORE}": "an option is written key=value",
    "score posh --judge match --input gone.jsonl --output v.jsonl": "no input file gone.jsonl",
    "labels spans gone.jsonl": "no input file gone.jsonl",
    "labels spans marked.jsonl --metric pohs": "unknown metric 'pohs'",
    "serve pohs --judge match": "unknown metric 'pohs'",
    "serve posh --judge mach": "unknown judge 'mach'",
    "serve posh --judge match --host 0.0.0.0": "set SPANREWARD_API_KEY",
    "doctor --set judge.memory=2e9": "goes with --judge",
    "train gone.yaml": "there is no recipe gone.yaml",
    "train recipe.yaml --set polcy=1": "did you mean 'policy'",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cheap")
    row = {"id": "1", "completion": "A red dog.", "reference": "A red dog."}
    for name in ("rows.jsonl", "a.jsonl"):
        (folder / name).write_text(json.dumps(row) + "\n")
    (folder / "marked.jsonl").write_text(json.dumps({**row, "mistakes": []}) + "\n")
    (folder / "recipe.yaml").write_text(RECIPE)
    (folder / "loud.py").write_text(LOUD)
    return folder


@pytest.mark.parametrize("words", REFUSED)
def test_it_is_refused_before_the_slow_imports(words: str, folder: Path) -> None:
    command = [sys.executable, "loud.py", *words.split()]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert REFUSED[words] in done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
    assert "Traceback" not in done.stderr
    assert not {"out", "v.jsonl"} & {path.name for path in folder.iterdir()}
