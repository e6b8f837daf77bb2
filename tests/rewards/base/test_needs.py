"""What is said where an extra's packages are missing, or TRL does not import; what needs none."""

import os
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import spanreward
from spanreward import PoshReward, Sample
from spanreward.rewards.base.needs import (
    PACKAGES_OF_EXTRAS,
    TRL_VERSIONS,
    VLLM_VERSIONS,
    missing_package_sentence,
)
from spanreward.training.plan.here import SUPPORTED_VERSIONS
from tests.support.paths import ROOT
from tests.support.tokenizer import ENCODER, tokenizer

BLOCKED = """
import sys
class Blocker:
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {names}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocker())
{code}
"""
EVERY = """
import spanreward
for name in spanreward.__all__:
    try:
        getattr(spanreward, name)
    except ImportError as error:
        print(f"{name}: {error}")
"""
LIGHT = """
from spanreward import PoshReward, Sample, build_reward, load_judge
posh = PoshReward("match")
(verdict,) = posh.assess([Sample("Describe it.", "A blue circle.", references=("A red circle.",))])
print(verdict.score)
for name in ("lave", "pairwise", "criteria", "harmonic"):
    build_reward(name, load_judge("match"), {})
load_judge("chat:http://127.0.0.1:9#m"), load_judge("chat:http://127.0.0.1:9#m", cache=True)
print(load_judge("server:http://127.0.0.1:9#m", tokenizer=FOLDER).encoder.encode([{"role": "user", "content": "5"}]))
for name in ("transformers:m", "encoder:m"):
    try:
        load_judge(name)
    except ImportError as error:
        print(error)
"""
QUICK = """
import sys, time
begun = time.perf_counter()
import spanreward
first = time.perf_counter()
from spanreward.training.commands.main import main
sys.argv[1:] = ["score", "--help"]
try:
    main()
except SystemExit:
    pass
print(first - begun, time.perf_counter() - first)
heavy = {"torch", "transformers", "spacy", "scipy", "trl"}
print(sorted(({"pydantic", "httpx2"} | heavy) & set(sys.modules)))
remote = spanreward.RemoteReward("http://127.0.0.1:9", deadline=0.1)
print(remote([""], ["A cat."], reference=["A cat."]), sorted(heavy & set(sys.modules)))
"""
# TRL 0.24 under transformers 5: its lazy import turns the missing module into a RuntimeError
OLD_TRL = {
    "trl/__init__.py": """
import importlib
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        importlib.import_module("trl.mergekit_utils")
    except Exception as error:
        raise RuntimeError(f"Failed to import trl.trainer because of the following error: {error}") from error
""",
    "trl/mergekit_utils.py": "from mergekit.config import MergeConfiguration\n",
    "trl-0.24.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: trl\nVersion: 0.24.0\n",
}


def python(code: str, path: str = "") -> tuple[list[str], str]:
    """The lines that the code prints, and the last line of its errors if it failed."""
    settings: dict[str, Any] = {"cwd": ROOT, "env": {**os.environ, "PYTHONPATH": path}}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **settings)
    error = done.stderr.strip().splitlines()[-1] if done.returncode else ""
    return done.stdout.splitlines(), error


def test_without_the_extra_every_public_name_works_or_says_what_to_install() -> None:
    lines, error = python(BLOCKED.format(names=[*PACKAGES_OF_EXTRAS["train"], "vllm"], code=EVERY))
    assert error == ""
    assert all(line.endswith("pip install 'spanreward[train]'.") for line in lines)
    refused = {line.partition(":")[0] for line in lines}
    of_rewards = {name for name in spanreward.__all__ if name in spanreward.rewards.__all__}
    assert not refused & of_rewards
    assert not refused & {"posh", "lave", "reward"}
    assert {"SpanGRPOTrainer", "SpanGRPOConfig", "RewardHealthCallback"} <= refused


def test_every_room_and_public_name_of_rewards_is_there() -> None:
    rooms = {module.name for module in pkgutil.iter_modules(spanreward.rewards.__path__)}
    assert rooms <= set(spanreward.rewards.__all__)
    for name in spanreward.rewards.__all__:
        assert isinstance(getattr(spanreward.rewards, name), ModuleType) == (name in rooms)
    assert spanreward.rewards.PoshReward is spanreward.PoshReward
    assert callable(spanreward.posh)  # a room of rewards has this name too
    package: Any = spanreward
    with pytest.raises(AttributeError, match="No spanreward attribute nothing"):
        package.nothing()


