"""What the pages of docs/ name exists, what they promise runs, and nothing public is left out."""

import ast
import re
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from trl import GRPOConfig, GRPOTrainer

import spanreward
from experiments.scenes.parts import TINY, scenes_part
from experiments.scenes.word_judge import WordJudge
from spanreward.rewards import LaveReward, MatchJudge, PoshReward, Reward
from spanreward.rewards.harmonic import HarmonicReward
from spanreward.training.callbacks.reward_health import RewardHealthCallback
from spanreward.training.data.load import load_data
from spanreward.training.policy import load_policy
from tests.support.paths import ROOT
from tests.support.tiny_trainer import COMMON, make_trainer

DOCS = ROOT / "docs"
DEPARTURES = DOCS / "departures.md"  # it names the commits of other projects that were followed
USING = [ROOT / "README.md", *sorted({*DOCS.glob("*.md")} - {DEPARTURES})]
PAGES = [*USING, DEPARTURES, ROOT / "CONTRIBUTING.md", *sorted((DOCS / "evidence").glob("*.md"))]
FOLDERS = "scripts|recipes|accelerate_configs|docs|tests|spanreward|experiments"
NAMED = re.compile(rf"(?<![\w/.])(?:{FOLDERS})/[\w/.-]+\.(?:py|yaml|svg|bib|jsonl?)\b")
# in a wheel: spanreward/...
IN_THE_CHECKOUT = re.compile(r"(?<![\w/.])(?:rewards|training)/[\w/.-]+\.(?:py|yaml)\b")
HISTORY = re.compile(  # and counts of tests: both belong to docs/evidence, or to the changelog
    r"no longer|until (?:now|then)|formerly|previously|commit `|(?:earlier|older) (?:form|version|rule)|"
    r"\d+ (?:tests|cases) |\d+ passed|passes \d+",
    re.IGNORECASE,
)


def place(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [*PAGES, DOCS / "llms.txt"], ids=place)
def test_what_a_page_names_exists(page: Path) -> None:
    text = page.read_text()
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"(?:^|`|&& )make ([\w-]+)", text, re.MULTILINE):
        assert f"\n{target}:" in makefile, target
    for path in NAMED.findall(text):
        # spanreward.rewards is the folder rewards/, and spanreward.training the folder training/
        in_checkout = re.sub(r"^spanreward/(?=rewards/|training/)", "", path)
        assert (ROOT / in_checkout).exists(), path
    for path in IN_THE_CHECKOUT.findall(text):
        # the page has the text of a file that a user writes
        assert f"\n# {path}\n" in text, f"spanreward/{path}"
    # the forge has the CI's badge
    for link in re.findall(r"\]\((?!https?:|#|\.\./\.\./actions/)([^)#]+)", text):
        assert (page.parent / link).exists(), link


LINK = re.compile(r"\s*(?:[-*] )?!?\[.*\]\(.*\)\S*")  # a line that is a link cannot be broken


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "README.md"], ids=place)
def test_a_page_is_wrapped(page: Path) -> None:
    """But for rows of tables, links and code."""
    prose = re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    long = [line for line in prose.splitlines() if len(line) > 120 and not line.startswith("|")]
    assert [line for line in long if not LINK.fullmatch(line)] == []


def test_every_page_can_be_reached() -> None:
    linked = {
        (page.parent / link).resolve()
        for page in PAGES
        for link in re.findall(r"\]\((?!https?:)([\w./-]+\.md)", page.read_text())
    }
    assert set(PAGES) - {ROOT / "README.md"} - linked == set()


@pytest.mark.parametrize("page", USING, ids=place)
def test_a_page_on_using_it_tells_no_history_and_counts_no_tests(page: Path) -> None:
    assert HISTORY.findall(page.read_text().replace("\n", " ")) == []


@pytest.mark.parametrize(
    "number", range(5), ids=["prompt", "function", "metric", "judge from a function", "judge"]
)
def test_metrics_and_judges_as_the_page_writes_them(number: int) -> None:
    page = (ROOT / "docs" / "extending.md").read_text()
    code = re.findall(r"<!-- tested -->\n```python\n(.*?)```", page, re.DOTALL)[number]
    names: dict[str, Any] = {}
    exec(code, names)  # the page's own text
    prompts = [[{"role": "user", "content": "Describe."}]] * 2
    reference = ["A red circle above a blue star."] * 2
    *_, made = [value for value in names.values() if isinstance(value, Reward)]
    texts = ["A red circle and a blue star.", "A green dog."]
    good, bad = made(prompts, texts, reference=reference)
    assert 0 <= bad < good <= 1


def test_what_a_page_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """The worked example that docs/extending.md opens with."""
    page = (ROOT / "docs" / "extending.md").read_text()
    example = r"<!-- tested -->\n```python\n(.*?)```\n\n```\n(.*?)```"
    code, printed = re.findall(example, page, re.DOTALL)[0]
    exec(code, {})
    assert capsys.readouterr().out == printed


