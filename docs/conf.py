"""Sphinx: `make docs` turns these pages and the docstrings into outputs/docs, offline; warnings are errors."""

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the gallery, which experiments/ makes

project = "spanreward"
author = "the developers of spanreward"
copyright = "the developers of spanreward, Apache-2.0"
html_theme = "furo"
html_title = "spanreward"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown", ".ipynb": "markdown"}
myst_heading_anchors = 3
default_role = "code"  # `name` in docstrings
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
exclude_patterns = ["_build"]
highlight_language = "none"  # a block without a language is a formula or what a command printed
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["llms.txt"]  # the site's summary for language models
html_search_scorer = str(Path(__file__).with_name("_static") / "search.js")

# What people search for, by the page about it: as its main index entries (!) they come before pages that mention them.
SEARCHED = {
    "choosing": ["which metric", "which judge"],
    "compare": ["report", "error bars"],
    "credit": ["token-level credit"],
    "judges": ["vllm"],
    "logged_keys": ["metrics.jsonl"],
    "one_gpu": ["gpu", "memory", "lora"],
    "recipes": ["own dataset", "own data", "dataset", "jsonl"],
    "trainer": ["span_coef", "SpanGRPOTrainer", "wandb", "tensorboard", "trackio", "callbacks"],
}


def add_index(app: Any, page: str, source: list[str]) -> None:
    """Lay the page's index entries behind its title, where GitHub's reader does not see them."""
    if page in SEARCHED:
        title, _, rest = source[0].partition("\n")
        source[0] = (
            f"{title}\n\n```{{index}} "
            f"{', '.join(f'! {entry}' for entry in SEARCHED[page])}\n```\n{rest}"
        )


def read_notebook(app: Any, page: str, source: list[str]) -> None:
    """Show a notebook with the outputs that it holds."""
    from experiments.notebook import as_markdown

    if app.env.doc2path(page).suffix == ".ipynb":
        source[0] = as_markdown(json.loads(source[0]))


def add_gallery(app: Any, error: Exception | None) -> None:
    """Write the pages that gallery.md shows."""
    from experiments import gallery

    if error is None and app.builder.format == "html":
        gallery.build(Path(app.outdir) / "gallery")


def setup(app: Any) -> None:
    app.add_config_value("searched", SEARCHED, "env")  # a change of it reads all pages anew
    app.connect("source-read", add_index)
    app.connect("source-read", read_notebook)
    app.connect("build-finished", add_gallery)