def test_what_needs_no_model_here_needs_no_torch(tmp_path: Path) -> None:
    tokenizer().save_pretrained(tmp_path)
    code = f"FOLDER = {str(tmp_path)!r}{LIGHT}"
    names = [*PACKAGES_OF_EXTRAS["train"], *PACKAGES_OF_EXTRAS["local"], "vllm"]
    (score, ids, *told), error = python(BLOCKED.format(names=names, code=code))
    assert error == ""
    sample = Sample("", "A blue circle.", references=("A red circle.",))
    (verdict,) = PoshReward("match").assess([sample])
    assert float(score) == verdict.score
    assert ids == str(ENCODER.encode([{"role": "user", "content": "5"}]))
    for name, line in zip(("transformers:m", "encoder:m"), told, strict=True):
        assert line.startswith(f"the judge {name} needs torch")
        assert line.endswith("pip install 'spanreward[local]'.")


def test_the_import_and_the_help_are_quick_and_a_remote_reward_needs_no_model() -> None:
    """.07 and .15 s alone; the seconds here are those of a busy machine."""
    (*_, seconds, loaded, remote), _ = python(QUICK)
    assert (loaded, remote) == ("[]", "[None] []")
    assert max(map(float, seconds.split())) < 5


TRAIN = """
import sys
try:
    from spanreward import SpanGRPOTrainer
except ImportError as error:
    print(error)
from spanreward.training.commands.main import main
sys.argv[1:] = ["train", "recipes/quickstart/scenes-dapo.yaml"]
main()
"""


def test_a_trl_that_does_not_import(tmp_path: Path) -> None:
    for name, text in OLD_TRL.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (imported,), trained = python(TRAIN, str(tmp_path))
    assert imported.startswith(f"SpanGRPOTrainer needs TRL {TRL_VERSIONS}")
    assert trained.startswith(f"spanreward train needs TRL {TRL_VERSIONS}")
    for words in ("TRL 0.24.0", "mergekit", f"pip install 'trl{TRL_VERSIONS}'."):
        assert words in imported
        assert words in trained


UNKNOWN = "import nothing_of_that_name"


@pytest.mark.parametrize(
    ("code", "module", "told"),
    [
        ("raise ModuleNotFoundError(name='trl.trainer')", "mine", "trl, .*[train]"),
        ("raise ModuleNotFoundError(name='torch')", "mine", "torch, .*[local]"),
        ("raise ModuleNotFoundError(name='torch')", "spanreward.training.x", "torch, .*[train]"),
        ("raise RuntimeError('the collective timed out')", "mine", ""),
        (UNKNOWN, "mine", ""),
        (UNKNOWN, "trl.trainer", "TRL .* without nothing_of_that_name"),
        # on a GPU vLLM lacked blake3 when TRL gave it its first picture (docs/evidence/gpu.md)
        (f"def generate():\n    {UNKNOWN}", "trl.generation.vllm_generation", ""),
    ],
)
def test_what_is_missing_and_whose_it_is(code: str, module: str, told: str) -> None:
    names: dict[str, Any] = {"__name__": module}

    def fail() -> None:
        exec(code, names)
        names["generate"]()

    with pytest.raises((ModuleNotFoundError, RuntimeError)) as raised:
        fail()
    sentence = missing_package_sentence("it", raised.value)
    assert re.match(f"it needs {told}".replace("[", r"\[") if told else "$", sentence), sentence


def test_the_versions_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert f"trl{TRL_VERSIONS}" in extras["train"]
    assert SUPPORTED_VERSIONS["trl"] == TRL_VERSIONS
    assert f"vllm{VLLM_VERSIONS}" in extras["vllm"]
    expected = {
        **PACKAGES_OF_EXTRAS,
        "train": [*PACKAGES_OF_EXTRAS["train"], *PACKAGES_OF_EXTRAS["local"]],
    }
    for extra in ("train", "local", "serve"):
        named = {requirement.partition(">")[0] for requirement in extras[extra]}
        assert named == set(expected[extra])
