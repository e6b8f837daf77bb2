"""The README's promises that can be run."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT
from training.data.load import load_data
from training.policy import load_policy
from training.recipe import ScenesPart


def test_the_ten_lines_train_a_stock_trainer(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text()
    block = re.search(r"<!-- tested by tests/test_readme.py -->\n```python\n(.*?)```", readme, re.DOTALL)
    assert block is not None
    code = block.group(1)
    assert code.count("\n") <= 11
    model, processor = load_policy("tiny")
    settings = {
        "per_device_train_batch_size": 4,
        "num_generations": 2,
        "max_completion_length": 8,
        "max_steps": 1,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": "none",
        "bf16": False,
        "use_cpu": True,
        "disable_tqdm": True,
    }
    names = {"model": model, "processor": processor, "output": str(tmp_path), "settings": settings}
    names["dataset"] = load_data(ScenesPart(source="scenes", count=8))
    exec(code, names)  # the README's own text
    logged = names["trainer"].state.log_history[0]
    assert {"reward", "posh/f1", "posh/precision", "posh/recall"} <= set(logged)


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMED = re.compile(
    r"(?<![\w/.])(?:scripts|recipes|accelerate_configs|docs|tests|rewards|training)/[\w/.-]+\.(?:py|yaml|svg|bib|jsonl?)\b"
)


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_exists(page: Path) -> None:
    text = page.read_text()
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"(?:^|`|&& )make ([\w-]+)", text, re.MULTILINE):
        assert f"\n{target}:" in makefile, target
    for path in NAMED.findall(text):
        assert (ROOT / path).exists(), path
    for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        assert (page.parent / link).exists(), link


def test_every_page_can_be_reached() -> None:
    linked = {link for page in PAGES for link in re.findall(r"\]\((?:docs/)?([\w-]+\.md)", page.read_text())}
    assert {page.name for page in PAGES} - {"README.md"} <= linked


@pytest.mark.parametrize("number", [0, 1], ids=["metric", "judge"])
def test_a_metric_and_a_judge_as_the_page_writes_them(number: int) -> None:
    page = (ROOT / "docs" / "extending.md").read_text()
    code = re.findall(r"<!-- tested -->\n```python\n(.*?)```", page, re.DOTALL)[number]
    names: dict[str, Any] = {}
    exec(code, names)  # the page's own text
    prompts = [[{"role": "user", "content": "Describe."}]] * 2
    reference = ["A red circle above a blue star."] * 2
    good, bad = names["reward"](prompts, ["A red circle and a blue star.", "A green dog."], reference=reference)
    assert 0 <= bad < good <= 1
