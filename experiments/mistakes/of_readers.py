"""Forty mistakes of somebody who has read README and docs/ alone: files of other programs, columns
and files mixed up, options in the wrong place.

prepare_files(folder)        # the files that they name, beside those of mistakes.py

The grades are those of misplaced.py: `before` is what the commit before these mends said, and
`after` what is said since.
"""

import gzip
import json
from pathlib import Path

from experiments.mistakes.misplaced import MATCH, graded
from experiments.mistakes.mistakes import Mistake, compare, score, script, train

ROW = {"id": "1", "completion": "A red circle.", "reference": "A red circle."}
NAMES = "id,completion,reference\n"
CELLS = "1,A red circle.,A red circle.\n"
VERDICT = {"id": "1", "score": 0.5, "status": "ok", "parts": {}, "spans": [], "missed": []}
COLUMNS = {"completion": ["A red circle."], "reference": ["A red circle."]}
CAPTION = {"id": "1", "completion": "A red circle.", "caption": "A red circle."}
TEXTS = {
    "header.csv": NAMES,
    "no_header.csv": CELLS,
    "unclosed.csv": f'{NAMES}1,"A red circle.,A red circle.\n2,A dog.,A dog.\n',
    "na.csv": f"{NAMES}1,A red circle.,NA\n2,A dog.,A dog.\n",
    "nan.csv": f"{NAMES}1,nan,A red circle.\n2,A dog.,A dog.\n",
    "commas.csv": 'id,completion,question,answers\n1,red,What colour?,"red, red, blue"\n',
    "bars.csv": "id,completion,question,answers\n1,red,What colour?,red|red|blue\n",
    "python.jsonl": f"{ROW}\n",
    "curly.jsonl": "{“id”: “1”, “completion”: “A red circle.”}\n",
    "columns.json": json.dumps(COLUMNS),
    "number.jsonl": json.dumps({**ROW, "completion": 3}) + "\n",
    "caption.jsonl": json.dumps(CAPTION) + "\n",
    "scored.jsonl": json.dumps(VERDICT) + "\n",
    "one.jsonl": json.dumps(ROW) + "\n",
}
BYTES = {
    "unicode.csv": (NAMES + CELLS).encode("utf-16"),
    "latin.csv": f"{NAMES}1,Un café rouge.,Un café rouge.\n".encode("latin-1"),
    "book.csv": b"PK\x03\x04",
    "cut.jsonl.gz": gzip.compress(json.dumps(ROW).encode())[:30],
}
LAVE = ("lave", "--judge", "match", "--set", "rationale=false", "--overwrite")
SIDES = ("--data", "one.jsonl", "--metric")


def posh(what: str, told: str, rows: str, *words: str, status: int = 1) -> Mistake:
    return score(what, told, *MATCH, *words, "--overwrite", rows=rows, status=status)


def judged(what: str, told: str, judge: str, *words: str) -> Mistake:
    return score(what, told, "posh", "--judge", judge, *words)


def written(what: str, told: str, output: str) -> Mistake:
    words = ("score", *MATCH, "--input", "one.jsonl", "--output", output)
    return Mistake(what, told, words)


