"""The runner of `make guide` notices what goes otherwise than a page says."""

import os
from pathlib import Path

import pytest

from tests.run_guide import blocks, follow, missing_line
from tests.support.paths import ROOT

PAGE = """
```python
# hello.py
print("a", 1)
print("b", 2)
```

<!-- not run: no network -->
```bash
false
```

```bash
python3 hello.py
```

```text
a 1
b 2
```

```python
elsewhere()
```
"""


def follow_text(folder: Path, text: str) -> None:
    (folder / "page.md").write_text(text)
    follow(folder / "page.md", folder, dict(os.environ))


def test_a_page_that_is_true(tmp_path: Path) -> None:
    follow_text(tmp_path, PAGE)
    assert (tmp_path / "hello.py").is_file()


@pytest.mark.parametrize(
    ("said", "instead"),
    [
        ("b 2\n```", "b 3\n```"),
        ("a 1\nb 2", "b 2\na 1"),
        ("python3 hello.py", "python3 other.py"),
        ("<!-- not run: no network -->\n", ""),
        ("python3 hello.py", "false\npython3 hello.py"),
        ("```bash\npython3 hello.py", "<!-- exit 1: so -->\n```bash\npython3 hello.py"),
    ],
)
def test_a_page_that_is_not(tmp_path: Path, said: str, instead: str) -> None:
    assert said in PAGE
    with pytest.raises(SystemExit, match=r"page\.md"):
        follow_text(tmp_path, PAGE.replace(said, instead))


def test_a_command_that_fails_as_the_page_says(tmp_path: Path) -> None:
    said = "```bash\necho so; exit 1\n```\n```text\nso\n```\n"
    follow_text(tmp_path, f"<!-- exit 1: no GPU -->\n{said}")


def test_spaces_and_lines_between_do_not_count() -> None:
    assert missing_line("a  b\n\nc", "a b\nother\n c") is None
    assert missing_line("a\na", "a") == "a"
    assert missing_line("takes 13.8 s", "│ x │ it takes 13.8  │\n│   │ s (more) │") is None


def test_the_first_guide_has_all_its_steps() -> None:
    found = blocks((ROOT / "docs/getting_started.md").read_text())
    files = {one.file for one in found if one.file}
    assert files >= {"rewards.py", "training/tiny.py", "train.py", "sft.yaml", "dapo.yaml"}
    commands = "".join(one.text for one in found if one.language == "bash")
    steps = ("score posh", "python train.py", "python train_spans.py", "train dapo.yaml")
    for step in (*steps, "ls outputs/dapo/spans"):
        assert step in commands
    assert "spanreward compare" in commands