def test_every_page_is_in_the_site() -> None:
    index = (DOCS / "index.md").read_text()
    toctrees = "\n".join(re.findall(r"```{toctree}(.*?)```", index, re.DOTALL))
    listed = re.findall(r"^[a-z0-9_/]+$", toctrees, re.MULTILINE)
    pages = {str(page.relative_to(DOCS).with_suffix("")) for page in PAGES if DOCS in page.parents}
    notebooks = {str(page.relative_to(DOCS).with_suffix("")) for page in DOCS.rglob("*.ipynb")}
    assert sorted(listed) == sorted(pages - {"index"} | notebooks)


def test_every_public_name_is_in_the_reference_and_has_its_word() -> None:
    """Each documented name stands once in a row that says whether it is stable."""
    page = (ROOT / "docs/api.md").read_text()
    documented = re.findall(r"auto\w+:: ([\w.]+)", page)
    for where in documented:
        module_name, _, name = where.rpartition(".")
        assert hasattr(import_module(module_name), name), where
    rows = re.findall(r"^\| (?:stable|may change|experimental) \| (.*) \|$", page, re.MULTILINE)
    named = re.findall(r"`(\w+)`", " ".join(rows))
    names = {where.rpartition(".")[2] for where in documented}
    assert sorted(named) == sorted({*spanreward.__all__, *names})


def glossary() -> list[re.Pattern[str]]:
    """The keys of docs/logged_keys.md, NAME, CRITERION and CAUSE standing for any name."""
    rows = re.findall(r"^\| (`[^|]*) \|", (ROOT / "docs/logged_keys.md").read_text(), re.MULTILINE)
    keys = re.findall(r"`([^`]+)`", " ".join(rows))
    for kind in ("entity", "attribute", "relation"):
        keys += [f"posh/precision_{kind}", f"posh/recall_{kind}"]
    return [re.compile(re.sub("NAME|CRITERION|CAUSE", "[a-z_]+", re.escape(key))) for key in keys]


def test_every_key_that_is_logged_is_in_the_glossary(tmp_path: Path) -> None:
    data = load_data(scenes_part(count=16, ask="both"))
    scored = [PoshReward(MatchJudge()), LaveReward(MatchJudge(), rationale=False)]
    scored.append(HarmonicReward(WordJudge(), evidence="context"))
    spans = {"span_coef": 0.5, "dynamic_sampling": True, "reasoning_end": "."}
    lengths = {"soft_overlong_cache": 8, "max_steps": 1, "max_completion_length": 32}
    trainer = make_trainer(tmp_path, data, scored, **spans, **lengths)
    trainer.add_callback(RewardHealthCallback(trainer.recorders))
    trainer.train()
    logged = {key for line in trainer.state.log_history for key in line}
    folders = "posh lave harmonic judge spans health sampling reasoning advantages"
    ours = (*(f"{folder}/" for folder in folders.split()), "rewards/soft")
    known = glossary()
    found = sorted(key for key in logged if key.startswith(ours) and not key.endswith("/std"))
    assert len(found) > 40
    assert [key for key in found if not any(pattern.fullmatch(key) for pattern in known)] == []


def test_every_message_that_troubleshooting_explains_is_one_of_ours() -> None:
    """Its longest piece between two `...` stands in the code, however that is broken into lines."""
    paths = [*(ROOT / "rewards").rglob("*.py"), *(ROOT / "training").rglob("*.py")]
    code = " ".join(path.read_text() for path in paths)
    code = re.sub(r'"\s*\n\s*f?"', "", re.sub(r"\{[^{}]*\}", "...", code))
    page = (DOCS / "troubleshooting.md").read_text()
    messages = re.findall(r'^- \*\*"(.*?)"\*\*', page, re.MULTILINE)
    assert len(messages) > 20
    for message in messages:
        piece = max(re.split(r"\.\.\.", message), key=len).strip(" ,")
        assert piece in code, message


@pytest.mark.parametrize("page", PAGES, ids=place)
def test_every_python_block_is_python_whose_imports_are_there(page: Path) -> None:
    """But for the files that a page has one write: `make guide` runs these."""
    for block in re.findall(r"```python\n(?!# [\w/]+\.py\n)(.*?)```", page.read_text(), re.DOTALL):
        tree = ast.parse(block)
        tree.body = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
        exec(compile(tree, page.name, "exec"), {})


def test_the_callbacks_as_the_trainers_page_writes_them(tmp_path: Path) -> None:
    page = (ROOT / "docs/trainer.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (block,) = [code for code in blocks if "callbacks=" in code]
    model, processor = load_policy(TINY)
    names: dict[str, Any] = {"model": model, "judge": MatchJudge(), "PoshReward": PoshReward}
    names["dataset"] = load_data(scenes_part(count=16))
    names["args"] = GRPOConfig(str(tmp_path), **{**COMMON, "max_steps": 1})
    names["GRPOTrainer"] = partial(GRPOTrainer, processing_class=processor)
    exec(block, names)  # the page's own text
    names["trainer"].train()
    assert "health/degenerate_fraction" in names["trainer"].state.log_history[0]
