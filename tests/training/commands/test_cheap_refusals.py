"""What needs no model to be refused is refused before torch, spaCy and transformers are imported.

All commands run in one process of their own, which looks at its modules after each.
"""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.support.files import write_lines

RECIPE = """
algorithm: grpo
output: out
policy: {model: policy}
data: {source: jsonl, path: rows.jsonl}
rewards: [{metric: posh, judge: match}]
"""
LOUD = """
import io, json, sys
from contextlib import redirect_stderr
from spanreward.training.commands.main import main

slow, found = {"torch", "spacy", "transformers"}, {}
for words in json.load(sys.stdin):
    sys.argv = ["spanreward", *words.split()]
    before, printed = set(sys.modules), io.StringIO()
    try:
        with redirect_stderr(printed):
            main()
    except SystemExit as end:
        imported = slow & (set(sys.modules) - before)
        found[words] = (str(end.code), printed.getvalue(), sorted(imported))
print(json.dumps(found))
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
def ends(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """{words: (its one sentence, what was printed before it, slow modules that it imported)}."""
    folder = tmp_path_factory.mktemp("cheap")
    row = {"id": "1", "completion": "A red dog.", "reference": "A red dog."}
    for name in ("rows.jsonl", "a.jsonl"):
        write_lines(folder / name, [row])
    write_lines(folder / "marked.jsonl", [{**row, "mistakes": []}])
    (folder / "recipe.yaml").write_text(RECIPE)
    command = [sys.executable, "-c", LOUD]
    done = subprocess.run(
        command, input=json.dumps([*REFUSED]), cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert not {"out", "v.jsonl"} & {path.name for path in folder.iterdir()}
    return json.loads(done.stdout)


@pytest.mark.parametrize("words", REFUSED)
def test_it_is_refused_before_the_slow_imports(words: str, ends: Any) -> None:
    sentence, printed, imported = ends[words]
    assert REFUSED[words] in sentence
    assert "\n" not in sentence
    assert (printed, imported) == ("", [])
