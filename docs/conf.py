"""Sphinx: `make docs` turns these pages and the docstrings into outputs/docs, offline; warnings are errors."""

project = "spanreward"
author = "the developers of spanreward"
copyright = "the developers of spanreward, Apache-2.0"
html_theme = "furo"
html_title = "spanreward"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 3
default_role = "code"  # `name` in docstrings
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
exclude_patterns = ["_build"]
