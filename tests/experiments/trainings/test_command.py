"""The list of situations is read as it stands: several tables, and bars within cells."""

from pathlib import Path

from experiments.trainings.command import before


def test_what_happened_before_is_read_from_the_list(tmp_path: Path) -> None:
    assert before(tmp_path) == []
    lines = [
        "# Title",
        "",
        "| situation | today | right |",
        "|---|---|---|",
        r"| a `<\|b\|>` | ends | trains |",
        "",
        "## Second set",
        "",
        "| situation | today | right |",
        "|---|---|---|",
        "| weights stand still | no word | stops |",
    ]
    (tmp_path / "trainings.md").write_text("\n".join(lines))
    assert before(tmp_path) == [
        ("a `<|b|>`", "ends"),
        ("weights stand still", "no word"),
    ]
