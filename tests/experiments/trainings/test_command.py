"""The list of situations is read as it stands: several tables, and bars within cells."""

from pathlib import Path

from experiments.trainings.command import before


def test_what_happened_before_is_read_from_the_list(tmp_path: Path) -> None:
    assert before(tmp_path) == []
    head = "| situation | today | right |\n|---|---|---|\n"
    first, second = r"| a `<\|b\|>` | ends | trains |", "| weights stand still | no word | stops |"
    text = f"# Title\n\n{head}{first}\n\n## Second set\n\n{head}{second}"
    (tmp_path / "trainings.md").write_text(text)
    assert before(tmp_path) == [("a `<|b|>`", "ends"), ("weights stand still", "no word")]