FILES = [
    graded("BA", posh("a CSV in UTF-16", "not in UTF-8 .*: save it as UTF-8", "unicode.csv")),
    graded("BA", posh("a CSV in Latin-1", "not in UTF-8 .*: save it as UTF-8", "latin.csv")),
    graded("CA", posh("names and no rows", "no rows: write one a line, below", "header.csv")),
    graded(
        "CA", posh("rows and no names", "in a first line if this one is a row", "no_header.csv")
    ),
    graded(
        "AA", posh("a mark that is not closed", "in the row that begins in line 2", "unclosed.csv")
    ),
    graded(
        "AA", posh("a workbook named CSV", "workbook: unpack it, or save it as CSV", "book.csv")
    ),
    graded("BB", posh("half a gzip file", "it is damaged or not whole", "cut.jsonl.gz")),
    graded("AA", posh("a folder of rows", "is a folder: give a file in it", "policy")),
    graded("BB", posh("Python's dicts for JSON", "line 1 is not JSON .* mend", "python.jsonl")),
    graded("BB", posh("curly quotation marks", "line 1 is not JSON .* mend", "curly.jsonl")),
    graded("CA", posh("columns for rows", r"holds columns, .* orient='records'", "columns.json")),
    graded("AA", posh("a number for a text", "'completion' with a text, got 3", "number.jsonl")),
    graded(
        "AA", posh("NA for a reference", "read as missing: 1 of 'reference'", "na.csv", status=0)
    ),
    graded("AA", posh("nan for a completion", "looks like a failure.*'nan'", "nan.csv", status=0)),
    graded(
        "FA",
        score(
            "answers with commas", "such as 'red, red, blue'", *LAVE, rows="commas.csv", status=0
        ),
    ),
    graded(
        "FA",
        score(
            "answers with bars",
            "answers of 1 of 1 rows .* write a list",
            *LAVE,
            rows="bars.csv",
            status=0,
        ),
    ),
]
MIXED_UP = [
    graded(
        "BA", posh("a key of another name", "reference.*--columns OURS=THEIRS", "caption.jsonl")
    ),
    graded(
        "CA",
        posh(
            "a column the other way round",
            "got caption=reference: write reference=caption",
            "caption.jsonl",
            "--columns",
            "caption=reference",
        ),
    ),
    graded(
        "AA",
        posh(
            "a column with a colon",
            "OURS=THEIRS, such as .* got reference:caption",
            "caption.jsonl",
            "--columns",
            "reference:caption",
        ),
    ),
    graded(
        "FA",
        posh(
            "a completion as its own reference",
            "reference=completion names the column of the completions",
            "caption.jsonl",
            "--columns",
            "reference=completion",
        ),
    ),
    graded("CA", posh("verdicts for rows", "verdicts .* give the rows that were", "scored.jsonl")),
    graded(
        "CA",
        Mistake(
            "verdicts for labels", "holds verdicts .* give", ("labels", "spans", "scored.jsonl")
        ),
    ),
    graded(
        "BA",
        compare(
            "verdicts for answers",
            "scored.jsonl line 1 holds verdicts",
            "a=scored.jsonl",
            "b=scored.jsonl",
            *SIDES,
            "posh",
        ),
    ),
    graded(
        "CA",
        Mistake(
            "labels without their column",
            "no column 'mistakes'.*--columns mistakes=NAME",
            ("labels", "spans", "one.jsonl"),
        ),
    ),
    graded(
        "AA",
        compare(
            "one file for both sides",
            "1 of 1 answers of a and b are identical",
            "a=one.jsonl",
            "b=one.jsonl",
            *SIDES,
            "posh",
            status=0,
        ),
    ),
    graded("FA", written("verdicts named CSV", "JSON Lines: name it v.jsonl", "v.csv")),
    graded("CA", written("a folder for verdicts", "output policy is a folder: name a", "policy")),
]
OPTIONS = [
    graded(
        "CA",
        score("the judge among options", "write --judge match", "posh", "--set", "judge=match"),
    ),
    graded(
        "FA",
        judged(
            "memory with its unit",
            "number without a unit, such as 8e9 .* got '8GB'",
            "vllm:smollm2",
            "--set",
            "judge.memory=8GB",
        ),
    ),
    graded(
        "FA",
        script(
            "memory with its unit, in a script",
            "number without a unit, such as 8e9 .* got '8GB'",
            "load_judge('vllm:smollm2', memory='8GB')",
        ),
    ),
    graded(
        "BB", judged("a judge's address alone", "chat:URL#MODEL", "chat:https://example.org/v1")
    ),
    graded(
        "BA",
        Mistake(
            "metrics with a comma",
            "write --metric posh --metric lave",
            ("compare", "a=one.jsonl", "b=one.jsonl", *SIDES, "posh,lave", "--output", "out"),
            status=2,
        ),
    ),
    graded(
        "CA",
        Mistake(
            "half a recipe's name",
            "no whole name: recipes/.*/docent-posh-dapo.yaml",
            ("recipes", "docent-posh-dapo"),
        ),
    ),
    graded(
        "BA",
        Mistake(
            "a port that is none",
            "--port is 0 to 65535, got 84000",
            ("serve", *MATCH, "--port", "84000"),
        ),
    ),
    graded(
        "CA",
        Mistake(
            "an address for a host",
            "an address, such as 127.0.0.1, got http:",
            ("serve", *MATCH, "--host", "http://127.0.0.1"),
        ),
    ),
    graded(
        "CA",
        Mistake(
            "a recipe behind its options",
            "The policy and its metrics are in",
            ("train", "--set", "seed=1", "recipe.yaml"),
            status=0,
        ),
    ),
    graded(
        "CA",
        train(
            "a setting that TRL has dropped",
            "max_prompt_length': TRL cuts no prompts any more",
            "trainer.max_prompt_length=512",
        ),
    ),
    graded(
        "CA",
        train("another trainer's name", "it is trainer.learning_rate here", "trainer.lr=1e-5"),
    ),
    graded(
        "CA",
        Mistake(
            "a file of a policy",
            "it is a file: name its folder, policy",
            ("train", "recipe.yaml", "--dry-run", "--set", "policy.model=policy/model.safetensors"),
        ),
    ),
    graded(
        "FA",
        script(
            "a pipeline that parses nothing",
            "give one with a parser, such as spacy.load",
            "import spacy\nPoshReward('match', pipeline=spacy.blank('en'))",
        ),
    ),
]
OF_READERS = FILES + MIXED_UP + OPTIONS


def prepare_files(folder: Path) -> None:
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name, content in BYTES.items():
        (folder / name).write_bytes(content)
