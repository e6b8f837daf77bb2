"""What is compared: the mistakes are in tests/training/commands/test_compare.py."""

import json
from pathlib import Path

import pytest

from spanreward.training.evaluation.answers.sides import read_answers, read_seeds, read_sides


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    for name in ("a0", "a1", "a2", "b0", "lora"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
    (tmp_path / "lora" / "config.json").rename(tmp_path / "lora" / "adapter_config.json")
    (tmp_path / "answers.jsonl").write_text("")
    return tmp_path


def test_a_single_run_stands_beside_every_seed(policies: Path) -> None:
    seeds = ",".join(str(policies / name) for name in ("a0", "a1", "a2"))
    sides = read_sides([f"b={policies / 'b0'}", f"a={seeds}", f"api={policies / 'answers.jsonl'}"])
    assert list(sides) == ["b", "a", "api"]
    assert sides["a"] == seeds.split(",")
    assert sides["b"] == [str(policies / "b0")] * 3
    assert sides["api"] == [str(policies / "answers.jsonl")] * 3
    assert read_seeds(None, sides) == [0, 1, 2]
    assert read_seeds([4, 4, 2], sides) == [4, 4, 2]


def test_an_adapter_is_a_policy(policies: Path) -> None:
    sides = read_sides([f"base={policies / 'b0'}", f"lora={policies / 'lora'}"])
    assert list(sides) == ["base", "lora"]


def test_answers_whose_ids_count_from_0_are_refused(tmp_path: Path) -> None:
    lines = [json.dumps({"id": number, "completion": "A dog."}) for number in range(4)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    with pytest.raises(ValueError, match=r"from 0, .* from 1"):
        read_answers(str(tmp_path / "a.jsonl"), [{"id": "1"}, {"id": "2"}])
    assert read_answers(str(tmp_path / "a.jsonl"), [{"id": "0"}, {"id": "1"}]) == ["A dog."] * 2
