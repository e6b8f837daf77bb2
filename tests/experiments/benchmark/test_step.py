"""`benchmark step` and `benchmark overlap`: what they count, by hand and on a small file of pairs."""

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from experiments.benchmark.overlap import common_seconds, summary
from experiments.benchmark.step import measure, pairs_of_length
from tests.support.tokenizer import tokenizer

PAIRS = [
    ("A red kite is above a house.", "A red kite flies over a white house."),
    ("Two dogs sleep on a bench.", "A dog sleeps on a bench near a tree."),
    ("A man rides a horse.", "A man in a blue hat rides a brown horse."),
]


@pytest.fixture
def arguments(tmp_path: Path) -> Namespace:
    path = tmp_path / "pairs.jsonl"
    rows = [{"completion": completion, "reference": reference} for completion, reference in PAIRS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = tmp_path / "model"
    tokenizer().save_pretrained(model)
    return Namespace(pairs=path, completions=3, words=None, tokens=str(model), judge="match")


def test_a_step_is_counted_and_equal_steps_have_equal_hashes(arguments: Namespace) -> None:
    numbers = measure(arguments)
    assert numbers["completions"] == 3
    assert numbers["questions"] > 20
    assert numbers["words"] == {"completion": 6.0, "reference": 9.0}
    assert measure(arguments)["hashes"] == numbers["hashes"]
    arguments.completions = 2
    assert measure(arguments)["hashes"] != numbers["hashes"]


def test_longer_texts_are_made_of_those_of_the_file(arguments: Namespace) -> None:
    longer = ("Two dogs sleep on a bench. A man rides a", "A dog sleeps on a bench near a tree. A")
    assert pairs_of_length(PAIRS, 10)[1] == longer
    arguments.words = 15
    assert measure(arguments)["words"] == {"completion": 15.0, "reference": 15.0}
    arguments.words = 0
    with pytest.raises(ValueError, match="must be 1 or more"):
        measure(arguments)


def test_what_is_serial_by_hand() -> None:
    """The step takes ten seconds. The engine has questions from 2 to 5 and from 6 to 9."""
    intervals: dict[str, Any] = {
        "parse": [(0.0, 1.0), (2.0, 4.0)],
        "encode": [(1.0, 1.5), (3.0, 5.5)],
        "judge": [(2.0, 5.0), (6.0, 9.0)],
    }
    assert common_seconds(intervals["parse"], intervals["encode"]) == pytest.approx(1.0)
    numbers = summary(intervals, (0.0, 10.0))
    assert numbers["work"] == pytest.approx({"parse": 3.0, "encode": 3.0, "judge": 6.0})
    assert numbers["beside_judge"] == pytest.approx({"parse": 2.0, "encode": 2.0})
    assert numbers["serial"] == pytest.approx({"parse": 1.0, "encode": 1.0, "rest": 2.0})
